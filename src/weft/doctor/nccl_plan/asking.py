"""A libnccl.so is asked for its plan, in a child process that may crash or hang."""

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.catalog.libraries.nccl import PROTOCOLS
from weft.core.errors import InputError
from weft.core.process import Command, Ending, Limits, run
from weft.doctor.libnccl import read_libnccl
from weft.doctor.nccl_plan import child
from weft.doctor.nccl_plan.debug_info import EXPECTED, DebugInfo, read_debug_info
from weft.doctor.nccl_plan.job_topology import HOST_HASH, JobTopology
from weft.doctor.nccl_plan.plan import NcclPlan, NodePlan, SearchGraph, TunedTime

COLLECTIVES = {"broadcast": 0, "reduce": 1, "allgather": 2, "reduce_scatter": 3, "allreduce": 4}
"""SOURCE: NVIDIA/nccl, src/include/nccl_common.h: ncclFunc_t."""
LIMIT_S = 120.0
MOST_NODES = 256
"""Elements of a file. SOURCE: NVIDIA/nccl, src/graph/xml.h."""
_SEARCH = "graph/search.cc"
_STRUCTURES = dict.fromkeys(
    ("ncclComm", "ncclTopoGraph", "ncclTopoSystem", "ncclXml", "ncclXmlNode", "ncclPeerInfo"),
    _SEARCH,
)
_OF_TASK = "ncclInfo"
"""What older tuners are asked with."""
_OPTIONAL = {child.TUNE, child.TIME, child.PROCESSOR, child.CONSTANTS, child.SETTINGS}
_PARAMETERS = {
    child.READ: ("PKcP7ncclXmli",),
    child.BUILD: ("P7ncclXmlPP14ncclTopoSystem", "P7ncclXmlPP14ncclTopoSystemm"),
    child.PATHS: ("P14ncclTopoSystemP8ncclComm",),
    child.TRIM: ("P14ncclTopoSystemP8ncclComm",),
    child.SEARCH: ("P14ncclTopoSystem",),
    child.COMPUTE: ("P14ncclTopoSystemP13ncclTopoGraph",),
    child.PROCESSOR: ("P8ncclComm",),
    child.CONSTANTS: ("P8ncclComm",),
    child.SETTINGS: ("v",),
    child.TUNE: ("P8ncclCommiiPP13ncclTopoGraph",),
    child.TIME: ("P8ncclCommiiimiPf", "P8ncclInfoiiiPf"),
}
"""Of the functions, mangled: one with others would be called wrongly."""
_MESSAGE = " NCCL WARN "


def ask_library(
    library: Path,
    topology: JobTopology,
    *,
    nodes: Sequence[int],
    sizes_bytes: Sequence[int] = (),
    collectives: Sequence[str] = ("allreduce",),
    variables: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
) -> NcclPlan:
    """The plan of a library for jobs of all GPUs on so many equal nodes. `variables`: of NCCL, in
    place of those of this process. Raises InputError where the library cannot be asked."""
    request = library_request(library)
    version = request["version"]
    with tempfile.TemporaryDirectory(prefix="weft-nccl-plan-") as folder:
        file = Path(folder) / "topology.xml"
        file.write_text(topology.text)
        request |= nodes_request(topology, file)
        request |= {
            "n_nodes": list(nodes),
            "sizes": list(sizes_bytes),
            "collectives": {name: COLLECTIVES[name] for name in collectives},
        }
        answer = _answer(request, version, variables, limit_s)
    n_gpus = len(topology.bus_ids)
    plans = {n: _node_plan(n, answer[str(n)]) for n in nodes}
    return NcclPlan(version, n_gpus, topology.nets, plans)


def _debug_info(library: Path, version: str) -> DebugInfo:
    info = read_debug_info(library, (*child.FUNCTIONS, child.PATH_NAMES), _STRUCTURES)
    wanted = (*_PARAMETERS, child.PATH_NAMES, *_STRUCTURES)
    missing = [
        name
        for name in wanted
        if name not in info.symbols and name not in info.structures and name not in _OPTIONAL
    ]
    if missing:
        raise _cannot_ask(library, version, f"it has no {missing[0]}")
    symbols = dict(info.symbols)
    for name, known in _PARAMETERS.items():
        if name in symbols and symbols[name].parameters not in known:
            if name not in _OPTIONAL:
                raise _cannot_ask(library, version, f"its {name} takes other arguments")
            del symbols[name]
    structures = dict(info.structures)
    if child.TIME in symbols and _OF_TASK in symbols[child.TIME].parameters:
        structures |= read_debug_info(library, (), {_OF_TASK: "graph/tuning.cc"}).structures
    return DebugInfo(symbols, structures)


def _cannot_ask(library: Path, version: str, why: str) -> InputError:
    return InputError(
        f"NCCL {version or 'of this library'} cannot be asked: {why}",
        where=str(library),
        expected=EXPECTED,
        hint="weft's own model needs no library: weft expect PLATFORM allreduce --nccl VERSION",
    )


def nodes_request(topology: JobTopology, file: Path) -> dict[str, Any]:
    """What the child process is told of the nodes, whose topology is in a file."""
    return {
        "topology": str(file),
        "user_file": topology.file,
        "n_gpus": len(topology.bus_ids),
        "bus_ids": topology.bus_ids,
        "compute_capability": topology.sm,
        "nvls": topology.has_nvls,
        "collnet": False,
        "host_hash": HOST_HASH,
        "most_nodes": MOST_NODES,
    }


def library_request(library: Path) -> dict[str, Any]:
    """What the child process is told of a library. Raises InputError where it cannot be asked."""
    version = read_libnccl(library).version
    info = _debug_info(library, version)
    return {
        "version": version,
        "library": str(library.resolve()),
        "functions": {
            name: (one.address, one.parameters, one.n_bytes) for name, one in info.symbols.items()
        },
        "structures": {
            name: {
                "n_bytes": one.n_bytes,
                "fields": {
                    key: (at.offset, at.element_bytes, at.n_elements)
                    for key, at in one.fields.items()
                },
            }
            for name, one in info.structures.items()
        },
    }


def _answer(
    request: Mapping[str, Any],
    version: str,
    variables: Mapping[str, str] | None,
    limit_s: float,
) -> dict[str, Any]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("NCCL_")}
    given = os.environ if variables is None else variables
    env |= {name: value for name, value in given.items() if name.startswith("NCCL_")}
    # 2: as NVIDIA's own unit tests, no question to a driver that is not here.
    env |= {"NCCL_DEBUG": "WARN", "NCCL_IGNORE_DISABLED_P2P": "2"}
    env.pop("NCCL_DEBUG_FILE", None)
    command = Command(
        (sys.executable, "-m", child.__name__), env, stdin=json.dumps(request).encode()
    )
    end = run(command, Limits(limit_s))
    printed, errors = (text.decode("utf-8", "replace") for text in (end.out, end.err))
    if end.ending is not Ending.EXITED:
        raise _failed(request, version, printed, f"has not answered within {limit_s:g} s")
    lines = [one for one in printed.splitlines() if one.startswith(child.ANSWER)]
    if end.exit_code == 0 and lines:
        found: dict[str, Any] = json.loads(lines[-1].removeprefix(child.ANSWER))
        return found
    how = "gave up" if end.exit_code > 0 else f"crashed (signal {-end.exit_code})"
    raise _failed(request, version, printed, how, errors)


def _failed(
    request: Mapping[str, Any], version: str, printed: str, how: str, errors: str = ""
) -> InputError:
    calls = [one for one in printed.splitlines() if one.startswith(child.CALL)]
    at = calls[-1].removeprefix(child.CALL) if calls else "the start"
    said = [one.partition(_MESSAGE)[2] for one in printed.splitlines() if _MESSAGE in one]
    named = request["user_file"]
    checks = f"weft doctor topo {named} checks the topology; " if named else ""
    reason = said[-1] if said else (errors.strip().splitlines() or [""])[-1]
    return InputError(
        f"NCCL {version} {how} at {at}" + (f": {reason}" if reason else ""),
        where=request["library"],
        expected="a library that answers for this topology",
        hint=f"{checks}weft's own model needs no library: weft expect PLATFORM allreduce",
    )


def _node_plan(n_nodes: int, said: Mapping[str, Any]) -> NodePlan:
    graphs = {
        name: SearchGraph(
            name=name,
            n_channels=one["n_channels"],
            gb_s_inside=round(one["gb_s_inside"], 3),
            gb_s_between=round(one["gb_s_between"], 3),
            path_inside=one["path_inside"],
            path_between=one["path_between"],
            gpus=tuple(map(tuple, one["gpus"])),
            nets=tuple((a, b) for a, b in one["nets"]),
            cross_nic=one["cross_nic"],
        )
        for name, one in said["graphs"].items()
    }
    times = {}
    for key, found in said["times"].items():
        collective, _, size = key.rpartition(" ")
        every = (TunedTime(name, PROTOCOLS[i], us) for name, i, us in found)
        times[collective, int(size)] = tuple(sorted(every, key=lambda one: one.time_us))
    return NodePlan(n_nodes, graphs, times)
