"""`weft check` of ranks on this machine, by the clock: a quick one is over in time, whatever its
ranks do, and a check says beside what it planned what it took."""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from weft.launch.kernel import build_kernel
from weft.launch.mpi import find_mpi

pytestmark = pytest.mark.slow

PROLOG_S = 30.0
UNITS_S = {"ms": 1e-3, "s": 1.0}
TIME = r"(\d+(?:\.\d+)?) (ms|s)"
WEFT = "import sys; from weft.cli import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Ended:
    """A check that has ended."""

    code: int
    out: str
    err: str
    seconds: float


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """As the page of check says: the first check compiles the kernel, which no limit bounds."""
    build_kernel(find_mpi())


def check(run_dir: Path, *more: str, **environment: str) -> Ended:
    """A whole `weft check` of local ranks, killed where it takes far too long."""
    started = time.monotonic()
    argv = [sys.executable, "-c", WEFT, "check", "--dir", str(run_dir), *more]
    process = subprocess.run(
        argv,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=3 * PROLOG_S,
        check=False,
    )
    return Ended(process.returncode, process.stdout, process.stderr, time.monotonic() - started)


def seconds(told: tuple[str, str]) -> float:
    number, unit = told
    return float(number) * UNITS_S[unit]


@pytest.mark.parametrize("n_ranks", [4, 8])
def test_a_quick_check_of_local_ranks_has_a_verdict_in_half_a_minute(
    n_ranks: int, tmp_path: Path
) -> None:
    ended = check(tmp_path / "run", "--quick", "--tasks-per-node", str(n_ranks))
    assert ended.seconds < PROLOG_S
    assert ended.code in (0, 1, 5), ended.err
    n_pairs = n_ranks * (n_ranks - 1) // 2
    assert f"pairs {n_pairs} of {n_pairs} measured" in ended.out
    # Other work on this machine may have been in the way for a while: then that is the verdict.
    assert re.match(r"(OK|BAD|WARNING|UNKNOWN) |NOTE  .* normal when measured again", ended.out)


def test_a_quick_check_with_a_rank_that_hangs_gives_up_in_half_a_minute(tmp_path: Path) -> None:
    ended = check(tmp_path / "run", "--quick", "--tasks-per-node", "4", WEFT_TEST_HANG_RANK="1")
    assert ended.seconds < PROLOG_S
    assert ended.code == 4
    assert "hung" in ended.err


def test_what_a_check_took_stands_next_to_what_it_planned(tmp_path: Path) -> None:
    """Between what the kernel says of itself and the clock of whoever waits."""
    ended = check(tmp_path / "run", "--tasks-per-node", "4", "--no-report")
    assert ended.code in (0, 1, 5), ended.err
    planned = re.search(r"^time +(.*) of fabric time", ended.err, re.MULTILINE)
    beside = re.search(
        rf"^6 pairs measured in {TIME}, with start-up \(planned: (.*) of fabric time\)$",
        ended.err,
        re.MULTILINE,
    )
    last = re.search(rf"took {TIME}$", ended.out, re.MULTILINE)
    assert planned is not None
    assert beside is not None, ended.err
    assert last is not None, ended.out
    assert beside[3] == planned[1]
    assert "fabric time" not in ended.out, "no rate is known"
    survey_s, all_s = seconds((beside[1], beside[2])), seconds((last[1], last[2]))
    assert kernel_s(tmp_path / "run") <= survey_s + 0.05
    assert survey_s <= all_s <= ended.seconds + 0.05


def kernel_s(run_dir: Path) -> float:
    """What the kernel of the survey says that it took."""
    (survey,) = (run_dir / "raw").glob("*survey*.out")
    end = re.search(r'^\{"record":"end".*$', survey.read_text(), re.MULTILINE)
    assert end is not None
    return float(json.loads(end[0])["elapsed_ns"]) * 1e-9
