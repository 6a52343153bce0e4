"""From draws to what a person reads: summaries, intervals, predictions, ArviZ.

Everything here works on draws and public declarations only; no row of confidential data and no privacy
mechanism can be reached from this room.

    fit_info.py     what a fit says about itself: FitInfo, PriorSummary
    diagnostics.py  rank-normalised R-hat, bulk and tail effective sample size
    posterior.py    Posterior, the one object a user holds; it wires the files below
    point_estimate.py  PointEstimate, for releases that allow no posterior
    summary.py      the tables of coefficients and of ratios, and their problems in plain words
    sites.py        random effects by site: how much the sites differ, and each site's own coefficients
    new_rows.py     new rows (pandas, polars, Arrow, dict) -> checked columns
    families.py     what a result needs to know of a family: its response, its inverse link, what a ratio is called
    prediction.py   credible and predictive intervals for new rows
    checks.py       the predictive check of a fit against released statistics; check_moments.py and check_tails.py
                    hold its mathematics, check_findings.py its table and what it found, in words
    comparison.py   Comparison, the probabilities of models and coefficients averaged over them
    method_comparison.py    several methods side by side
    parameter_posterior.py  the parameters of a distribution, where there is no regression
    answers.py      what a partition release says: answers and tests
    arviz_export.py ArviZ
    store.py        one .npz file, without pickle
"""

from __future__ import annotations

from noisewise.results.comparison import Comparison
from noisewise.results.fit_info import FitInfo, PriorSummary
from noisewise.results.point_estimate import PointEstimate
from noisewise.results.posterior import Posterior

__all__ = ["Comparison", "FitInfo", "PointEstimate", "Posterior", "PriorSummary"]
