"""What `weft expect` is asked: conditions of one benchmark, or of the usual ones of a machine.

A machine with GPUs is asked about its GPUs first: NCCL, then MPI from GPU memory; MPI from host
memory comes second.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from weft.catalog.libraries.nccl import ALGORITHMS as NCCL_ALGORITHMS
from weft.catalog.load import benchmark as benchmark_document
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.core.units import parse_size_range
from weft.expect.algorithms import ALGORITHMS as MPI_ALGORITHMS
from weft.expect.collectives import algorithms_of
from weft.expect.model import Conditions, Library
from weft.expect.nccl.collectives import plain
from weft.expect.nccl.p2p import SENDS
from weft.expect.nccl.topology import is_of_amd
from weft.expect.nccl.tuner import USES

USUAL_NCCL_BYTES = 1 << 30
USUAL_SMALL_BYTES = 8
USUAL = ("latency", "bandwidth", "message_rate", "allreduce")
"""What a machine is asked without a benchmark."""
OF_NCCL = ("nccl_version", "libnccl", "protocol", "gpus")
"""Options that only NCCL has."""


def asked(
    document: Platform, benchmark: str, library: Library, given: dict[str, Any], *, own_name: bool
) -> list[Conditions]:
    """The conditions of a benchmark, one or more sizes each. `own_name`: it is weft's name, which
    says nothing of the library. Raises InputError where options contradict one another."""
    questions = [(library, given)]
    if own_name and document.gpus is not None and not (given["library"] or given["memory"]):
        questions = _by_library(document, benchmark, given)
    return [
        one
        for library, own in questions
        for one in _sized(_conditions(document, benchmark, library, own), own["size"])
    ]


def _by_library(
    document: Platform, benchmark: str, given: dict[str, Any]
) -> list[tuple[Library, dict[str, Any]]]:
    """(library, options) of a benchmark that NCCL, MPI from GPU memory or from host memory runs."""
    by_nccl = benchmark in (*USES, *SENDS)
    if any(given[name] for name in OF_NCCL):
        return [("nccl" if by_nccl else "mpi", given)]
    if not by_nccl:
        if benchmark in MPI_ALGORITHMS:
            return [("mpi", given)]
        memories = ("gpu",) if given["without_gpudirect"] else ("gpu", "host")
        return [("mpi", {**given, "memory": memory}) for memory in memories]
    asks_mpi = not given["without_gpudirect"]
    gpus = document.gpus
    asks_nccl = gpus is not None and (given["tasks_per_node"] or 1) <= gpus.per_node.value
    if given["algorithm"]:
        asks_nccl &= plain(given["algorithm"]) in NCCL_ALGORITHMS
        asks_mpi &= given["algorithm"] in algorithms_of(benchmark) or not asks_nccl
    asked_of: dict[Library, bool] = {"nccl": asks_nccl, "mpi": asks_mpi or not asks_nccl}
    return [(library, given) for library, is_asked in asked_of.items() if is_asked]


def usual(document: Platform, given: dict[str, Any]) -> list[Conditions]:
    """The conditions that a machine is asked about without a benchmark."""
    tests = [
        one
        for name in USUAL
        for one in asked(document, name, "mpi", {**given, "size": None}, own_name=True)
    ]
    alone = [
        replace(one, n_nodes=1)
        for one in tests
        if one.library == "nccl" and document.gpus is not None and document.gpus.per_node.value > 1
    ]
    order = (("nccl", "gpu"), ("mpi", "gpu"), ("mpi", "host"))
    every = [*alone, *tests]
    return sorted(every, key=lambda one: order.index((one.library, one.memory)))


def _conditions(
    document: Platform, benchmark: str, library: Library, given: dict[str, Any]
) -> Conditions:
    """The conditions of all options. Raises InputError where they contradict one another."""
    gpus, n_nodes, tasks = given["gpus"], given["n_nodes"], given["tasks_per_node"]
    library = given["library"] or ("nccl" if gpus and library == "mpi" else library)
    if (gpus or library == "nccl") and document.gpus is None:
        raise InputError(
            f"platform '{document.name}' has no GPUs",
            expected="a platform with [gpus]; `weft platform list` names them",
        )
    if document.gpus is not None and (gpus or library == "nccl"):
        per_node = document.gpus.per_node.whole
        if gpus and tasks is None:
            tasks = gpus // n_nodes if n_nodes else min(gpus, per_node)
        tasks = tasks or per_node
        n_nodes = n_nodes or (-(-gpus // tasks) if gpus else 2)
        if gpus and n_nodes * tasks != gpus:
            raise InputError(
                f"{gpus} GPUs on {n_nodes} nodes",
                expected=f"as many on each; a node has {per_node}",
            )
    _refuse_unused(benchmark, library, given, is_amd=is_of_amd(document))
    cores = document.node.get("cores")
    if cores is not None and (tasks or 1) > cores.value:
        raise InputError(
            f"{tasks} tasks on a node of platform '{document.name}'",
            expected=f"at most {cores.whole}, one a core",
        )
    return Conditions(
        benchmark=benchmark,
        size_bytes=0,
        n_nodes=n_nodes or 2,
        tasks_per_node=tasks or 1,
        memory=given["memory"] or ("gpu" if library == "nccl" else "host"),
        library=library,
        library_version=given["nccl_version"],
        algorithm=given["algorithm"],
        protocol=given["protocol"],
        window=given["window"],
        n_hcas=given["n_hcas"],
        transport=given["transport"] or "",
        gpudirect=not given["without_gpudirect"],
    )


def _refuse_unused(
    benchmark: str, library: Library, given: dict[str, Any], *, is_amd: bool
) -> None:
    """Refuse options without an effect. Raises InputError."""
    nccl = library == "nccl"
    if nccl and is_amd and given["nccl_version"]:
        raise InputError(
            f"--nccl {given['nccl_version']} has no effect on AMD's GPUs, which RCCL runs on: weft"
            " has one model of RCCL",
            expected="the command without --nccl",
        )
    host = (given["memory"] or ("gpu" if nccl else "host")) == "host"
    unused = {
        "--protocol": bool(given["protocol"]) and not nccl,
        "--nccl": bool(given["nccl_version"]) and not nccl,
        "--libnccl": given["libnccl"] is not None and not nccl,
        "--memory host": given["memory"] == "host" and nccl,
        "--algorithm": bool(given["algorithm"]) and not nccl and benchmark not in MPI_ALGORITHMS,
        "--without-gpudirect": given["without_gpudirect"] and host,
        "--size": given["size"] is not None and benchmark == "barrier",
    }
    for option, is_unused in unused.items():
        if is_unused:
            memory = "host" if host else "GPU"
            raise InputError(
                f"{option} does not apply to {benchmark} ({library}, {memory} memory)",
                expected="the command without this option",
            )


def _sized(base: Conditions, size: str | None) -> Sequence[Conditions]:
    """The conditions of each size; without one, the size by which a benchmark is usually quoted."""
    document = benchmark_document(base.benchmark)
    if not document.sizes:
        return [base]
    if size is not None:
        return [replace(base, size_bytes=one) for one in parse_size_range(size)]
    usual_bytes = USUAL_SMALL_BYTES
    if base.library == "nccl":
        usual_bytes = USUAL_NCCL_BYTES
    elif document.headline.startswith("bandwidth"):
        usual_bytes = max(document.sizes_bytes)
    return [replace(base, size_bytes=usual_bytes)]
