"""Feed readers damaged samples of their files: none may raise, hang, or make a figure up.

Input i of a reader depends on the seed, the reader's name and i alone: `--only i` repeats it.

Hypothesis cannot do this: a million damaged real files a reader, on all cores, each held to limits
of CPU time and memory. Hypothesis tests the laws of readers: tests/unit/results/test_read_laws.py.
"""

import argparse
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz_documents import DOCUMENT_LIMIT_S, document_readers
from fuzz_images import image_readers
from fuzz_mutations import Reader
from fuzz_results import result_readers
from fuzz_settings import setting_readers
from fuzz_topology import topology_readers
from fuzz_training import chakra_readers, training_readers

from weft.core.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "fuzz"
HANG_S = 60.0
MEMORY_LIMIT_BYTES = 1 << 30
"""What a reader may add to the process it runs in; one that needs more for a few kilobytes fails
instead of taking the machine with it."""
_CHUNK = 10_000
"""Inputs a child; each imports for itself what its verbs need."""


@dataclass(slots=True)
class Tally:
    """Counts of outcomes."""

    n_inputs: int = 0
    n_with_rows: int = 0
    cpu_s: float = 0.0
    slowest_s: float = 0.0
    slowest: int = -1
    failures: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Add the outcomes of other inputs."""
        self.n_inputs += other.n_inputs
        self.n_with_rows += other.n_with_rows
        self.cpu_s += other.cpu_s
        self.failures += other.failures
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest = other.slowest_s, other.slowest


def readers() -> list[Reader]:
    """All readers."""
    return [*text_readers(), *confined_readers()]


def confined_readers() -> list[Reader]:
    """Of documents, and of images of containers: each input may ask for much memory."""
    return [*document_readers(), *image_readers()]


def text_readers() -> list[Reader]:
    """Of result files by tool, of training logs by tool, of topology files, and of settings by kind
    of job."""
    logs = [*training_readers(), *chakra_readers()]
    return [*result_readers(), *logs, *topology_readers(), *setting_readers()]


def input_of(reader: Reader, others: list[list[str]], seed: int, i: int) -> bytes:
    """Input number i of a reader."""
    rng = random.Random(f"{seed}:{reader.name}:{i}")  # noqa: S311 no secret depends on it
    return reader.damage(rng, rng.choice(reader.pieces), others)


class Hang(BaseException):
    """An input took longer than any machine is slow."""


def _raise_hang(_signal: int, _frame: FrameType | None) -> None:
    raise Hang


def feed(reader: Reader, data: bytes, i: int, tally: Tally) -> None:
    """Read one input and count its outcome."""
    tally.n_inputs += 1
    signal.setitimer(signal.ITIMER_REAL, HANG_S)
    start = time.process_time()
    found, reason = False, ""
    try:
        found, reason = reader.outcome(data, i)
    except InputError:
        pass
    except (Exception, Hang) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        reason = f"{type(error).__name__} at {where}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    took = time.process_time() - start
    tally.cpu_s += took
    tally.n_with_rows += found
    if took > tally.slowest_s:
        tally.slowest_s, tally.slowest = took, i
    if took > reader.limit_s:
        tally.failures.append((i, f"took {took:.2f} s"))
    if reason:
        tally.failures.append((i, reason))


Job = tuple[Reader, list[list[str]], int, int, int]
"""A reader, pieces of others, the seed, the first input, and the one behind the last."""


def run_range(job: Job, at: "Progress | None" = None) -> Tally:
    """Feed the inputs from one number to another."""
    reader, others, seed, first, last = job
    signal.signal(signal.SIGALRM, _raise_hang)
    tally = Tally()
    for i in range(first, last):
        if at is not None:
            at.begin(i)
        feed(reader, input_of(reader, others, seed, i), i, tally)
    return tally


class Progress:
    """The input that a child is at, seen from outside; each has its own limit of CPU time."""

    def __init__(self) -> None:
        self.input = multiprocessing.Value("q", 0)

    def begin(self, i: int) -> None:
        """Input i comes next."""
        self.input.value = i
        usage = resource.getrusage(resource.RUSAGE_SELF)
        seconds = int(usage.ru_utime + usage.ru_stime + DOCUMENT_LIMIT_S) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def run_confined(job: Job) -> Tally:
    """As `run_range`, in children under limits of memory and CPU time, each in a folder of its own.
    The input that kills one is a failure, and the next child goes on behind it."""
    reader, others, seed, first, last = job
    total = Tally()
    while first < last:
        done = _of_a_child((reader, others, seed, first, last))
        total.add(done)
        first += done.n_inputs
    return total


def _of_a_child(job: Job) -> Tally:
    """The tally up to the input that kills the child, or of all."""
    at, first = Progress(), job[3]
    receiver, sender = multiprocessing.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as folder:
        child = multiprocessing.Process(target=_in_child, args=(job, at, folder, sender))
        child.start()
        sender.close()
        try:
            tally: Tally = receiver.recv()
            child.join()
        except EOFError:
            child.join()
            killer = max(first, at.input.value)
            reason = f"killed: exit code {child.exitcode}"
            tally = Tally(killer + 1 - first, failures=[(killer, reason)])
    return tally


def _in_child(job: Job, at: Progress, folder: str, sender: Any) -> None:
    os.chdir(folder)
    # The child is forked: libraries of a test's process alone may map over a gigabyte, and then the
    # stack of a deep document could not grow.
    n_bytes = _mapped_bytes() + MEMORY_LIMIT_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sender.send(run_range(job, at))


def _mapped_bytes() -> int:
    n_pages = int(Path("/proc/self/statm").read_text().split()[0])
    return n_pages * resource.getpagesize()


def campaign(reader: Reader, others: list[list[str]], n: int, seed: int, jobs: int) -> Tally:
    """Feed n inputs to one reader, with progress on stderr."""
    ranges = [(reader, others, seed, i, min(i + _CHUNK, n)) for i in range(0, n, _CHUNK)]
    total = Tally()
    started = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        for done in pool.map(run_confined, ranges):
            total.add(done)
            _progress(reader, total, n, started)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return total


def _progress(reader: Reader, total: Tally, n: int, started: float) -> None:
    """On a terminal always the last state, in a log a line now and then."""
    rate = total.n_inputs / max(time.monotonic() - started, 1e-9)
    left_min = (n - total.n_inputs) / rate / 60
    text = f"{reader.name}: {total.n_inputs:,} of {n:,}, {rate:,.0f}/s, {left_min:.1f} min"
    if sys.stderr.isatty():
        print(f"\r{text}", end="   ", file=sys.stderr, flush=True)
    elif total.n_inputs % (10 * _CHUNK) == 0:
        print(text, file=sys.stderr, flush=True)


def _report(reader: Reader, total: Tally, seed: int) -> None:
    share = 100 * total.n_with_rows / max(total.n_inputs, 1)
    print(
        f"| {reader.name} | {len(reader.pieces)} | {total.n_inputs:,} | {share:.0f} % "
        f"| {len(total.failures)} | {1e3 * total.slowest_s:.1f} (input {total.slowest}) "
        f"| {1e6 * total.cpu_s / max(total.n_inputs, 1):.0f} |",
        flush=True,
    )
    for i, reason in total.failures[:20]:
        print(f"  FAILED --reader '{reader.name}' --seed {seed} --only {i}: {reason}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="inputs a reader")
    parser.add_argument("--reader", action="append", help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", type=int, help="feed this input alone, and save it")
    return parser.parse_args()


def _save(reader: Reader, data: bytes, name: str) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{reader.name.replace(' ', '_')}-{name}.bin"
    path.write_bytes(data)
    print(f"  saved {path.relative_to(ROOT)}", flush=True)


def main() -> int:
    """Feed every reader; 1 where any failed."""
    arguments = _arguments()
    everything = readers()
    chosen = [r for r in everything if not arguments.reader or r.name in arguments.reader]
    if not chosen:
        print(f"no such reader; there are {[r.name for r in everything]}", file=sys.stderr)
        return 2
    # Runs have times in them, and an input must stay the same.
    others = [piece.split("\n") for other in text_readers() for piece in other.pieces]
    if arguments.only is not None:
        data = input_of(chosen[0], others, arguments.seed, arguments.only)
        _save(chosen[0], data, str(arguments.only))
        only = (chosen[0], others, arguments.seed, arguments.only, arguments.only + 1)
        total = run_confined(only)
        _report(chosen[0], total, arguments.seed)
        return int(bool(total.failures))
    _estimate(chosen, others, arguments)
    print("| reader | samples | inputs | with rows | failures | slowest ms | mean us |")
    print("|---|---|---|---|---|---|---|", flush=True)
    failed = False
    for reader in chosen:
        total = campaign(reader, others, arguments.inputs, arguments.seed, arguments.jobs)
        _report(reader, total, arguments.seed)
        for i, _ in total.failures[:20]:
            _save(reader, input_of(reader, others, arguments.seed, i), f"{arguments.seed}-{i}")
        failed |= bool(total.failures)
    return int(failed)


def _estimate(chosen: list[Reader], others: list[list[str]], arguments: argparse.Namespace) -> None:
    """Say on stderr how long this will take, from twenty inputs each."""
    n, each_s = 20, 0.0
    for reader in chosen:
        tally = run_confined((reader, others, arguments.seed, 0, n))
        # The slowest one imports all that the others need.
        each_s += (tally.cpu_s - tally.slowest_s) / (n - 1)
    total_min = each_s * arguments.inputs / arguments.jobs / 60
    print(f"{len(chosen)} readers, about {total_min:.0f} min", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
