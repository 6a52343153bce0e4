"""Whether to trust a fit: diagnostics of its draws, and a check of them against the release."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from noisewise.errors import NoisewiseError
from noisewise.reports.drawings import RankChart, rank_chart
from noisewise.reports.given import Fitted, Subject
from noisewise.reports.numbers import Table, count, number, plural
from noisewise.results.check_findings import LEFT_OUT, MEAN, MEAN_RESPONSE, SQUARES
from noisewise.results.posterior import INDEPENDENT, Posterior
from noisewise.results.summary import ESS_LIMIT, R_HAT_LIMIT

MOST_RANKS, MOST_CHECKED = 12, 60
MOST_COLUMNS: Final = 100
"""With more columns a predictive check takes many seconds, and a report must not keep anybody waiting."""
STRANGE: Final = "<0.001"
TOO_LARGE: Final = ("Its draws are too large, or too far apart, to compute with. No noisewise fit has such draws, so the file "
                    "may be damaged or not what it claims to be.")


class Verdict(NamedTuple):
    """One sentence saying whether all is well, and the problems if not."""

    good: bool
    sentence: str
    problems: tuple[str, ...] = ()


def sentence(words: str) -> str:
    """Turn part of a sentence into a sentence of its own."""
    return f"{words[0].upper()}{words[1:]}."


def draws_verdict(found: Posterior) -> Verdict:
    """Say whether the draws can be trusted."""
    problems = tuple(found.diagnose())
    if problems:
        return Verdict(False, "Do not trust these draws yet:", problems)
    if found.info.method in INDEPENDENT:
        return Verdict(True, f"The draws of the method {found.info.method} are independent, so there are no chains that could "
                       "disagree.")
    table = found.summary()
    least = min(table["ess_bulk"].min(), table["ess_tail"].min())
    diverged = "" if found.diverging is None else (
        "; no transition diverged" if not found.info.divergences else
        f"; {plural(found.info.divergences, 'transition')} diverged, too few to matter")
    return Verdict(True, f"The chains agree (R-hat at most {table['r_hat'].max():.3f}) and are worth at least {count(least)} "
                   f"independent draws{diverged}.")


def diagnostics(found: Posterior) -> Table | None:
    """R-hat and effective draws, if the draws form chains."""
    if found.info.method in INDEPENDENT:
        return None
    rows = [(str(term), f"{row['r_hat']:.3f}", count(row["ess_bulk"]), count(row["ess_tail"]))
            for term, row in found.summary().iterrows()]
    caption = f"Convergence: R-hat should be at most {R_HAT_LIMIT}, effective draws at least {ESS_LIMIT:.0f}"
    return Table.of(caption, ["Term", "R-hat", "Effective draws, centre", "Effective draws, tails"], rows)


def ranks(found: Posterior) -> tuple[RankChart, ...]:
    """Rank plots of the terms whose chains agree least."""
    chains, draws, _ = found.samples.shape
    if found.info.method in INDEPENDENT or chains < 2 or draws < 20:
        return ()
    order = np.argsort(-np.nan_to_num(found.summary()["r_hat"].to_numpy(), nan=np.inf), kind="stable")[:MOST_RANKS]
    return tuple(rank_chart(found.terms[column], found.samples[:, :, column]) for column in sorted(order.tolist()))


def check(fitted: Fitted, found: Posterior, subject: Subject, interval: float) -> tuple[Verdict | None, Table | None]:
    """The predictive check, if there is one."""
    if not subject.release.columns or not (fitted.whole or fitted.alone) or found.sites is not None:
        return None, None
    if subject.release.basis.size > MOST_COLUMNS:
        return Verdict(True, f"No predictive check was made: it is slow with more than {MOST_COLUMNS} columns. Use "
                       "`noisewise check`."), None
    try:
        done = found.check(subject.release, holders=subject.holders, interval=interval)
    except NoisewiseError as error:
        return Verdict(True, f"No predictive check was made: {error.rule}" + (f" ({error.found})." if error.found else ".")), None
    except (ArithmeticError, ValueError):  # also from linear algebra: a file may hold impossible draws
        done = None
    if done is None or not np.isfinite(done.table["expected"].to_numpy(dtype=float)).all():
        return Verdict(False, "No predictive check could be made:", (TOO_LARGE,)), None
    problems = tuple(map(sentence, done.problems()))
    if problems:
        verdict = Verdict(False, "The released statistics are not what this fit expects:", problems)
    elif done.single:
        verdict = Verdict(True, "Nothing in the release contradicts the fit. With a single data holder this means little: its "
                          f"own statistics determine the fit, so {done.alone} can contradict it.")
    else:
        verdict = Verdict(True, "Nothing contradicts the fit: the data holders agree as far as their noise allows one to tell.")
    table = done.table.reset_index().sort_values("p", kind="stable")
    rows = []
    for _, row in table.head(MOST_CHECKED).sort_index().iterrows():
        width = float(row["upper"] - row["lower"]) / 4
        values = (number(float(row[name]), width) for name in ("observed", "expected", "lower", "upper"))
        rows.append((str(row["holder"]), str(row["statistic"]), *values, STRANGE if row["p"] < 0.001 else f"{row['p']:.3f}"))
    more = f" (the {MOST_CHECKED} least probable of {len(table)})" if len(table) > MOST_CHECKED else ""
    return verdict, Table.of(f"Released and expected statistics, per row{more}",
                             ["Data holder", "Statistic", "Released", "Expected", "From", "To", "p"], rows, words=(0, 1))


def mismatch(fitted: Fitted, table: Table | None, subject: Subject) -> tuple[str, ...]:
    """Guess whether a fit that does not record its release was made from something else.

    A single holder's statistics determine its fit, so they cannot be far from what the fit expects.
    """
    if fitted.certain or table is None or len(subject.holders) > 1:
        return ()
    own = [row for row in table.rows if not row[1].endswith(LEFT_OUT)
           and (row[1] in (MEAN, MEAN_RESPONSE, SQUARES) or row[1].startswith("residual × "))]
    if not any(row[-1] == STRANGE for row in own):
        return ()
    return ("The released statistics are far from what this fit expects. A fit to this release is never that far off, so it may "
            "have been made from another release with the same columns.",)
