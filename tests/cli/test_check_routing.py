"""`weft check --routing`: who routes around a planted dead cable of a real fabric."""

from pathlib import Path

import pytest
from tests.cli.test_check_fabric import fabric_file

from weft.cli import run

Capture = pytest.CaptureFixture[str]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "fabric"
PORT = "MF0;leaf000:MQM8700/U1[5]"


def check(*more: str, files: tuple[str, ...] = ("small/opensm-subnet.lst",)) -> int:
    """The exit code of a check of the small fabric's twin."""
    named = [str(FIXTURES / name) for name in (*files, "opensm/opensm-lfts.dump")]
    options = [word for file in named for word in ("--fabric", file)]
    return run(["check", "--twin", "generic-hdr", *options, *more])


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_dead_cable_of_a_real_fabric_has_a_detour_and_the_output_names_its_engine(
    tmp_path: Path, capsys: Capture
) -> None:
    where = tmp_path / "run"
    assert check("--plant", f"{PORT} down", "--dir", str(where)) in (0, 1, 5)
    printed = capsys.readouterr()
    assert f"weft: rerouted around {PORT} as OpenSM's minhop does (assumed: " in printed.err
    assert "unreachable" not in printed.err
    assert f"rerouted around {PORT} as OpenSM's minhop" in (where / "run.toml").read_text()


def test_tables_that_stay_as_they_are_lead_nowhere(capsys: Capture) -> None:
    assert check("--plant", f"{PORT} down", "--routing", "unchanged") == 4
    assert "is unreachable from" in capsys.readouterr().err


def test_routing_without_a_fabric_and_a_fault_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert check("--routing", "minhop") == 2
    assert "--routing needs a fabric and a dead cable" in capsys.readouterr().err
    assert run(["check", "--routing", "minhop"]) == 2
    assert "--routing needs a twin" in capsys.readouterr().err
    named = str(fabric_file(tmp_path))
    options = ["--fabric", named, "--plant", "leaf-01[5] down", "--routing", "ftree"]
    assert run(["check", "--twin", "generic-hdr", *options]) == 2
    assert "weft knows no engine that routes around leaf-01[5]" in capsys.readouterr().err


def test_a_cable_that_is_not_there_is_refused_before_anything_is_rerouted(
    capsys: Capture,
) -> None:
    assert check("--plant", "leaf-9[5] down") == 2
    printed = capsys.readouterr().err
    assert "no cable at 'leaf-9[5]'" in printed
    assert "rerouted" not in printed


def test_a_switch_with_a_blank_in_its_name_has_faults(tmp_path: Path, capsys: Capture) -> None:
    options = ["--plant", "MF0;leaf 1[5] down"]
    for name in ("small/opensm-subnet.lst", "opensm/opensm-lfts.dump"):
        copy = tmp_path / Path(name).name
        text = (FIXTURES / name).read_text()
        copy.write_text(text.replace("leaf001:MQM8700/U1", "leaf 1"))
        options += ["--fabric", str(copy)]
    assert run(["check", "--twin", "generic-hdr", *options]) in (0, 1, 5)
    assert "weft: rerouted around MF0;leaf 1[5]" in capsys.readouterr().err
