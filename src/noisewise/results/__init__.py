"""From draws to what a person reads: summaries, intervals, predictions, plots, ArviZ.

Everything here works on draws and public declarations only; no row of confidential data and no privacy
mechanism can be reached from this room.

    records.py      what a fit says about itself: FitInfo, PriorSummary
    diagnostics.py  rank-normalised R-hat, bulk and tail effective sample size
    posterior.py    Posterior, the one object a user holds; it wires the files below
    point_estimate.py  PointEstimate, for releases that allow no posterior
    summary.py      the table of coefficients, and its problems in plain words
    sites.py        random effects by site: how much the sites differ, and each site's own coefficients
    rows.py         new rows (pandas, polars, Arrow, dict) -> checked columns
    families.py     what a result needs to know of a family: its response, its inverse link, what a ratio is called
    prediction.py   credible and predictive intervals for new rows; count_quantiles.py those of new counts
    ratios.py       odds ratios and incidence-rate ratios
    checks.py       the predictive check of a fit against released statistics; check_moments.py and check_tails.py
                    hold its mathematics, check_words.py its words
    comparison.py   several methods side by side
    model_comparison.py   Comparison, the probabilities of models and coefficients averaged over them; model_tables.py has
                    its tables
    plots/          pictures of posteriors, checks and comparisons
    export.py       ArviZ
    store.py        one .npz file, without pickle; comparison_store.py adds the models of a comparison to it
"""

from __future__ import annotations

from noisewise.results.model_comparison import Comparison
from noisewise.results.point_estimate import PointEstimate
from noisewise.results.posterior import Posterior
from noisewise.results.records import FitInfo, PriorSummary

__all__ = ["Comparison", "FitInfo", "PointEstimate", "Posterior", "PriorSummary"]
