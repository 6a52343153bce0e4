"""A stand-in for `noisewise.fit` that costs nothing: least squares on a gram release, with a few draws around it.

scikit-learn's checks fit each estimator some forty times. They ask how an estimator behaves, not how its posterior is sampled,
and compiling a sampler for every number of features takes minutes: `make slow` does that. What the stand-in is given is checked
to be what `noisewise.fit` accepts, and what it returns is a `Posterior`.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

import noisewise as nw
from noisewise.posterior.asked import assemble
from noisewise.posterior.request import Sampled
from noisewise.schema import Design


def stand_in_fit(formula: str, release: nw.Release, **options: Any) -> nw.Posterior:
    if isinstance(release.kind, nw.Model):  # nothing is compiled for it
        return nw.fit(formula, release, **options)
    assert set(options) <= set(inspect.signature(nw.fit).parameters)
    design = Design.of(formula, release.basis, release.terms)
    gram, features = release.contributions[0].matrix, design.features
    beta, *_ = np.linalg.lstsq(features.T @ gram @ features, features.T @ gram @ design.target, rcond=None)
    family = options["family"]
    if family == "logistic":  # the straight line through the logistic curve's middle: the same more probable class
        beta = 4 * beta - np.eye(len(beta))[0] * 2
    elif family == "poisson":  # the line that touches the exponential at the intercept
        level = max(beta[0], 0.1)
        beta = np.append(np.log(level), beta[1:] / level)
    noise = np.random.default_rng(options["seed"]).normal(0, 1e-6, (options["chains"], options["draws"], len(beta)))
    samples = beta + noise
    if family == "gaussian":
        samples = np.concatenate([samples, np.ones((*samples.shape[:2], 1))], axis=2)
    return assemble(formula, "stand-in", release, design, None, Sampled(samples), seed=0, seconds=0.0, family=family)
