"""An algorithm of a collective, as the variables of a launch name it to a library."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from weft.core.errors import InputError

Variables = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TunedAlgorithm:
    """An algorithm under the library's own name or number. Each parameter is a name and a number;
    one that is absent keeps the library's default."""

    name: str
    parameters: tuple[tuple[str, int], ...] = ()

    def parameter(self, name: str, default: int) -> int:
        """A parameter of this name, or else the default."""
        return dict(self.parameters).get(name, default)


@dataclass(frozen=True, slots=True)
class TunedLibrary:
    """A library whose choice of algorithms a file can override.

    `implementation` is the one that live runs record, "" where runs do not. `collectives`: by
    benchmark, the library's name of its collective. `selects`: variables that choose algorithms.
    `example`: variables of one algorithm. `read` tells the algorithm that variables set for a
    collective, None for the library's own choice.
    """

    title: str
    implementation: str
    collectives: Mapping[str, str]
    selects: re.Pattern[str]
    example: str
    read: Callable[[Variables, str], TunedAlgorithm | None]


_ON = ("1", "true", "yes", "on", "enabled", "t", "y")


def _number(variables: Variables, name: str, expected: str) -> int:
    text = variables[name].strip()
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise InputError(f"{name} is '{text}'", where="the study of the run", expected=expected)
    return int(text)


def _openmpi(variables: Variables, collective: str) -> TunedAlgorithm | None:
    """SOURCE: Open MPI 4.1.4, `ompi_info --param coll tuned --level 9`: algorithms are ignored
    unless use_dynamic_rules is true, and 0 is the library's choice."""
    own = f"OMPI_MCA_coll_tuned_{collective}_algorithm"
    is_on = variables.get("OMPI_MCA_coll_tuned_use_dynamic_rules", "").lower() in _ON
    if own not in variables or not is_on or variables[own].strip() == "ignore":
        return None
    expected = "the number that `ompi_info --param coll tuned --level 9` prints"
    number = _number(variables, own, expected)
    found = [
        (name, _number(variables, f"{own}_{name}", "a number"))
        for name in ("segmentsize", "tree_fanout", "chain_fanout", "max_requests")
        if f"{own}_{name}" in variables
    ]
    return TunedAlgorithm(str(number), tuple(found)) if number else None


def _mpich(variables: Variables, collective: str) -> TunedAlgorithm | None:
    name = variables.get(f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM", "auto").strip()
    return None if name in ("", "auto") else TunedAlgorithm(name)


NCCL_ALGORITHMS = {
    "tree": "tree",
    "ring": "ring",
    "collnetdirect": "collnet_direct",
    "collnetchain": "collnet_chain",
    "nvls": "nvls",
    "nvlstree": "nvls_tree",
    "pat": "pat",
}
"""By the lower-case name that NCCL_ALGO has, the plug-in's.

SOURCE: NVIDIA/nccl, ext-tuner/example/README.md, and its documentation of NCCL_ALGO."""
NCCL_PROTOCOLS = ("ll", "ll128", "simple")


def _nccl(variables: Variables, collective: str) -> TunedAlgorithm | None:
    name = variables.get("NCCL_ALGO", "").strip().lower()
    protocol = variables.get("NCCL_PROTO", "").strip().lower()
    if not name and not protocol:
        return None
    where = f"the study of the run, an arm of {collective}"
    if name not in NCCL_ALGORITHMS:
        raise InputError(
            f"NCCL_ALGO is '{name}'",
            where=where,
            expected=f"one of {', '.join(NCCL_ALGORITHMS)}: the plug-in's table names one",
        )
    if protocol not in NCCL_PROTOCOLS:
        raise InputError(
            f"NCCL_PROTO is '{protocol}'",
            where=where,
            expected=f"one of {', '.join(NCCL_PROTOCOLS)}: the plug-in's table names one",
        )
    return TunedAlgorithm(f"{NCCL_ALGORITHMS[name]}/{protocol}", _nccl_channels(variables, where))


def _nccl_channels(variables: Variables, where: str) -> tuple[tuple[str, int], ...]:
    """The table has one number of channels: least and most have to be the same."""
    names = [name for name in ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS") if name in variables]
    if not names:
        return ()
    counts = {_number(variables, name, "a number of channels") for name in names}
    if len(names) < 2 or len(counts) > 1:
        raise InputError(
            "NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS do not give one number",
            where=where,
            expected="both, and equal: the plug-in's table holds one number of channels",
        )
    return (("channels", counts.pop()),)


_SAME = ("allreduce", "allgather", "alltoall", "barrier", "reduce", "reduce_scatter")
OPENMPI = TunedLibrary(
    title="Open MPI",
    implementation="openmpi",
    collectives={**{name: name for name in _SAME}, "broadcast": "bcast"},
    selects=re.compile(r"OMPI_MCA_coll_tuned_(use_dynamic_rules|\w+_algorithm\w*)"),
    example="OMPI_MCA_coll_tuned_allreduce_algorithm",
    read=_openmpi,
)
"""Without gather and scatter, whose rules version 4 takes by the number of ranks alone."""
MPICH = TunedLibrary(
    title="MPICH",
    implementation="mpich",
    collectives=OPENMPI.collectives,
    selects=re.compile(r"MPIR_CVAR_(\w+_INTRA_ALGORITHM|DEVICE_COLLECTIVES)"),
    example="MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM",
    read=_mpich,
)
"""Without gather and scatter, of which MPICH's selection compares elements, not bytes."""
NCCL = TunedLibrary(
    title="NCCL",
    implementation="",
    collectives={
        "allreduce": "allreduce",
        "allgather": "allgather",
        "reduce_scatter": "reducescatter",
        "broadcast": "broadcast",
        "reduce": "reduce",
    },
    selects=re.compile(r"NCCL_(ALGO|PROTO|M(IN|AX)_NCHANNELS)"),
    example="NCCL_ALGO and NCCL_PROTO",
    read=_nccl,
)
LIBRARIES = (OPENMPI, MPICH, NCCL)


def is_selection(variable: str) -> bool:
    """Whether a variable chooses algorithms of any of the libraries: arms that differ in such
    variables alone differ in algorithms alone."""
    return any(one.selects.fullmatch(variable) for one in LIBRARIES)
