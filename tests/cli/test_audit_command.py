"""``noisewise audit``."""

from __future__ import annotations

import noisewise
from noisewise.audits import AuditReport, Finding
from noisewise.audits.report import Released


def test_a_planned_release_is_audited(nw, schema) -> None:
    result = nw("audit", "-s", schema, "-e", 1, "-d", 1e-6, "--draws", 400)
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert "gram" in words and "Nothing contradicts the claims" in words and "cannot prove" in words


def test_json_has_the_claim_and_the_bounds(nw, schema) -> None:
    document = nw.json("audit", "-s", schema, "-e", 0.5, "--draws", 400)
    (finding,) = document["findings"]
    assert document["confidence"] == 0.99 and document["left_out"] == []
    assert (finding["mechanism"], finding["epsilon"], finding["delta"]) == ("laplace", 0.5, 0)
    assert 0 <= finding["epsilon_any"] <= 0.5 and 0 < finding["epsilon_law"] <= 0.5 and finding["flagged"] is False


def test_a_partition_release_is_audited(nw, tmp_path) -> None:
    declared = tmp_path / "open.toml"
    declared.write_text('adjacency = "add-remove"\n[columns.income]\nbounds = "unknown"\n[columns.age]\nbounds = "unknown"\n')
    asked = ("--formula", "income ~ age", "--parts", 30, "--ask", "posterior-probability of=age at=0")
    (finding,) = nw.json("audit", "partition", "-s", declared, "-e", 1, *asked, "--draws", 400)["findings"]
    assert (finding["kind"], finding["mechanism"], finding["flagged"]) == ("partition, 30 parts", "k-norm", False)
    assert 0 < finding["epsilon_law"] <= 1
    assert nw("audit", "partition", "-s", declared, "-e", 1).exit_code != 0


def test_a_model_release_is_audited(nw, tmp_path) -> None:
    declared = tmp_path / "counts.toml"
    declared.write_text('adjacency = "replace-one"\n[columns.visits]\nbounds = [0, 20]\n[columns.age]\nbounds = [18, 98]\n')
    asked = ("--formula", "visits ~ age", "--family", "poisson", "--rounds", 0)
    (finding,) = nw.json("audit", "model", "-s", declared, "-e", 1, "-d", 1e-6, *asked, "--draws", 300)["findings"]
    assert (finding["kind"], finding["mechanism"], finding["flagged"]) == ("model, poisson", "gaussian", False)
    assert 0 < finding["epsilon_law"] <= 1
    assert nw("audit", "model", "-s", declared, "-e", 1, *asked).exit_code != 0  # it needs a delta


def test_one_run(nw) -> None:
    (finding,) = nw.json("audit", "--one-run", "-e", 4, "-d", 1e-6)["findings"]
    assert finding["draws"] == 1 and finding["flagged"] is False


def test_a_broken_promise_is_said_and_fails(nw, monkeypatch) -> None:
    claim = Released("gram", "gaussian", "replace-one", "one row", 1.0, 1e-6)
    bad = AuditReport((Finding(claim, 100, 1, 2.0, 3.0, 0.5, True, True),), 0.99, ("gram, wishart-paper",))
    monkeypatch.setattr(noisewise, "audit", lambda *_, **__: bad)
    result = nw("audit")
    assert result.exit_code == 1 and {"TOO", "LITTLE", "NOISE"} <= set(result.stdout.split())  # a narrow table breaks the line
    assert "1 of 1 releases" in result.stderr and "wishart-paper" in result.stderr and "Traceback" not in result.output


def test_what_does_not_go_together_is_refused(nw, schema) -> None:
    for arguments in (["-e", 1], ["--one-run"], ["--one-run", "-s", schema, "-e", 1, "-d", 1e-6]):
        assert nw("audit", *arguments).exit_code == 2
