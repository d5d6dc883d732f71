"""Real file systems that fill up or turn read-only, real files at their largest size, directories
that another process takes away: what the injector of test_failing_disk.py stands in for."""

import os
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.needs import need
from tests.process_calls import call
from tests.storage.injector import ELSEWHERE, THEIRS, lost

from weft.bench.model import Sample
from weft.study.run.store import read_run

TWIN = ("--twin", "fat-tree", "--nodes", "4")
SMOKE = ("study", "run", "smoke", *TWIN, "--repeats", "2", "--dir")
WEFT = (sys.executable, "-m", "weft.cli")
LIMIT_S = 120
SBIN = os.environ["PATH"] + ":/usr/sbin:/sbin"


def command_after(err: str) -> list[str]:
    """The words behind `next:`, without weft's own name."""
    (line,) = [line for line in err.splitlines() if line.startswith("  next: ")]
    return shlex.split(line.removeprefix("  next: "))[1:]


def samples_of(argv: tuple[str, ...], run_dir: Path) -> tuple[Sample, ...]:
    made = call([*argv, str(run_dir)], limit_s=LIMIT_S)
    assert made.code == 0, made.err
    return read_run(run_dir).samples


@pytest.mark.parametrize("most_bytes", [2_000, 4_000, 15_000])
def test_a_file_that_may_not_grow_cuts_a_record_and_no_run(tmp_path: Path, most_bytes: int) -> None:
    """RLIMIT_FSIZE: the kernel writes up to the limit, then refuses, in the middle of a line."""
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    where = tmp_path / "RUN"
    ended = call([*SMOKE, str(where)], before=limit, limit_s=LIMIT_S)
    assert ended.code == 3, ended.err
    assert "cannot be written (File too large)" in ended.err
    cut = [path for path in where.glob("samples/*") if not path.read_bytes().endswith(b"\n")]
    assert bool(cut) == (most_bytes == 15_000)
    again = call(command_after(ended.err), limit_s=LIMIT_S)
    assert again.code == 0, again.err
    assert read_run(where).samples == samples_of(SMOKE, tmp_path / "whole")


LOSSES: dict[str, tuple[str, str]] = {
    "samples removed": ("this file was removed, moved or replaced", "RUN"),
    "removed": ("this directory was removed or replaced by another", "RUN"),
    "moved": (f"this directory was moved to {{}}/{ELSEWHERE}", ELSEWHERE),
    "replaced": (f"this directory was moved to {{}}/{ELSEWHERE}", ELSEWHERE),
}
"""Of each loss: the first line of the error, and where the run is complete in the end."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", LOSSES)
def test_another_process_takes_the_directory_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    argv = (*SMOKE[:-2], "40", "--dir")
    where = tmp_path / "RUN"
    with subprocess.Popen([*WEFT, *argv, str(where)], stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: any(path.stat().st_size > 9_000 for path in where.glob("samples/*")))
        lost(where, fault)
        _, err = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 3, err
    message, place = LOSSES[fault]
    assert message.format(tmp_path) in err or fault == "removed", err
    if fault == "replaced":
        assert os.listdir(where) == [THEIRS]
    again = call(command_after(err), limit_s=LIMIT_S)
    assert again.code == 0, again.err
    # While the directory is being removed, the run begins again in a new one.
    kept = next(tmp_path.glob("runs/*"), tmp_path / place)
    assert read_run(kept).samples == samples_of(argv, tmp_path / "whole")


def wait_for(happens: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT_S
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.002)


ON_A_DISK = """
mount -t tmpfs -o size=$1 weft "$2" || exit 77
cd "$2"; shift 2
"$@" 2> "$KEPT/err"; echo $? > "$KEPT/code"
mount -o remount,ro,size=64m . && sh "$KEPT/next" 2> "$KEPT/err-read-only"
echo $? > "$KEPT/code-read-only"
mount -o remount,rw . && sh "$KEPT/next" 2> "$KEPT/err-again"
echo $? > "$KEPT/code-again"
cp -r . "$KEPT/disk"
"""
"""The command on a tmpfs of one size; its `next:` line while that is read-only, then writable."""
NEXT = """
line=$(sed -n 's/^  next: weft //p' "$KEPT/err")
test -n "$line" && eval "$WEFT $line"
"""

DISKS: dict[str, tuple[str, ...]] = {
    "study": (*SMOKE, "RUN"),
    "check": ("check", "--twin", "fat-tree", "--nodes", "8", "--no-report", "--dir", "RUN"),
    "import": (
        "import", str(Path(__file__).resolve().parents[1] / "fixtures/field/c01-flux-hpcx-hdr.txt"),
        "-o", "RUN",
    ),
    "live": ("bench", "barrier", "latency", "--repeats", "2", "--dir", "RUN"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("verb", DISKS)
def test_a_disk_of_each_size_fills_up(tmp_path: Path, verb: str) -> None:
    need("unshare", "mount", package="util-linux mount")
    whole = tmp_path / "whole"
    made = call([*DISKS[verb][:-1], str(whole)], limit_s=LIMIT_S)
    assert made.code in (0, 1, 5), made.err
    n_bytes = sum(-(-path.stat().st_size // 4096) * 4096 for path in whole.rglob("*"))
    n_full = 0
    for pages in range(1, n_bytes // 4096 + 2, max(1, n_bytes // 4096 // 6)):
        kept = on_a_disk(DISKS[verb], pages * 4096, tmp_path)
        code, again = (int((kept / name).read_text()) for name in ("code", "code-again"))
        err = (kept / "err").read_text()
        if code == made.code:
            continue
        n_full += 1
        assert code == 3, err
        assert "Traceback" not in err
        assert int((kept / "code-read-only").read_text()) == 3, err
        assert "Traceback" not in (kept / "err-read-only").read_text()
        assert again == made.code, (err, (kept / "err-again").read_text())
        run = read_run(kept / "disk" / "RUN")
        assert run.complete
        if verb == "live":
            assert not run.failures
            assert [keys(one) for one in run.samples] == [keys(s) for s in read_run(whole).samples]
        else:
            assert run.samples == read_run(whole).samples
    assert n_full >= 3, "the disks were too large"


def keys(sample: Sample) -> tuple[str, int, int]:
    return sample.trial, sample.repeat, sample.size_bytes


def on_a_disk(argv: tuple[str, ...], n_bytes: int, folder: Path) -> Path:
    """The folder of what a command said on a tmpfs of so many bytes, and of what was on it."""
    kept = folder / f"of-{n_bytes}"
    (kept / "mounted").mkdir(parents=True)
    (kept / "next").write_text(NEXT)
    ran = subprocess.run(
        [
            *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ON_A_DISK, "sh"),
            *(str(n_bytes), str(kept / "mounted"), *WEFT, *argv),
        ],
        env={**os.environ, "KEPT": str(kept), "WEFT": shlex.join(WEFT)},
        stdout=subprocess.DEVNULL,
        timeout=LIMIT_S,
        check=False,
    )
    if ran.returncode == 77 or not (kept / "code").exists():
        pytest.skip("this sandbox mounts no tmpfs in a namespace of a user")
    return kept


CLUSTER = """
mount -t tmpfs -o size=$1k weft "$2" || exit 77
export XDG_STATE_HOME="$2/state"
$WEFT cluster up --local 2 --name filled 2> "$2.err"; echo $? > "$2.code"
mount -o remount,size=20m "$2"
sh -c "$NEXT" 2> "$2.err-again"; echo $? > "$2.code-again"
$WEFT cluster down filled
"""


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [4, 8, 16, 24, 32, 40])
def test_a_cluster_comes_up_once_its_disk_has_room(tmp_path: Path, kilobytes: int) -> None:
    if os.geteuid() != 0:
        pytest.skip("virtual hosts below another mount namespace need root")
    need("unshare", "ip", "sshd", package="util-linux iproute2 openssh-server", path=SBIN)
    disk = tmp_path / "disk"
    disk.mkdir()
    line = f"eval $WEFT $(sed -n 's/^  next: weft //p' {disk}.err)"
    ran = subprocess.run(
        ["unshare", "--mount", "sh", "-c", CLUSTER, "sh", str(kilobytes), str(disk)],
        env={**os.environ, "WEFT": shlex.join(WEFT), "NEXT": line},
        stdout=subprocess.DEVNULL,
        timeout=LIMIT_S,
        check=False,
    )
    if ran.returncode == 77:
        pytest.skip("this sandbox mounts no tmpfs")
    err = Path(f"{disk}.err").read_text()
    assert int(Path(f"{disk}.code").read_text()) == 3, err
    assert "\n  next: weft cluster up --local 2 --name filled" in err
    assert int(Path(f"{disk}.code-again").read_text()) == 0, Path(f"{disk}.err-again").read_text()
