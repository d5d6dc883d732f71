"""How the lines of a library are known: what a log of it is read with."""

import re
from collections.abc import Mapping

from weft.bench.logs.log_facts import LogFacts
from weft.catalog.libraries.variables import version_key

KNOWN = ("2.14", "2.30.99")
"""NCCL's versions whose sources were read: NVIDIA/nccl, tags v2.14.3-1 to v2.30.7-1."""
OUTSIDE = "it is none of 2.14 to 2.30, whose sources were read; its lines are read as theirs"
POSTED = "its lines are known from logs that users posted, not from its sources"
_VERSION = re.compile(r"\d{1,6}(\.\d{1,6})*")
_KINDS_OF_SHARP = ("sharp_tree", "sharp_group", "sharp_error")


def unverified(log_facts: LogFacts) -> Mapping[str, str]:
    """Libraries in the log whose lines were not compared with their sources: name -> why.

    UCX, libfabric, Open MPI, MPICH and Intel MPI were run for their lines, MVAPICH2's sources were
    read, and NCCL's from 2.14 to 2.30.
    """
    found: dict[str, str] = {}
    for fact in log_facts.of("version"):
        library, version = fact.words
        if library == "RCCL":
            found["RCCL"] = f"{POSTED}; they are read as NCCL's"
        elif library == "NCCL" and not is_known(version):
            found[f"NCCL {version}"] = OUTSIDE
    if any(log_facts.of(kind) for kind in _KINDS_OF_SHARP):
        found["SHARP"] = POSTED
    if any(fact.words[0] == "HCOLL" for fact in log_facts.of("warning")):
        found["HCOLL"] = POSTED
    return found


def is_known(version: str) -> bool:
    """Whether the sources of a version of NCCL ('2.18.3+cuda12.1') were read."""
    number = _VERSION.match(version)
    key = version_key(number[0]) if number is not None else ()
    return version_key(KNOWN[0]) <= key <= version_key(KNOWN[1])
