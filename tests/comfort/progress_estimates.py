"""How good the time left is that weft shows: one command in a process of its own, watched.

    progress_estimates.py FOLDER [--only WORD]

The child writes where its work stood, ten times a second. Of a command that takes T seconds, the
estimate is the one that a user sees after T / 3, or after the first three seconds, in which weft
shows nothing. On a machine with other load, wall time is no measure of work: so the same is asked
of CPU time, after a third of what the process takes.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.cli.progress.watch import SHORT_S

_CHILD = """
import json, os, sys, threading, time
from weft.core.work.progress import WorkStanding
began, over, seen, began_cpu = time.monotonic(), threading.Event(), [], [None]
def look():
    while not over.wait(0.1):
        at = WorkStanding.now()
        pace = None if at is None or at.share <= 0 else (1 - at.share) / at.share
        left_s = None if at is None else at.left_s
        if at is not None and began_cpu[0] is None:
            began_cpu[0] = time.process_time()
        cpu_s = None if pace is None else (time.process_time() - began_cpu[0]) * pace
        what = None if at is None else at.task.what
        seen.append([time.monotonic() - began, time.process_time(), left_s, cpu_s, what])
threading.Thread(target=look, daemon=True).start()
sys.argv[0] = "weft"
from weft.cli import main
try:
    main()
finally:
    over.set()
    with open(os.environ["WEFT_TEST_SEEN"], "w") as file:
        json.dump([time.monotonic() - began, time.process_time(), seen], file)
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one command its time, and after a third of it (`SHORT_S` at least) the time that it said
    was left, None where it said nothing; the same of a third of its CPU time."""

    seconds: float
    said_left_s: float | None
    task: str | None
    cpu_s: float = 0.0
    said_left_cpu_s: float | None = None

    @property
    def left_s(self) -> float:
        """What was left then."""
        return self.seconds - _moment(self.seconds)

    @property
    def factor(self) -> float:
        """By how much the estimate is off, 1 for not at all."""
        return _factor(self.said_left_s, self.left_s)

    @property
    def cpu_factor(self) -> float:
        """By how much the estimate of the CPU time is off."""
        return _factor(self.said_left_cpu_s, self.cpu_s * 2 / 3)


def _moment(seconds: float) -> float:
    """When the estimate of a command that takes so long is looked at."""
    return max(seconds / 3, SHORT_S)


def _factor(said_s: float | None, left_s: float) -> float:
    return max(said_s / left_s, left_s / said_s) if said_s and left_s else float("inf")


def watched(argv: Sequence[str], seen: Path, env: Mapping[str, str] | None = None) -> Estimate:
    """Run `weft argv` to its end, and take the estimate at a third of its time."""
    around = {**os.environ, **(env or {}), "WEFT_TEST_SEEN": str(seen)}
    command = [sys.executable, "-c", _CHILD, *argv]
    done = subprocess.run(
        command,
        check=False,
        env=around,
        capture_output=True,
        text=True,
        timeout=900,
        cwd=seen.parent,
    )
    assert done.returncode in (0, 1, 5), (argv, done.returncode, done.stderr[-2000:])
    seconds, cpu_s, looks = json.loads(seen.read_text("utf-8"))
    _, _, left_s, _, task = min(looks, key=lambda look: abs(look[0] - _moment(seconds)))
    left_cpu_s = min(looks, key=lambda look: abs(look[1] - cpu_s / 3))[3]
    return Estimate(seconds, left_s, task, cpu_s, left_cpu_s)


def table(found: Mapping[str, Estimate]) -> str:
    """A line a command."""
    head = f"{'command':44s}  {'took':>7s}  {'left':>7s}  {'said':>7s}  {'off by':>7s}"
    lines = [f"{head}  {'CPU':>7s}  {'off by':>7s}"]
    for name, one in found.items():
        said = "-" if one.said_left_s is None else f"{one.said_left_s:.1f} s"
        lines.append(
            f"{name:44s}  {one.seconds:5.1f} s  {one.left_s:5.1f} s  {said:>7s}  {one.factor:7.2f}"
            f"  {one.cpu_s:5.1f} s  {one.cpu_factor:7.2f}"
        )
    return "\n".join(lines)


_BENCH = "bench allreduce --twin frontera --nodes 64 --repeats 300"
MADE: Mapping[str, str] = {
    "fabric.json": "fabric generate frontera --nodes 8008 --whole -o fabric.json",
    "net.txt": "fabric export fabric.json --to ibsim -o net.txt",
    "a": f"{_BENCH} --dir a",
    "b": f"{_BENCH} --seed 2 --dir b",
}
"""Files that the commands read, and the commands that write them."""
COMMANDS = (
    "report a b -o page.html",
    "judge big.txt",
    "judge files",
    "train read steps.log",
    "train plan azure-ndv5 --model grok-1 --sweep 8:16384",
    "check --twin frontera --nodes 128 --dir out",
    "check --twin frontera --nodes 512 --dir out",
    "check --twin fat-tree --nodes 256 --plant 'n007 slow=1.5' --dir out",
    "check --twin azure-hbv4 --nodes 128 --dir out",
    "bench allreduce --twin frontera --nodes 128 --repeats 80 --dir out",
    "bench alltoall --twin frontera --nodes 32 --repeats 120 --dir out",
    "bench broadcast --twin azure-hbv4 --nodes 64 --repeats 400 --dir out",
    "bench allgather --twin fat-tree --nodes 48 --repeats 60 --dir out",
    "study run placement --twin frontera --repeats 4 --dir out",
    "bench reduce --twin fat-tree --nodes 64 --repeats 400 --dir out",
    "fabric route net.txt",
    "fabric route fabric.json --engine minhop",
    "fabric route fabric.json",
    "fabric what-if fabric.json --without director-06/spine-20",
    "fabric what-if net.txt --without director-06/spine-20 --without director-06/spine-19",
)
N_SWEEPS, N_FILES, N_STEPS = 120_000, 2_000, 400_000


def _sweep(of: int) -> str:
    """A sweep of osu_latency; no two are alike."""
    rows = (f"{1 << k:<22}{1.2 + (1 << k) / 12_000 * (1 + of % 97 / 970):.2f}" for k in range(22))
    head = "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n"
    return head + "\n".join(rows) + "\n"


def _steps(count: int) -> Iterator[str]:
    """Lines of Megatron-LM, some 130 bytes each."""
    for step in range(1, count + 1):
        ms = 800 + step * 7919 % 97 / 10
        yield (
            f" iteration {step:8d}/ 9000000 | consumed samples: {step * 512:12d} | elapsed time per"
            f" iteration (ms): {ms:.1f} | global batch size:   512 | lm loss: 2.1E+00 |\n"
        )


def main() -> None:
    """A row a command, printed as it ends."""
    folder, only = Path(sys.argv[1]).resolve(), sys.argv[3] if len(sys.argv) > 3 else ""
    (folder / "files").mkdir(parents=True, exist_ok=True)
    with (folder / "steps.log").open("w") as log:
        log.writelines(_steps(N_STEPS))
    (folder / "big.txt").write_text("".join(map(_sweep, range(N_SWEEPS))))
    for number in range(N_FILES):
        (folder / "files" / f"r{number}.txt").write_text(_sweep(number))
    for name, words in MADE.items():
        argv = [sys.executable, "-m", "weft.cli", *shlex.split(words)]
        if not (folder / name).exists():
            subprocess.run(argv, check=False, cwd=folder)
    head = table({}).splitlines()[0]
    print(head, flush=True)
    for command in COMMANDS:
        if only in command:
            shutil.rmtree(folder / "out", ignore_errors=True)
            one = watched(shlex.split(command), folder / "seen.json")
            print(table({command: one}).splitlines()[1], one.task, flush=True)


if __name__ == "__main__":
    main()
