"""The papers' own methods under their names, as published or corrected. Use them for comparison, not for results you report.

No other room imports this one. The registries (``posterior.methods``, ``selection.methods``, ``posterior.sums.fit``) know where
each method is and import it on request.

    normal_x.py, normal_x_nuts.py, fixed_moments.py   Alparslan, Yıldırım and Birbil (2023); their shared code is in
                                                      normal_features.py and statistics.py
    clt_gibbs.py                                      Bernstein and Sheldon (2019)
    adassp.py                                         Wang (2018): a point estimate
    noisy_rows.py, known_law.py, row_gibbs.py         published rows: least squares, SIMEX, and the thesis's own sampler
    binary.py                                         synthetic yes-or-no rows: Charest (2010)
    noisy_sums.py                                     one column: Bernstein and Sheldon (2018), and ignoring the noise
    plug_in.py, histogram.py, regions.py              model averaging of Peña and Barrientos (2021); noise_laws.py and
                                                      cone_sampler.py hold the distributions they need, agreement.py checks
                                                      whether several methods agree
    export.py, exact_moments.py                       rows with the moments that a plug-in method treats as exact, for other
                                                      software
    kernels/                                          pure algorithms: arrays in, arrays out
"""
