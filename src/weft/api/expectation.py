"""`weft.expect`: what a path or a collective should deliver, as `weft expect` does."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.api.questions import asked, usual
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.doctor.machine.detection.document import HERE, platform_named
from weft.expect.model import Conditions, Expectation
from weft.expect.names import OWN, parse_benchmark
from weft.expect.prediction import predict

Predictions = Sequence[tuple[Conditions, Expectation]]

WINDOW = 64
"""Messages in flight at once, where nobody says more: OSU's."""


@dataclass(frozen=True, slots=True)
class PlatformQuestion:
    """A platform by the name that was given, and a benchmark (None: the usual ones). `topology`: a
    file of a node, for a libnccl.so that is asked."""

    name: str
    document: Platform
    benchmark: str | None
    topology: Path | None = None


def expect(
    platform: str | os.PathLike[str] = HERE,
    benchmark: str | None = None,
    *,
    size: str | int | None = None,
    n_nodes: int | None = None,
    tasks_per_node: int | None = None,
    gpus: int | None = None,
    memory: str | None = None,
    library: str | None = None,
    algorithm: str = "",
    protocol: str = "",
    nccl_version: str = "",
    window: int = WINDOW,
    n_hcas: int | None = None,
    transport: str | None = None,
    gpudirect: bool = True,
) -> Predictions:
    """What should this path or collective deliver, and what limits it?

    `platform`: a name of the catalogue, a .toml file, or 'here'. `benchmark`: a name of weft, OSU,
    nccl-tests or perftest; None for the usual ones. `size`: bytes, or '8', '64K,1M', '8:4M'. The
    others are the options of `weft expect`. A pair for each question: its conditions, and the value
    with its unit, interval and bound. A platform with GPUs answers for NCCL and for MPI. Raises
    InputError where no closed form covers the question.
    """
    name = os.fspath(platform)
    question = PlatformQuestion(name, platform_named(name), benchmark)
    found, _ = predictions(
        question,
        {
            "size": None if size is None else str(size),
            "n_nodes": n_nodes,
            "tasks_per_node": tasks_per_node,
            "gpus": gpus,
            "memory": memory,
            "library": library,
            "libnccl": None,
            "algorithm": algorithm,
            "protocol": protocol,
            "nccl_version": nccl_version,
            "window": window,
            "n_hcas": n_hcas,
            "transport": transport,
            "without_gpudirect": not gpudirect,
        },
    )
    return found


def predictions(question: PlatformQuestion, given: Mapping[str, Any]) -> tuple[Predictions, str]:
    """(conditions, expectation) of each question of the options of `weft expect`, and where a
    libnccl.so was asked a line that says so. Raises InputError."""
    options = dict(given)
    if question.benchmark is None:
        questions = usual(question.document, options)
    else:
        name, library = parse_benchmark(question.benchmark)
        is_own = question.benchmark.lower().replace("-", "_") in OWN
        questions = asked(question.document, name, library, options, own_name=is_own)
    asked_of, libnccl = "", options["libnccl"]
    if libnccl is not None:
        from weft.api.library_choice import by_library

        questions, asked_of = by_library(questions, question.name, libnccl, question.topology)
    elif question.topology is not None:
        raise InputError("--topo goes with --libnccl")
    return [(one, predict(question.document, one)) for one in questions], asked_of
