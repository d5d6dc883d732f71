"""Readers of training logs: their samples, cut into pieces, and laws of what they read."""

import io
import json
import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from fuzz_mutations import Lines, Reader, mutated_sample

from weft.bench.twin.gpu.chakra_program import chakra_program
from weft.catalog.load import platform
from weft.cli.output import printable
from weft.cli.train.read_text import logs_text
from weft.results.training.log_reader import read_training_stream
from weft.results.training.model import TrainingLog, TrainingRun
from weft.trace.chakra.files import ChakraTrace, read_nodes
from weft.trace.chakra.node import (
    COLLECTIVE,
    COMP,
    METADATA,
    RECV,
    SEND,
    ChakraNode,
    encode_metadata,
    encode_node,
)
from weft.trace.chakra.wire import varint
from weft.train.log.given_figures import GivenFigures
from weft.train.log.judged_log import JudgedLog
from weft.train.log.judged_run import judge_run
from weft.train.log.record import log_record, reading_rows

SAMPLES = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "training"
_HEADING_LINES, _STEP_LINES = 9, 8
_PIECE_CHARACTERS = 6000
_JUDGED = 64
"""Of so many inputs one is judged and printed: that takes longer than reading it."""


def training_readers() -> list[Reader]:
    """One a format that has a sample."""
    return [
        Reader(f"training: {path.stem}", tuple(_pieces(path)), mutated_sample, partial(outcome))
        for path in sorted(SAMPLES.iterdir())
        if path.suffix in (".log", ".csv")
    ]


def chakra_readers() -> list[Reader]:
    """Of a GPU's file of a Chakra trace, as hexadecimal digits."""
    step = ChakraNode(1, "forward", COMP, (), 900, {"is_cpu_op": False})
    sum_ = {"comm_type": 0, "comm_size": 1 << 20, "pg_name": "1", "is_cpu_op": False}
    nodes = [
        step,
        ChakraNode(2, "gradients", COLLECTIVE, (1,), 0, sum_),
        ChakraNode(3, "activations", SEND, (1,), 0, {"comm_size": 4096, "comm_dst": 1}),
        ChakraNode(4, "activations", RECV, (), 0, {"comm_size": 4096, "comm_src": 1}),
        ChakraNode(5, "backward", COMP, (2, 4), 1800),
    ]
    messages = [encode_metadata(), *map(encode_node, nodes)]
    content = b"".join(varint(len(one)) + one for one in messages)
    return [Reader("training: chakra", (content.hex(),), _damaged_hex, chakra_outcome)]


def _damaged_hex(rng: random.Random, sample: str, _: Sequence[Lines]) -> bytes:
    """Bits, bytes and lengths of the file become others."""
    data = bytearray.fromhex(sample)
    # Most damage of a binary file leaves nothing to read: most files have one byte changed.
    for _i in range(rng.choice((1, 1, 1, 4))):
        at = rng.randrange(len(data))
        kind = rng.choice((0, 0, 0, 0, 1, 2, 3))
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice((0, 1, 127, 128, 255))
        elif kind == 2:
            data[at:at] = rng.randbytes(rng.randint(1, 12))
        else:
            del data[at : at + rng.randint(1, 12)]
        if not data:
            break
    return bytes(data)


def chakra_outcome(data: bytes, _: int) -> tuple[bool, str]:
    """Whether a file has nodes that a twin repeats, and the fault of the program."""
    version, nodes = read_nodes(data)
    trace = ChakraTrace(Path("input"), (tuple(nodes), ()), {"1": (0, 1)}, version)
    program = chakra_program(trace, platform("azure-ndv5"), 8)
    kept = program.n_repeated + program.left_out.total()
    return True, "" if kept >= sum(one.kind != METADATA for one in nodes) else "nodes are lost"


def _pieces(path: Path) -> Iterator[str]:
    """The heading with the first steps; and steps further down with the heading before them."""
    text = path.read_text()
    lines = text.split("\n")
    if len(lines) < _HEADING_LINES + _STEP_LINES:
        yield text[:_PIECE_CHARACTERS]
        return
    yield "\n".join(lines[: _HEADING_LINES + _STEP_LINES])
    middle = len(lines) // 2
    yield "\n".join(lines[:_HEADING_LINES] + lines[middle : middle + _STEP_LINES])


def outcome(data: bytes, i: int) -> tuple[bool, str]:
    """Whether a log has steps, and the fault of what was read."""
    log = read_training_stream(io.BytesIO(data), "input")
    reason = next(_complaints(log, data), "")
    if not reason and i % _JUDGED == 0:
        judged = JudgedLog(log, tuple(judge_run(run, GivenFigures()) for run in log.runs))
        if "\x1b" in printable(logs_text([judged])):
            reason = "an escape reaches the terminal"
        json.dumps(log_record(log, judged.runs), allow_nan=False)
        json.dumps(reading_rows("input", 1, judged.runs[0]), allow_nan=False)
    return bool(log.runs), reason


def _complaints(log: TrainingLog, data: bytes) -> Iterator[str]:
    n_lines = data.count(b"\n") + 1
    for run in log.runs:
        yield from _wrong_columns(run)
        if not 1 <= run.first_line <= run.last_line <= n_lines:
            yield f"lines {run.first_line} to {run.last_line} of {n_lines}"
        facts = run.facts
        for stated in (facts.sequence, facts.batch, facts.batch_per_gpu, facts.gpus):
            if stated is not None and not (stated.value > 0 and 1 <= stated.line <= n_lines):
                yield f"a figure of {stated}"


def _wrong_columns(run: TrainingRun) -> Iterator[str]:
    if not (np.isfinite(run.times_s).all() and (run.times_s > 0).all()):
        yield f"step times {run.times_s}"
    if run.steps.size > 1 and (np.diff(run.steps) <= 0).any():
        yield f"steps {run.steps}"
    if not (np.isfinite(run.n_steps).all() and (run.n_steps >= 1).all()):
        yield f"numbers of steps {run.n_steps}"
    if (run.batches <= 0).any():
        yield f"batches {run.batches}"
