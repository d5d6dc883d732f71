"""`weft replay` of a Chakra trace: GPUs on a twin's rails."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.cli.backend.choice import BackendChoice
from weft.cli.output import emit, talk
from weft.core.errors import ExitCode, InputError
from weft.core.words import counted


def replay_chakra(trace: Path, choice: BackendChoice, format_: str, given: dict[str, Any]) -> int:
    """Simulate the trace once, and say how long it takes and what was left out. Raises
    InputError."""
    from weft.bench.twin.gpu.chakra_program import chakra_program
    from weft.bench.twin.gpu.gpu_program import Fidelity, GpuTwin
    from weft.doctor.machine.detection.document import platform_named
    from weft.trace.chakra.files import read_chakra

    _refuse(choice, given)
    platform = platform_named(choice.twin or "")
    read = read_chakra(trace)
    program = chakra_program(read, platform, GpuTwin(platform, 1).gpus_per_node)
    fidelity: Fidelity = "packet" if choice.fidelity == "packet" else "flow"
    _refuse_too_few(program.n_nodes, choice)
    aggressors = tuple(given["aggressors"])
    twin = GpuTwin(
        platform,
        program.n_nodes,
        neighbours=aggressors,
        ranks_per_gpu=len(program.streams),
        n_others=max(0, (choice.nodes or 0) - program.n_nodes),
        seed=choice.seed,
    )
    seconds = twin.seconds(program.calls, fidelity)
    record = {
        "trace": str(trace),
        "schema_version": read.version,
        "platform": platform.name,
        "n_gpus": len(read.gpus),
        "n_nodes": program.n_nodes,
        "fidelity": fidelity,
        "aggressors": list(aggressors),
        "seconds": seconds,
        "repeated": program.n_repeated,
        "left_out": dict(program.left_out),
    }
    emit(format_, text=lambda: "\n".join(_lines(record)), record=record, rows=[record])
    return int(ExitCode.GOOD)


def _lines(record: dict[str, Any]) -> Iterator[str]:
    version = record["schema_version"]
    named = f"Chakra {version}" if version else "Chakra, no version"
    gpus, nodes = counted(record["n_gpus"], "GPU"), counted(record["n_nodes"], "node")
    yield f"REPLAY   {record['seconds']:.4g} s on {gpus} of {record['platform']}, {nodes}"
    how = {"packet": "packet by packet", "flow": "as flows"}[record["fidelity"]]
    yield f"         {named}: {record['repeated']:,} nodes repeated, messages {how}"
    if record["aggressors"]:
        yield f"         beside {', '.join(record['aggressors'])}"
    for reason, n in sorted(record["left_out"].items()):
        yield f"! left out: {n:,} x {reason}"


def _refuse(choice: BackendChoice, given: dict[str, Any]) -> None:
    """Raises InputError for options of other traces."""
    if choice.twin is None:
        raise InputError("a Chakra trace without --twin", expected="--twin PLATFORM")
    for name, value in given.items():
        if name != "aggressors" and value:
            raise InputError(
                f"--{name.replace('_', '-')} with a Chakra trace",
                expected="--twin, --nodes, --fidelity, --seed and --aggressor",
            )
    for name in ("plant", "fabric", "routing", "extrapolate"):
        if getattr(choice, name):
            raise InputError(
                f"--{name} with a Chakra trace",
                expected="the platform's own fabric, cabled by rails",
            )
    if choice.fidelity is None:
        talk("messages as flows; --fidelity packet simulates each packet")


def _refuse_too_few(n_nodes: int, choice: BackendChoice) -> None:
    if choice.nodes is not None and choice.nodes < n_nodes:
        raise InputError(
            f"--nodes {choice.nodes}: the trace's GPUs fill {n_nodes}",
            expected=f"{n_nodes} or more",
            hint=f"--nodes {n_nodes}",
        )
