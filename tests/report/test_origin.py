"""A result that records its release is known for certain to belong to it, or not to; one that does not is compared, as ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.made_for_reports import DECLARED, Reader, made_comparison, made_fit, made_release, real_release, rows

import noisewise
from noisewise.errors import ResultError
from noisewise.releases import Release
from noisewise.releases.source import source_of
from noisewise.reports.given import COMPARED, OF_SOME, assign, read_release, read_result, subjects_of
from noisewise.reports.write import report
from noisewise.results import Comparison, FitInfo, Posterior
from noisewise.schema import Basis, Design

CERTAIN = "as its recorded digest of the noisy numbers shows."


def known_fit(release: Release, **changes: Any) -> Posterior:
    return made_fit(release, **{"source": source_of(release), **changes})


def known_comparison(release: Release) -> Comparison:
    found = made_comparison(release)
    return replace(found, info=replace(found.info, source=source_of(release)))


def other_noise(release: Release) -> Release:
    """The same rows, released again."""
    one = release.contents
    noise = np.triu(np.random.default_rng(9).normal(0, 8.0, one.matrix.shape), 1)
    return release.with_contributions((replace(one, matrix=one.matrix + noise + noise.T),))


def test_a_fit_and_a_comparison_of_this_very_release(tmp_path: Path) -> None:
    release = made_release()
    release.save(tmp_path / "patients.nwr")
    known_fit(release).save(tmp_path / "stay.npz")
    known_comparison(release).save(tmp_path / "models.npz")
    found = report(tmp_path / "patients.nwr", fits=[tmp_path / "stay.npz", tmp_path / "models.npz"])
    text = Reader(found.html).text
    assert text.count(f"Made from exactly this release (patients.nwr), {CERTAIN}") == 2
    assert COMPARED not in text and not found.flags and source_of(release) not in found.html


def test_results_of_another_release_of_the_same_rows_are_refused() -> None:
    release = made_release()
    other = other_noise(release)
    assert not report(other, fits=made_fit(release)).flags  # without the digest nobody can tell
    for result in (known_fit(release), known_comparison(release)):
        with pytest.raises(ResultError, match=r"was not fitted to the given releases") as raised:
            report(other, fits=result)
        assert raised.value.found == f"the digest of another release with the same columns, {source_of(release)[:12]}…"
        assert raised.value.remedy == "give the release files that it was fitted to, or leave it out"


def test_a_result_that_records_nothing_is_compared_as_before() -> None:
    release = made_release()
    found = report(release, fits=made_fit(release), comparisons=made_comparison(release))
    text = Reader(found.html).text
    assert text.count(COMPARED) == 2 and CERTAIN not in text and not found.flags
    guessed = report(made_release(rows(2, effect=0.2)), fits=made_fit(release))
    assert any("it may have been made from another release" in flag for flag in guessed.flags)


def test_what_is_certain_is_not_guessed_at() -> None:
    """Draws far from the release, of a fit that was made from it all the same: a matter of the fit, not of the file."""
    release = made_release()
    fit = known_fit(release)
    moved = Posterior(fit.samples + 0.5, fit.terms, fit.design, fit.info, fit.prior)
    flags = report(release, fits=moved).flags
    assert flags and not any("another release" in flag for flag in flags)
    plain = Posterior(fit.samples + 0.5, fit.terms, fit.design, replace(fit.info, source=""), fit.prior)
    assert any("another release" in flag for flag in report(release, fits=plain).flags)


def test_several_holders_in_any_order_and_in_one_file(tmp_path: Path) -> None:
    sites = [made_release(rows(seed)) for seed in (1, 2)]
    fit = known_fit(noisewise.combine(sites))
    for given in (sites, sites[::-1]):
        text = Reader(report(given, fits=fit).html).text
        assert f"Made from exactly these releases together (release 1 and release 2), {CERTAIN}" in text
    noisewise.combine(sites[::-1]).save(tmp_path / "both.nwr")
    found = report(tmp_path / "both.nwr", fits=fit)
    assert f"Made from exactly this release (both.nwr), {CERTAIN}" in Reader(found.html).text and not found.flags
    with pytest.raises(ResultError, match="the digest of another release"):
        report([sites[0], other_noise(sites[1])], fits=fit)


def test_a_fit_of_one_of_several_holders_is_named_and_checked_against_it(tmp_path: Path) -> None:
    sites = [made_release(rows(seed)) for seed in (1, 2)]
    for name, release in zip(("north", "south"), sites, strict=True):
        release.save(tmp_path / f"{name}.nwr")
    files = [tmp_path / "north.nwr", tmp_path / "south.nwr"]
    found = report(files, fits=known_fit(sites[1]))
    text = Reader(found.html).text
    assert found.flags == ("fit 1: This result is about south.nwr alone, but the report is about 2 data holders.",)
    assert f"Made from south.nwr alone, {CERTAIN}" in text and "noisewise fit south.nwr 'stay ~ age + ward'" in text
    assert "Nothing in the release contradicts the fit. With a single data holder" in text
    with pytest.raises(ResultError, match="the digest of another release"):
        report(files, fits=known_fit(made_release(rows(3))))


def test_one_of_the_holders_of_a_file_is_known_too(tmp_path: Path) -> None:
    sites = [made_release(rows(seed)) for seed in (1, 2, 3)]
    noisewise.combine(sites).save(tmp_path / "all.nwr")
    found = report(tmp_path / "all.nwr", fits=known_fit(sites[1]))
    assert f"Made from one of the 3 holders of all.nwr alone, {CERTAIN}" in Reader(found.html).text
    assert len(found.flags) == 1 and "Does the release agree" not in found.html
    with pytest.raises(ResultError, match="the digest of another release"):
        report(tmp_path / "all.nwr", fits=known_fit(made_release(rows(4))))


def test_a_fit_of_some_of_the_holders_remains_uncertain() -> None:
    sites = [made_release(rows(seed)) for seed in (1, 2, 3)]
    found = report(sites, fits=known_fit(noisewise.combine(sites[:2])))
    assert [flag.partition(": ")[2] for flag in found.flags] == [
        "This result is about 2 data holders, but the report is about 3. It is not certain that they are among these."]
    assert OF_SOME in Reader(found.html).text and "Does the release agree" not in found.html


def test_holders_that_were_added_up_are_the_same_holders(tmp_path: Path) -> None:
    sites = [made_release(rows(seed)) for seed in (1, 2, 3)]
    for place, release in enumerate(sites):
        release.save(tmp_path / f"{place}.nwr")
    added = noisewise.load_many(tmp_path, pooled=True)
    assert added.pooled
    fit = noisewise.fit("stay ~ age", added, method="laplace", seed=1)
    text = Reader(report(sorted(tmp_path.iterdir()), fits=fit).html).text
    assert f"Made from exactly these releases together (0.nwr and 2 more), {CERTAIN}" in text
    assert f"Made from exactly this release (release 1), {CERTAIN}" in Reader(report(added, fits=fit).html).text


def test_the_digest_chooses_among_releases_of_the_same_columns(tmp_path: Path) -> None:
    """Published rows of one schema are releases of their own; without the digest a fit is taken for one of the first."""
    first = real_release("rows", tmp_path)
    second = first.with_contributions((replace(first.contents, file=replace(first.contents.file, sha256="1" * 64)),))
    design = Design.of("age ~ sick", Basis.of(first.schema))
    info = FitInfo("rows", "gaussian", design.formula, seed=1, chains=2, draws=20)
    samples = np.random.default_rng(1).uniform(1, 2, (2, 20, len(design.terms) + 1))
    for source, places, flagged in ((source_of(second), [0, 1], False), ("", [1, 0], True)):
        subjects = subjects_of([read_release(given, place) for place, given in enumerate((first, second), start=1)])
        fit = Posterior(samples, (*design.terms, "sigma"), design, replace(info, source=source))
        assign(subjects, [read_result(fit, 1)])
        assert [len(subject.results) for subject in subjects] == places
        (fitted,) = (one for subject in subjects for one in subject.results)
        assert (bool(fitted.flags), fitted.certain, fitted.whole) == (flagged, not flagged, True)
    stranger = Posterior(samples, (*design.terms, "sigma"), design, replace(info, source="2" * 64))
    with pytest.raises(ResultError, match="the digest of another release"):
        assign(subjects_of([read_release(first, 1)]), [read_result(stranger, 1)])


def test_holders_with_different_people_are_one_subject() -> None:
    """Where they declare whose rows they have, the declarations differ; they are analysed together all the same."""
    release = made_release()
    north, south = (
        Release(one.kind, replace(release.schema, stratum=(("clinic", name),)), one.contributions)
        for name, one in (("north", release), ("south", other_noise(release))))
    together = noisewise.combine([north, south])
    subjects = subjects_of([read_release(north, 1), read_release(south, 2)])
    assert len(subjects) == 1
    assign(subjects, [read_result(known_fit(together, holders=2), 1), read_result(known_fit(south), 2)])
    assert [(fitted.certain, fitted.whole) for fitted in subjects[0].results] == [(True, True), (True, False)]


def test_declarations_that_mean_the_same_are_the_same() -> None:
    """A default that one holder has written out does not make its fit, or that of both in another order, one of strangers."""
    columns = {**DECLARED["columns"], "age": {"bounds": [18, 98], "missing": 58}}
    one, other = made_release(), other_noise(made_release(declared={**DECLARED, "columns": columns}))
    assert one.schema != other.schema
    backwards = noisewise.combine([other, one])
    for result in (known_fit(other), known_fit(backwards, holders=2), made_fit(backwards, holders=2)):
        subjects = subjects_of([read_release(one, 1), read_release(other, 2)])
        assign(subjects, [read_result(result, 1)])
        assert [len(subject.results) for subject in subjects] == [1]
    columns = {**columns, "age": {"bounds": [18, 98], "missing": 40}}
    with pytest.raises(ResultError, match="another schema"):
        report(one, fits=made_fit(made_release(declared={**DECLARED, "columns": columns})))
