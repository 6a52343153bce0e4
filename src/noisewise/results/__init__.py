"""Turn draws into what people read: summaries, intervals, predictions, ArviZ.

Everything here works on draws and public declarations only. Nothing in this room can reach confidential rows or a privacy
mechanism.

    fit_info.py     how a fit was made: FitInfo, PriorSummary
    diagnostics.py  rank-normalised R-hat, bulk and tail effective sample size
    posterior.py    Posterior, the object users work with; it connects the files below
    point_estimate.py  PointEstimate, for releases that allow no posterior
    summary.py      tables of coefficients and ratios, and the problems with them in plain words
    sites.py        random effects by site: how much the sites differ, and each site's coefficients
    new_rows.py     new rows (pandas, polars, Arrow, dict) -> checked columns
    families.py     families as results see them: response, inverse link, name of the ratio
    prediction.py   credible and predictive intervals for new rows
    checks.py       the predictive check of a fit against released statistics; kinds has what differs between kinds of release
    linear_checks.py, glm_checks.py  the check of a linear regression, and of others, from sums; the mathematics is in
                    check_moments.py and check_tails.py, the table and the findings in words are in check_findings.py
    comparison.py   Comparison: model probabilities and model-averaged coefficients
    method_comparison.py    several methods side by side
    parameter_posterior.py  the parameters of a distribution, without a regression
    answers.py      answers and tests from a partition release
    arviz_export.py ArviZ
    store.py        one .npz file, without pickle
"""

from __future__ import annotations

from noisewise.results.comparison import Comparison
from noisewise.results.fit_info import FitInfo, PriorSummary
from noisewise.results.point_estimate import PointEstimate
from noisewise.results.posterior import Posterior

__all__ = ["Comparison", "FitInfo", "PointEstimate", "Posterior", "PriorSummary"]
