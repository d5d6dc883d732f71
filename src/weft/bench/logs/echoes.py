"""Variables that a library reports to have read, compared with those that were set."""

from collections.abc import Iterable, Mapping, Sequence

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.catalog.libraries.variables import ValueSyntax, Variable, VariableList, version_key

NCCL, PLUGINS = "nccl", "nccl-plugins"
OLDEST, NEWEST = "2.18.3", "2.32.3"
TEXTS_ECHOED = {
    "NCCL_ALGO": OLDEST,
    "NCCL_COLLNET_ENABLE": OLDEST,
    "NCCL_COMM_ID": OLDEST,
    "NCCL_GRAPH_DUMP_FILE": OLDEST,
    "NCCL_GRAPH_FILE": OLDEST,
    "NCCL_HOSTID": OLDEST,
    "NCCL_IB_HCA": OLDEST,
    "NCCL_NET_GDR_LEVEL": OLDEST,
    "NCCL_NET_PLUGIN": NEWEST,
    "NCCL_P2P_LEVEL": OLDEST,
    "NCCL_PROFILER_PLUGIN": NEWEST,
    "NCCL_PROTO": OLDEST,
    "NCCL_SOCKET_FAMILY": OLDEST,
    "NCCL_SOCKET_IFNAME": OLDEST,
    "NCCL_TOPO_DUMP_FILE": OLDEST,
    "NCCL_TOPO_FILE": OLDEST,
    "NCCL_TUNER_PLUGIN": NEWEST,
}
"""Variables that are no integers, and the version from which NCCL is known to report that it read
them. SOURCE: the texts that NVIDIA's libraries 2.18.3 and 2.32.3 print; a text that is in 2.32.3
alone may be older. tests/oracle/test_nccl_log.py looks for them there."""
NOT_ALWAYS_ECHOED = {
    "NCCL_P2P_DISABLE",
    "NCCL_SET_THREAD_NAME",
    "NCCL_WARN_ENABLE_DEBUG_INFO",
}
"""Integers that NCCL reads by another function, which logs nothing for some values."""
LEVELS = {"NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL"}


def is_value(name: str, text: str, echoed: str) -> bool:
    """Whether an echo is that of a setting: its text, the same number, or the level that it means.

    A setting of which a library read only the beginning ('2M' as 2) is another value.
    """
    try:
        number = int(text, 0)
    except ValueError:
        return text == echoed
    is_level = name in LEVELS and number >= 0
    return echoed in (text, str(number), nccl_topology().level(number) if is_level else "")


def is_comparable(name: str, text: str) -> bool:
    """Whether a setting and its echo are in the same words.

    MVAPICH2 echoes sizes in bytes, whatever unit they were set in.
    """
    return not name.startswith("MV2_") or text.isdecimal()


def says_what_it_reads(names: Iterable[str]) -> bool:
    """Whether the names that were echoed tell that NCCL echoes here: it does of levels always, of
    others where NCCL_DEBUG_SUBSYS does not leave ENV out."""
    return any(name.startswith("NCCL_") and name not in LEVELS for name in names)


def why_unread(
    name: str, libraries: Sequence[str], lists: Mapping[str, VariableList]
) -> str | None:
    """Why a variable of NCCL without an echo had no effect; None where a log does not show it.

    `libraries` are those of the log, as 'NCCL 2.18.3+cuda12.1'.
    """
    variable = lists[NCCL].by_name.get(name)
    versions = [one.split("+")[0].split(" ")[1] for one in libraries if one.startswith("NCCL ")]
    if variable is None:
        is_others = name in lists[PLUGINS].by_name or any("RCCL" in one for one in libraries)
        return None if is_others else "it is no variable of NCCL"
    if versions and not any(variable.known_in(version) for version in versions):
        is_new = all(version_key(one) < version_key(variable.since) for one in versions)
        when = f"it came with {variable.since}" if is_new else f"it went with {variable.until}"
        return f"NCCL {' and '.join(versions)} does not know it, {when}"
    if all(is_echoed(variable, version) for version in versions or [NEWEST]):
        return "it had no effect in this run"
    return None


def is_echoed(variable: Variable, version: str) -> bool:
    """Whether NCCL of that version is known to say so whenever it reads a variable."""
    if variable.name in NOT_ALWAYS_ECHOED:
        return False
    if variable.reads is ValueSyntax.INTEGER:
        return True
    since = TEXTS_ECHOED.get(variable.name)
    return since is not None and version_key(since) <= version_key(version)
