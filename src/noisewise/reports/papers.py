"""The papers behind mechanisms and methods, as cited in the documentation."""

from __future__ import annotations

from typing import Final

ALPARSLAN: Final = ("B. Alparslan, S. Yıldırım and Ş. İ. Birbil (2023). Differentially private distributed Bayesian linear "
                    "regression with MCMC. ICML.")
AMITAI: Final = ("G. Amitai and J. P. Reiter (2018). Differentially private posterior summaries for linear regression "
                 "coefficients. Journal of Privacy and Confidentiality 8(1).")
AVELLA_MEDINA: Final = ("M. Avella-Medina, C. Bradshaw and P.-L. Loh (2023). Differentially private inference via noisy "
                        "optimization. Annals of Statistics 51(5).")
BALLE: Final = ("B. Balle and Y.-X. Wang (2018). Improving the Gaussian mechanism for differential privacy: analytical "
                "calibration and optimal denoising. ICML.")
BERNSTEIN: Final = "G. Bernstein and D. Sheldon (2019). Differentially private Bayesian linear regression. NeurIPS."
CANTONI: Final = ("E. Cantoni and E. Ronchetti (2001). Robust inference for generalized linear models. Journal of the American "
                  "Statistical Association 96(455).")
DWORK: Final = ("C. Dwork, F. McSherry, K. Nissim and A. Smith (2006). Calibrating noise to sensitivity in private data "
                "analysis. TCC.")
KULKARNI: Final = ("T. D. Kulkarni, J. Jälkö, A. Koskela, S. Kaski and A. Honkela (2021). Differentially private Bayesian "
                   "inference for generalized linear models. ICML, PMLR 139.")
NISSIM: Final = "K. Nissim, S. Raskhodnikova and A. Smith (2007). Smooth sensitivity and sampling in private data analysis. STOC."
PENA: Final = ("V. Peña and A. F. Barrientos (2021). Differentially private methods for managing model uncertainty in linear "
               "regression models. arXiv:2109.03949.")
VEHTARI: Final = ("A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner (2021). Rank-normalization, folding, and "
                  "localization: an improved R-hat. Bayesian Analysis 16(2).")
WANG: Final = ("Y.-X. Wang (2018). Revisiting differentially private linear regression: optimal and adaptive prediction & "
               "estimation in unbounded domain. UAI.")

OF_NOISE: Final = {"gaussian": (BALLE,), "laplace": (DWORK,)}
OF_METHODS: Final = {
    "conditional": (BERNSTEIN, ALPARSLAN), "conditional-flat": (BERNSTEIN, ALPARSLAN), "laplace": (BERNSTEIN, ALPARSLAN),
    "collapsed": (BERNSTEIN,), "clt-gibbs": (BERNSTEIN,), "normal-x": (ALPARSLAN,), "normal-x-nuts": (ALPARSLAN,),
    "fixed-s": (ALPARSLAN,), "fast": (ALPARSLAN,), "adassp": (WANG, ALPARSLAN), "model-averaging": (PENA,),
}
"""Where these ideas come from. The documentation's methods page says what noisewise does differently."""
OF_OTHER_FAMILIES: Final = (KULKARNI,)
OF_ROUNDS: Final = (AVELLA_MEDINA, CANTONI)
