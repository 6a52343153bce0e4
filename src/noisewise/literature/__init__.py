"""The papers' own methods under their names, as published or corrected: to be compared with, and not for what is reported.

No other room imports this one: the registries (``posterior.methods``, ``selection.methods``, ``posterior.sums.fit``) know where a
method is, and import it when it is asked for. Here

    normal_x.py, normal_x_nuts.py, fixed_moments.py   Alparslan, Yıldırım and Birbil (2023); normal_features.py and statistics.py
                                                      have what they share
    clt_gibbs.py                                      Bernstein and Sheldon (2019)
    adassp.py                                         Wang (2018): a point estimate
    noisy_rows.py, known_law.py, row_gibbs.py         published rows: least squares on them, SIMEX, and the thesis' own sampler
    binary.py                                         synthetic yes-or-no rows: Charest (2010)
    noisy_sums.py                                     one column: Bernstein and Sheldon (2018), and no account of the noise
    plug_in.py, histogram.py, regions.py              model averaging of Peña and Barrientos (2021); noise_laws.py and
                                                      cone_sampler.py have the distributions that they need, agreement.py says
                                                      whether several methods agree
    export.py, exact_moments.py                       rows with the moments that those take for exact, for other software
    kernels/                                          pure algorithms, arrays in, arrays out
"""
