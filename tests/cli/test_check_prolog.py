"""The prolog of docs/reference/check.md, run by a shell beside a `weft` that ends as it is told."""

import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/reference/check.md"
JOB = {"SLURM_JOB_ID": "77", "SLURM_JOB_NODELIST": "n[1-2]"}
WEFT = """\
while [ "$#" -gt 1 ]; do
    case "$1" in
        --drain) echo "{drain}" >"$2" ;;
        --dir) mkdir "$2" || exit 2 ;;
    esac
    shift
done
exit {code}
"""


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def prolog(tmp_path: Path) -> list[str]:
    """The page's script, with the folders of a test; Slurm gives it no PATH."""
    found = re.search(r"```sh\n(#!/bin/sh\n.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for name in ("scontrol", "logger"):
        program(bin_dir / name, f'echo "$@" >>{tmp_path}/{name}.said')
    script = found[1].replace("/opt/weft/bin", str(bin_dir)).replace("/var/tmp", str(tmp_path))
    (tmp_path / "prolog").write_text(script)
    return ["/bin/sh", str(tmp_path / "prolog")]


def ended(prolog: list[str]) -> int:
    return subprocess.run(prolog, env=JOB, check=False, timeout=60).returncode


def test_a_job_on_a_bad_node_starts_again_as_often_as_it_takes(
    prolog: list[str], tmp_path: Path
) -> None:
    drain = "scontrol update NodeName=n1 State=DRAIN"
    program(tmp_path / "bin/weft", WEFT.format(drain=drain, code=1))
    assert [ended(prolog), ended(prolog)] == [1, 1]
    assert (tmp_path / "scontrol.said").read_text() == 2 * "update NodeName=n1 State=DRAIN\n"
    program(tmp_path / "bin/weft", WEFT.format(drain="# a cable", code=1))
    assert ended(prolog) == 0


def test_a_check_that_fails_or_is_not_there_holds_up_no_job_and_is_logged(
    prolog: list[str], tmp_path: Path
) -> None:
    said = tmp_path / "logger.said"
    program(tmp_path / "bin/weft", WEFT.format(drain="# none", code=0))
    assert ended(prolog) == 0
    assert not said.exists()
    program(tmp_path / "bin/weft", WEFT.format(drain="# none", code=4))
    assert ended(prolog) == 0
    (tmp_path / "bin/weft").unlink()
    assert ended(prolog) == 0
    assert re.findall(r"exit code (\d+)", said.read_text()) == ["4", "127"]
