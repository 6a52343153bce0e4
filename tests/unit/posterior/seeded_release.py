"""Releases whose noise comes from a seeded generator, for tests whose outcome must not depend on the day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from tests.unit.posterior.noisy_matrices import noise_draws

import noisewise as nw
from noisewise.data import gram_sum
from noisewise.releases.contents.gram import EntryNoise
from noisewise.run import QUIET


def seeded_release(table: Mapping[str, Any], schema: nw.Schema, seed: int, kind: nw.Gram | None = None,
                   **options: Any) -> nw.Release:
    """``nw.release`` with its matrix made anew: the exact sums and seeded noise of the same variances."""
    made = nw.release(table, schema, kind or nw.Gram(), run=QUIET, **options)
    part = made.contents
    noise = part.noise if part.noise.distribution != "wishart" else EntryNoise(
        "gaussian", part.noise.diagonal, part.noise.off_diagonal, part.noise.corner)
    exact = gram_sum(table, schema, made.basis).to_grid() / 2**16
    drawn = noise_draws(np.random.default_rng(seed), noise, len(exact), 1)[0]
    return made.with_contributions((replace(part, matrix=np.round((exact + drawn) * 2**16) / 2**16),))
