"""The table of a predictive check, and what it found in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

ALL = "all"
OVERALL = "overall"
MEAN = "mean residual"
SQUARES = "mean squared residual"
MEAN_RESPONSE = "mean response"
DISPERSION = "dispersion"
LEFT_OUT = " (left out)"
NAMED_HOLDERS = 10
ENOUGH_OTHERS = 10
MORE = "real counts often do, and the intervals are then too short"
LESS = "real counts seldom do, but a predictor far from normal with a strong effect looks so, and its coefficient is then wrong"
CLEAR = 3.0
"""So many standard deviations are taken for a fact, where the question is only how to say it."""


@dataclass
class Lines:
    """The table, line by line: one for each holder and statistic."""

    interval: float
    records: list[tuple[object, ...]] = field(default_factory=list)

    @property
    def deviations(self) -> float:
        """So many standard deviations are half of an interval."""
        from scipy.special import ndtri

        return float(ndtri((1 + self.interval) / 2))

    def add(self, holder: str, statistic: str, expected: float, gap: float, half: float, p: float) -> None:
        """``gap``: observed less expected; ``half``: of the interval."""
        self.records.append((holder, statistic, expected + gap, expected, expected - half, expected + half, p))

    def add_distance(self, holder: str, value: float, freedom: float, p: float) -> None:
        """Of all statistics together: a chi-square."""
        from scipy.special import chdtri

        ends = (float(chdtri(freedom, tail)) for tail in ((1 + self.interval) / 2, (1 - self.interval) / 2))
        self.records.append((holder, OVERALL, value, freedom, *ends, p))

    def table(self) -> pandas.DataFrame:
        import pandas

        columns = ["holder", "statistic", "observed", "expected", "lower", "upper", "p"]
        return pandas.DataFrame.from_records(self.records, columns=columns).set_index(["holder", "statistic"]).astype(float)


def problems(table: pandas.DataFrame, level: float) -> list[str]:
    """Each one sentence. The level is halved between holders' distances and single statistics, then shared among them."""
    flat = table.reset_index()
    holders = flat[flat["holder"] != ALL]
    count = holders["holder"].nunique()
    distance = holders[holders["statistic"] == OVERALL]
    single = holders[holders["statistic"] != OVERALL]
    striking = single[single["p"] < level / 4 / max(len(single), 1)]
    shared = flat[flat["holder"] == ALL]
    whole, left_out = shared[shared["statistic"] == OVERALL], shared[shared["statistic"] != OVERALL]
    spread = _dispersion(left_out if count > 1 else striking, level / 4 / max(len(left_out), 1) if count > 1 else 1.0)
    if spread and _alike(single[single["statistic"] == DISPERSION], striking):
        striking = striking[striking["statistic"] != DISPERSION]  # none is to be named for what is so everywhere
    else:
        spread = []
    far = set(distance.loc[distance["p"] < level / 4 / count, "holder"]) | set(striking["holder"])
    # The worst first: one that is far out also draws the fit away from the others.
    size = (holders["observed"] - holders["expected"]).abs() / (holders["upper"] - holders["lower"])
    size = size.where(holders["statistic"] == OVERALL, 0.0) if count > 1 else size
    order = size.groupby(holders["holder"], sort=False).max().sort_values(ascending=False, kind="stable").index
    found = []
    for name in [name for name in order if name in far][: 1 if count == 2 else None]:
        reasons = [_reason(row) for _, row in striking[striking["holder"] == name].iterrows()]
        overall = [f"overall p {_probability(p)}" for p in distance.loc[distance["holder"] == name, "p"]]
        words = {1: f"the release of holder {name} does not fit", 2: f"the two holders differ; at {name} compared with both"}
        found.append(f"{words.get(count, f'holder {name} does not fit the others')}: {'; '.join(reasons + overall)}")
    p = _agreement(whole, distance[~distance["holder"].isin(far)], bool(far))
    if p < level / 4:
        which = "other holders" if far else "holders"
        found.append(f"the {which} together differ by more than chance (p {_probability(p)}), although none of them stands out")
    for _, row in left_out[left_out["p"] < level / 4 / max(len(left_out), 1)].iterrows():
        statistic, probability = str(row["statistic"]), _probability(float(row["p"]))
        if statistic.endswith(LEFT_OUT):
            column = statistic.removeprefix("residual × ").removesuffix(LEFT_OUT)
            found.append(f"the residuals depend on {column}, which the formula leaves out (p {probability})")
        elif statistic == MEAN_RESPONSE:
            found.append(f"at all holders together {_reason(row)} (p {probability})")
    return _short(found + spread)


def _dispersion(rows: pandas.DataFrame, level: float) -> list[str]:
    """Whether the counts as a whole vary as a Poisson distribution says, and what follows if they do not."""
    chosen = rows[(rows["statistic"] == DISPERSION) & (rows["p"] < level)]
    found = []
    for _, row in chosen.iterrows():
        more = row["observed"] > row["expected"]
        follows = MORE if more else LESS
        found.append(f"{_reason(row)}: {follows} (p {_probability(float(row['p']))})")
    return found


def _alike(rows: pandas.DataFrame, striking: pandas.DataFrame) -> bool:
    """Whether counts vary too much not only at those holders where that is striking, but also at the rest as a whole."""
    from scipy.special import ndtri

    rest = rows[~rows.index.isin(striking.index)]
    if len(rest) in (0, len(rows)):
        return True
    width = rest["upper"] - rest["lower"]
    z = -ndtri(rest["p"] / 2) * (1 - 2 * (rest["observed"] < rest["expected"]))
    return bool(abs((z / width).sum()) > CLEAR * ((1 / width**2).sum()) ** 0.5)


def _agreement(together: pandas.DataFrame, rest: pandas.DataFrame, some_stand_out: bool) -> float:
    """The probability that the holders, or those that do not stand out, differ as much as they do by chance."""
    from scipy.special import chdtrc

    if not some_stand_out:
        return float(together["p"].min()) if len(together) else 1.0
    # A few that stand out move the fit, and with it all others: only where there are many does their sum say something.
    return float(chdtrc(rest["expected"].sum(), rest["observed"].sum())) if len(rest) >= ENOUGH_OTHERS else 1.0


def _reason(row: pandas.Series) -> str:
    statistic, more = str(row["statistic"]), row["observed"] > row["expected"]
    numbers = f"{row['observed']:.3g} instead of {row['lower']:.3g} to {row['upper']:.3g}"
    if statistic == SQUARES:
        return f"residuals spread {'more' if more else 'less'} than expected (mean square {numbers})"
    if statistic == MEAN:
        return f"responses are {'higher' if more else 'lower'} than expected (mean residual {numbers})"
    if statistic == MEAN_RESPONSE:
        return f"the mean response is {'higher' if more else 'lower'} than expected ({numbers})"
    if statistic == DISPERSION:
        return f"counts vary {'more' if more else 'less'} than Poisson ones (their variance is {numbers} times that)"
    return f"the coefficient of {statistic.removeprefix('residual × ')} seems {'larger' if more else 'smaller'} there"


def _probability(p: float) -> str:
    return "below 0.0001" if p < 1e-4 else f"{p:.4f}"


def _short(found: list[str]) -> list[str]:
    if len(found) <= NAMED_HOLDERS:
        return found
    return [*found[:NAMED_HOLDERS], f"and {len(found) - NAMED_HOLDERS} more of the kind"]
