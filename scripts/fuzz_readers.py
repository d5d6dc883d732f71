"""Feed readers damaged samples of their files: none may raise, hang, or make a figure up.

Input i of a reader depends on the seed, the reader's name and i alone: `--only i` repeats it.

Hypothesis cannot do this: a million damaged real files a reader, on all cores, each held to limits
of CPU time and memory. Hypothesis tests the laws of readers: tests/unit/results/test_read_laws.py.
"""

import argparse
import json
import math
import multiprocessing
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

import fuzz_mutations
import fuzz_topology
from fuzz_settings import setting_outcome, setting_pieces

from weft.core.errors import InputError
from weft.results.model import ResultFile
from weft.results.result_file import read_results_text

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "tests" / "fixtures" / "results"
OUT = ROOT / "target" / "fuzz"
TIME_LIMIT_S = 1.0
"""CPU time an input of a few kilobytes may take; a reader whose cost is not linear exceeds it."""
HANG_S = 20.0
MEMORY_LIMIT_BYTES = 2 << 30
"""A reader that needs more for a few kilobytes fails instead of taking the machine with it."""
_PIECE_LINES = 11
_PIECE_BYTES = 1000
_SAMPLED = 64
"""Of so many inputs one is read twice and written as JSON."""
_CHUNK = 2000


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader with its input: pieces that it recognises, whole or as text of a JSON document.

    `outcome` reads input number i: whether it found anything, and the fault of that.
    """

    name: str
    tool: str
    is_json: bool
    pieces: tuple[str, ...]
    outcome: Callable[[bytes, int], tuple[bool, str]]


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
    """Of result files those that have a sample under tests/fixtures/results, by name; the others
    behind them."""
    topology, description = fuzz_topology.topology_outcome, fuzz_topology.description_outcome
    return [
        *result_readers(),
        Reader("topology file", "", False, fuzz_topology.topology_pieces(), topology),
        Reader("lspci, lstopo", "", False, fuzz_topology.description_pieces(), description),
        *(
            Reader(f"settings: {kind}", kind.value, False, pieces, partial(setting_outcome, kind))
            for kind, pieces in setting_pieces().items()
        ),
    ]


def result_readers() -> list[Reader]:
    """Readers of result files that have a sample, by name."""
    pieces: dict[tuple[str, bool], dict[str, None]] = {}
    for path in sorted(SAMPLES.glob("*/*")):
        if path.suffix == ".md" or not path.is_file():
            continue
        for piece in _pieces(path):
            for tool in _tools(piece):
                pieces.setdefault((tool, _is_json(piece)), {})[piece] = None
    return [
        Reader(
            tool + (" (JSON)" if is_json else ""),
            tool,
            is_json,
            tuple(found),
            partial(result_outcome, tool),
        )
        for (tool, is_json), found in sorted(pieces.items())
    ]


def _is_json(text: str) -> bool:
    """Whether a document, or one a line, begins here."""
    return text.lstrip().lstrip("[").lstrip()[:1] == "{"


def _tools(piece: str) -> set[str]:
    """The tools whose rows are found in a piece."""
    try:
        results = read_results_text(piece.encode(), "piece")
    except InputError:
        return set()
    return {table.tool for table in results.tables if table.rows}


def _pieces(path: Path) -> Iterator[str]:
    """The sample itself where it is short, else its tables' headings with some of their rows."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if len(text) <= _PIECE_BYTES:
        yield text
        return
    if _is_json(text):
        yield from _reduced_json(text)
        return
    try:
        results = read_results_text(text.encode(), str(path))
    except InputError:
        return
    lines = text.split("\n")
    for table in results.tables:
        start = table.first_line - 1
        yield "\n".join(lines[start : start + _PIECE_LINES])
        if table.rows:
            row = table.rows[0].line - 1
            head = lines[start : min(start + 6, row)]
            yield "\n".join(head + lines[max(start, row - 6) : row + _PIECE_LINES - 6])


def _reduced_json(text: str) -> Iterator[str]:
    """A document with at most two elements a list; the first lines where each is a document."""
    try:
        yield json.dumps(_reduced(json.loads(text)), indent=1)
    except ValueError:
        yield "\n".join(text.split("\n")[:4])


def _reduced(value: object) -> object:
    if isinstance(value, dict):
        return {key: _reduced(inside) for key, inside in list(value.items())[:30]}
    if isinstance(value, list):
        return [_reduced(inside) for inside in value[:2]]
    return value


def input_of(reader: Reader, others: list[list[str]], seed: int, i: int) -> bytes:
    """Input number i of a reader."""
    rng = random.Random(f"{seed}:{reader.name}:{i}")  # noqa: S311 no secret depends on it
    piece = rng.choice(reader.pieces)
    if reader.is_json:
        return fuzz_mutations.mutated_json(rng, piece, others)
    return fuzz_mutations.mutated_text(rng, piece.split("\n"), others)


class Hang(BaseException):
    """An input took longer than any machine is slow."""


def _raise_hang(_signal: int, _frame: FrameType | None) -> None:
    raise Hang


def complaints(results: ResultFile, data: bytes) -> Iterator[str]:
    """Faults of a result."""
    n_lines = max(data.count(b"\n"), data.count(b"\r")) + 1
    lines = [unread.line for unread in results.unread]
    for table in results.tables:
        lines.append(table.first_line)
        for count in (table.n_ranks, table.n_nodes, table.tasks_per_node):
            if count is not None and (type(count) is not int or count < 1):
                yield f"{table.tool}: a count of {count!r}"
        for row in table.rows:
            lines.append(row.line)
            size = row.size_bytes
            if size is not None and (type(size) is not int or not 0 <= size < 2**63):
                yield f"{table.tool}: a size of {size!r}"
            for name, value in row.metrics.items():
                if type(value) is not float or not 0 <= value < math.inf:
                    yield f"{table.tool}: {name} is {value!r} at line {row.line}"
    for line in lines:
        if not 1 <= line <= n_lines:
            yield f"line {line} of {n_lines}"


def result_outcome(tool: str, data: bytes, i: int) -> tuple[bool, str]:
    """Whether a result file has rows of the tool, and its fault."""
    results = read_results_text(data, "input")
    reason = next(complaints(results, data), "")
    if not reason and i % _SAMPLED == 0:
        json.dumps(results.to_record(), allow_nan=False)
        if read_results_text(data, "input").to_record() != results.to_record():
            reason = "a second reading differs"
    return any(table.tool == tool and table.rows for table in results.tables), reason


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
    if took > TIME_LIMIT_S:
        tally.failures.append((i, f"took {took:.2f} s"))
    if reason:
        tally.failures.append((i, reason))


def run_range(job: tuple[Reader, list[list[str]], int, int, int]) -> Tally:
    """Feed the inputs from one number to another."""
    reader, others, seed, first, last = job
    signal.signal(signal.SIGALRM, _raise_hang)
    tally = Tally()
    for i in range(first, last):
        feed(reader, input_of(reader, others, seed, i), i, tally)
    return tally


def campaign(reader: Reader, others: list[list[str]], n: int, seed: int, jobs: int) -> Tally:
    """Feed n inputs to one reader, with progress on stderr."""
    ranges = [(reader, others, seed, i, min(i + _CHUNK, n)) for i in range(0, n, _CHUNK)]
    total = Tally()
    started = time.monotonic()
    with multiprocessing.Pool(jobs) as pool:
        for done in pool.imap(run_range, ranges):
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
    elif total.n_inputs % (50 * _CHUNK) == 0:
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
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    everything = readers()
    chosen = [r for r in everything if not arguments.reader or r.name in arguments.reader]
    if not chosen:
        print(f"no such reader; there are {[r.name for r in everything]}", file=sys.stderr)
        return 2
    others = [piece.split("\n") for other in everything for piece in other.pieces]
    if arguments.only is not None:
        data = input_of(chosen[0], others, arguments.seed, arguments.only)
        _save(chosen[0], data, str(arguments.only))
        total = run_range((chosen[0], others, arguments.seed, arguments.only, arguments.only + 1))
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
    """Say on stderr how long this will take, from a hundred inputs each."""
    started = time.monotonic()
    n = 100
    for reader in chosen:
        run_range((reader, others, arguments.seed, 0, n))
    each_s = (time.monotonic() - started) / n
    total_min = each_s * arguments.inputs / arguments.jobs / 60
    print(f"{len(chosen)} readers, about {total_min:.0f} min", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
