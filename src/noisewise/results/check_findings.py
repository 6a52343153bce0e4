"""The table of a predictive check, and its findings in words."""

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
ROUNDS = "rounds"
VARIANCES = {"gaussian": "variance ratio of residuals", "poisson": "variance ratio of counts",
             "negative-binomial": "variance ratio of residual counts"}
"""For each family whose residuals' squares are released, the name of their variance ratio."""
EXPECTED = {"variance ratio of residuals": "residuals of rows with unusual predictors vary {much} times as much as expected",
            "variance ratio of counts": "counts vary {much} times as much as Poisson counts",
            "variance ratio of residual counts": "counts vary {much} times as much as negative binomial counts"}
"""How a finding about a variance ratio begins."""
TOO_NARROW = "the intervals are too narrow: use robust intervals"
TOO_WIDE = "the intervals are wider than they need be: use robust intervals"
OTHER_FAMILY = ", or ask for a release with the family negative-binomial"
APART = ("its rounds do not agree with one another, so the fit does not describe its rows everywhere, and the coefficients may "
         "be off: ask for a release that begins where this one ended")
LEFT_OUT = " (left out)"
NAMED_HOLDERS = 10
ENOUGH_OTHERS = 10
MORE = "this is common in real data, and it makes the intervals too narrow"
LESS = ("this is rare in real data; a predictor that is far from normal and has a strong effect can cause it, and its "
        "coefficient is then wrong")
CLEAR = 3.0
"""A deviation of more than this many standard deviations counts as clear when a finding is worded."""


@dataclass
class Lines:
    """Collects the table, one line for each holder and statistic."""

    interval: float
    records: list[tuple[object, ...]] = field(default_factory=list)

    @property
    def deviations(self) -> float:
        """Half the width of the interval, in standard deviations."""
        from scipy.special import ndtri

        return float(ndtri((1 + self.interval) / 2))

    def add(self, holder: str, statistic: str, expected: float, gap: float, half: float, p: float) -> None:
        """Add a line; ``gap`` is observed minus expected, ``half`` is half the width of the interval."""
        self.records.append((holder, statistic, expected + gap, expected, expected - half, expected + half, p))

    def add_distance(self, holder: str, value: float, freedom: float, p: float, statistic: str = OVERALL) -> None:
        """Add the distance of several statistics together, a chi-square."""
        from scipy.special import chdtri

        ends = (float(chdtri(freedom, tail)) for tail in ((1 + self.interval) / 2, (1 - self.interval) / 2))
        self.records.append((holder, statistic, value, freedom, *ends, p))

    def table(self) -> pandas.DataFrame:
        """Return the lines as a table, indexed by holder and statistic."""
        import pandas

        columns = ["holder", "statistic", "observed", "expected", "lower", "upper", "p"]
        return pandas.DataFrame.from_records(self.records, columns=columns).set_index(["holder", "statistic"]).astype(float)


def problems(table: pandas.DataFrame, level: float) -> list[str]:
    """List what does not fit, one sentence each. The level is split between distances and single statistics, then among each."""
    flat = table.reset_index()
    holders = flat[flat["holder"] != ALL]
    count = holders["holder"].nunique()
    distance = holders[holders["statistic"] == OVERALL]
    single = holders[holders["statistic"] != OVERALL]
    striking = single[single["p"] < level / 4 / max(len(single), 1)]
    apart = striking["statistic"].isin([ROUNDS, *EXPECTED])
    striking, about_fit = striking[~apart], [_about_fit(row, count) for _, row in striking[apart].iterrows()]
    shared = flat[flat["holder"] == ALL]
    whole, left_out = shared[shared["statistic"] == OVERALL], shared[shared["statistic"] != OVERALL]
    spread = _dispersion(left_out if count > 1 else striking, level / 4 / max(len(left_out), 1) if count > 1 else 1.0)
    if spread and _alike(single[single["statistic"] == DISPERSION], striking):
        striking = striking[striking["statistic"] != DISPERSION]  # don't single out a holder for what happens everywhere
    else:
        spread = []
    far = set(distance.loc[distance["p"] < level / 4 / count, "holder"]) | set(striking["holder"])
    # Worst first: a holder that is far out also pulls the fit away from the others.
    size = (holders["observed"] - holders["expected"]).abs() / (holders["upper"] - holders["lower"])
    size = size.where(holders["statistic"] == OVERALL, 0.0) if count > 1 else size
    order = size.groupby(holders["holder"], sort=False).max().sort_values(ascending=False, kind="stable").index
    found = []
    for name in [name for name in order if name in far][: 1 if count == 2 else None]:
        reasons = [_reason(row) for _, row in striking[striking["holder"] == name].iterrows()]
        overall = [f"overall p {_probability(p)}" for p in distance.loc[distance["holder"] == name, "p"]]
        words = {1: f"the model does not fit the release of holder {name}",
                 2: f"the two holders differ; at {name}, compared with the fit to both"}
        found.append(f"{words.get(count, f'holder {name} does not fit the others')}: {'; '.join(reasons + overall)}")
    p = _agreement(whole, distance[~distance["holder"].isin(far)], bool(far))
    if p < level / 4:
        which = "other holders" if far else "holders"
        found.append(f"the {which} differ by more than chance (p {_probability(p)}), although none stands out")
    for _, row in left_out[left_out["p"] < level / 4 / max(len(left_out), 1)].iterrows():
        statistic, probability = str(row["statistic"]), _probability(float(row["p"]))
        if statistic.endswith(LEFT_OUT):
            column = statistic.removeprefix("residual × ").removesuffix(LEFT_OUT)
            found.append(f"the residuals depend on {column}, which the formula leaves out (p {probability})")
        elif statistic == MEAN_RESPONSE:
            found.append(f"over all holders, {_reason(row)} (p {probability})")
        elif statistic in EXPECTED:
            found.append(_about_fit(row, count))
    return _short(found + about_fit + spread)


def _about_fit(row: pandas.Series, holders: int) -> str:
    """What the rounds of a model release say against its fit."""
    statistic, ratio, probability = str(row["statistic"]), float(row["observed"]), _probability(float(row["p"]))
    if statistic == ROUNDS:
        return f"{'the release' if holders == 1 else f'holder {row.holder}'}: {APART} (p {probability})"
    where, more = "" if holders == 1 else "over all holders, ", ratio > 1
    begin = EXPECTED[statistic].format(much=f"{'at least ' if more else 'only '}{ratio:.2g}")
    other = OTHER_FAMILY if more and statistic == VARIANCES["poisson"] else ""
    return f"{where}{begin}, so {TOO_NARROW if more else TOO_WIDE}{other} (p {probability})"


def _dispersion(rows: pandas.DataFrame, level: float) -> list[str]:
    """Report counts that vary more or less than a Poisson distribution does, and what that implies."""
    chosen = rows[(rows["statistic"] == DISPERSION) & (rows["p"] < level)]
    found = []
    for _, row in chosen.iterrows():
        more = row["observed"] > row["expected"]
        follows = MORE if more else LESS
        found.append(f"{_reason(row)}: {follows} (p {_probability(float(row['p']))})")
    return found


def _alike(rows: pandas.DataFrame, striking: pandas.DataFrame) -> bool:
    """True if the dispersion is also clearly off at the holders where it is not striking, taken together."""
    from scipy.special import ndtri

    rest = rows[~rows.index.isin(striking.index)]
    if len(rest) in (0, len(rows)):
        return True
    width = rest["upper"] - rest["lower"]
    z = -ndtri(rest["p"] / 2) * (1 - 2 * (rest["observed"] < rest["expected"]))
    return bool(abs((z / width).sum()) > CLEAR * ((1 / width**2).sum()) ** 0.5)


def _agreement(together: pandas.DataFrame, rest: pandas.DataFrame, some_stand_out: bool) -> float:
    """Probability that chance makes the holders (or those that do not stand out) differ this much."""
    from scipy.special import chdtrc

    if not some_stand_out:
        return float(together["p"].min()) if len(together) else 1.0
    # Holders that stand out shift the fit for everyone else, so the sum over the others means something only if there are many.
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
        return f"counts vary {'more' if more else 'less'} than Poisson counts (variance ratio {numbers})"
    return f"the coefficient of {statistic.removeprefix('residual × ')} looks {'larger' if more else 'smaller'} there"


def _probability(p: float) -> str:
    return "below 0.0001" if p < 1e-4 else f"{p:.4f}"


def _short(found: list[str]) -> list[str]:
    if len(found) <= NAMED_HOLDERS:
        return found
    return [*found[:NAMED_HOLDERS], f"and {len(found) - NAMED_HOLDERS} more"]
