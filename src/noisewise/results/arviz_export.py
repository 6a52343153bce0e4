"""Export draws to ArviZ: InferenceData for ArviZ 0.x, an xarray DataTree for ArviZ 1.x."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.errors import ResultError
from noisewise.results.fit_info import SCALES, FitInfo


def to_arviz(samples: Array, terms: tuple[str, ...], info: FitInfo, diverging: Flags | None) -> Any:
    """Return the variables `coefficient` (chain, draw, term) and the family's scale, if any, such as `sigma` (chain, draw)."""
    try:
        import arviz
        import xarray
    except ImportError as error:
        raise ResultError("the export requires ArviZ", found=str(error), remedy="pip install 'noisewise[arviz]'") from error
    chains, draws, _ = samples.shape
    sampled = {"chain": np.arange(chains), "draw": np.arange(draws)}
    attributes = {"inference_library": "noisewise", "method": info.method, "family": info.family, "formula": info.formula,
                  **({"source": info.source} if info.source else {})}
    named = [term for term in terms if term not in SCALES]
    variables: dict[str, Any] = {"coefficient": (("chain", "draw", "term"), samples[:, :, : len(named)])}
    for name in terms[len(named):]:
        variables[name] = (("chain", "draw"), samples[:, :, -1])
    groups = {"posterior": xarray.Dataset(variables, coords={**sampled, "term": named}, attrs=attributes)}
    if diverging is not None:
        groups["sample_stats"] = xarray.Dataset({"diverging": (("chain", "draw"), diverging)}, coords=sampled, attrs=attributes)
    # Go by the version: ArviZ 1.x still has the name InferenceData, but warns and returns a different class.
    if int(arviz.__version__.partition(".")[0]) >= 1:
        return xarray.DataTree.from_dict(groups)
    container: Any = arviz.InferenceData
    return container(**groups)
