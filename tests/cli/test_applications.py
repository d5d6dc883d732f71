"""Steps of applications alone and beside other jobs, and their chart."""

from pathlib import Path

import pytest

from weft.cli import run
from weft.report.study.iterations import section
from weft.study.comparison.impact import impact_rows
from weft.study.run.store import read_run

STUDY = """
schema = "weft.study/1"
name = "apps"
title = "apps"
question = "What does a neighbour cost?"
nodes = [8]
node_sets = 6
repeats = 1

[[benchmarks]]
name = "halo"
options = { steps = 30 }

[[benchmarks]]
name = "plane_waves"
options = { steps = 6 }

[[factors]]
name = "load"
[[factors.settings]]
name = "alone"
options = { aggressors = [] }
evidence = { aggressors = "none" }
[[factors.settings]]
name = "beside"
options = { aggressors = ["fan_in:64K@16"] }
evidence = { aggressors = "fan_in:64K@16" }

[[factors]]
name = "service-level"
condition = true
settings = ["0", "1"]
"""


def test_programs_have_impacts_of_mean_and_slowest_and_a_chart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "apps.toml").write_text(STUDY)
    where = tmp_path / "run"
    words = ["study", "run", str(tmp_path / "apps.toml"), "--twin", "fat-tree", "--nodes", "32"]
    assert run([*words, "--dir", str(where)]) in (0, 1)
    capsys.readouterr()
    done = read_run(where)
    rows = {(row.cell.benchmark, row.settings): row for row in impact_rows(done)}
    shared, apart = rows["halo", "0"], rows["halo", "1"]
    assert set(shared.figures) == {"mean", "slowest"}
    assert shared.n_iterations == 180
    mean, slowest = (shared.figures[name] for name in ("mean", "slowest"))
    assert slowest.beside >= mean.beside
    assert mean.low is not None
    # A lane of its own: within one per cent of alone.
    assert abs(apart.figures["mean"].impact - 1) < 0.01
    assert mean.impact > 1.01
    found = section(done, "x")
    assert found is not None
    halo, waves = found.figures
    assert halo.title.startswith("halo, mean µs of an iteration: ")
    assert [row[0] for row in halo.table.rows] == [
        "alone", "beside other jobs", "beside other jobs, service-level=1"
    ]  # fmt: skip
    assert halo.table.rows[0][1] == "30"
    assert waves.id == "x-iterations-plane_waves"
    assert run(["report", str(where)]) == 0
    assert "Iteration by iteration" in (where / "report.html").read_text()


def test_a_run_without_programs_has_no_such_chart(tmp_path: Path) -> None:
    where = tmp_path / "run"
    words = ["bench", "latency", "--twin", "fat-tree", "--nodes", "2", "--dir", str(where)]
    assert run(words) == 0
    assert section(read_run(where), "x") is None
