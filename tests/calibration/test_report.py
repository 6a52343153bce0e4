"""The page of measured results: what it counts as calibrated, wide and overconfident."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies.report import holm_limit, page, read, verdict

COVERAGE = """features,d,rows,epsilon,holders,adjacency,mechanism,coverage,standard_error,lowest,sigma,relative_width,replicates
normal,2,1000,1.0,1,replace-one,gaussian,0.951,0.006,0.940,0.950,2.5,400
normal,2,1000,1.0,1,add-remove,gaussian,0.990,0.003,0.985,1.000,40.0,400
normal,2,1000,10.0,1,replace-one,gaussian,0.900,0.010,0.890,0.930,1.2,400
normal,2,1000,10.0,1,add-remove,gaussian,0.929,0.020,0.910,0.940,1.2,400
"""
SBC = """\
likelihood,mechanism,adjacency,d,epsilon,noise_share,quantity,replicates,mean_rank,chi_square_p,band_p,score_p,squared_distance
conditional,gaussian,replace-one,2,1.0,1.0,beta0,100,0.5,0.40,0.30,nan,nan
conditional,gaussian,replace-one,2,1.0,1.0,density,100,0.5,0.44,0.64,0.92,1.01
conditional,gaussian,replace-one,2,1.0,0.7,beta0,100,0.5,0.01,0.02,nan,nan
conditional,gaussian,replace-one,2,1.0,0.7,density,100,0.3,0.44,0.64,0.00001,1.35
"""


def files(folder: Path) -> list[Path]:
    paths = [folder / "coverage.csv", folder / "sbc.csv"]
    for path, text in zip(paths, (COVERAGE, SBC), strict=True):
        path.write_text(text)
    return paths


def test_cells_are_judged_by_coverage_and_by_what_chance_explains(tmp_path: Path) -> None:
    coverage, _ = read(files(tmp_path))
    assert [verdict(cell) for cell in coverage] == ["within", "wide", "overconfident", "unclear"]


def test_the_page_says_what_was_found(tmp_path: Path) -> None:
    text = page(*read(files(tmp_path)))
    for expected in ("4 settings, 400 replicates each", "1 within 93–97 %", "1 above 97 %", "1 overconfident", "**90.0** ↓",
                     "| 1,000 | 1 | 1 | 95.1 | **99.0** ↑ |", "90.0 ± 1.0 | 5.0", "ignore 30 % of the noise's variance"):
        assert expected in text
    right, wrong = [line for line in text.splitlines() if line.startswith("| conditional")]
    assert right.endswith("no |")
    assert wrong.endswith("**yes** |")


def test_a_setting_that_comes_twice_counts_once(tmp_path: Path) -> None:
    first, second = files(tmp_path)
    coverage, sbc = read([first, second, first, second])
    assert len(coverage) == 4
    assert len(sbc) == 4


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit, match="neither"):
        read([path])


def test_holms_rule() -> None:
    assert holm_limit([0.2, 0.9]) == -1.0
    assert holm_limit([0.01, 0.9, 0.02]) == 0.02  # 0.01 ≤ 0.05 / 3, then 0.02 ≤ 0.05 / 2, then 0.9 > 0.05
