"""Data frames where a user asks for them by scikit-learn's ``set_output``, or for all by ``sklearn.set_config``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sklearn import get_config

from noisewise.errors import ResultError

if TYPE_CHECKING:
    import pandas

CONTAINERS = ("default", "pandas", "polars")


class OutputMixin:
    """``set_output`` for tables of results; ``predict`` and ``predict_proba`` give arrays, as everywhere in scikit-learn."""

    def set_output(self, *, transform: str | None = None) -> Self:
        """Intervals as arrays ("default") or as data frames ("pandas", "polars"); None changes nothing."""
        if transform is not None:
            if transform not in CONTAINERS:
                raise ResultError("the output is one of " + ", ".join(CONTAINERS), found=repr(transform))
            self._sklearn_output_config = {"transform": transform}  # the name under which clone() looks for it
        return self

    def _in_output(self, table: pandas.DataFrame) -> Any:
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        if chosen == "pandas":
            return table
        if chosen == "polars":
            import polars

            return polars.DataFrame({str(name): table[name].to_numpy() for name in table})
        return table.to_numpy()
