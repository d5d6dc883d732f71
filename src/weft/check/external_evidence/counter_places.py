"""Whether files of counters belong to the fabric of a check: their GUIDs and LIDs are in it."""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

from weft.core.errors import InputError
from weft.core.words import counted
from weft.topology.subnet.subnet import Subnet

BY_LID = ("perfquery",)
"""Formats that state a port's LID and number only: another fabric has the same LIDs."""

_UNPLACED = ("stranger", "no-such-port")
"""Kinds of misfits: of statements about a LID or a port that no file describes."""


def doubts_of(subnet: Subnet, own: Set[int], files: Sequence[str]) -> tuple[str, ...]:
    """Sentences about files with counters of nodes that the fabric lacks; `own`: its GUIDs.

    Raises InputError for a file whose counters are all of other nodes, and for one that states LIDs
    only and has any that the fabric lacks: then its other LIDs may be of other nodes, too.
    """
    doubts = []
    for number, source in enumerate(subnet.description["sources"]):
        if source["name"] in files:
            known, unknown = _places(subnet, own, number)
            _refuse_foreign(source, known, unknown)
            if unknown:
                doubts.append(_doubt(source["name"], known, unknown))
    n_others = sum(node.guid not in own for node in subnet.nodes)
    if n_others and not doubts:
        _refuse_other_nodes(own, files)
        doubts.append(
            f"{n_others:,} of {len(subnet.nodes):,} nodes in the files of --counters are not in"
            " this fabric: weft leaves their statements out"
        )
    return tuple(doubts)


def _refuse_other_nodes(own: Set[int], files: Sequence[str]) -> None:
    """Refuse a file that describes nodes, as iblinkinfo does, and none of the fabric."""
    for file in files:
        # A pipe has been read already.
        nodes = Subnet.read((file,)).nodes if Path(file).is_file() else ()
        if nodes and all(node.guid not in own for node in nodes):
            raise _foreign(file, len(nodes), len(nodes), nodes[0].description)


def _places(subnet: Subnet, own: Set[int], source: int) -> tuple[int, list[str]]:
    """How many nodes of the fabric the file has counters of, and the others by name."""
    described = subnet.description
    nodes = {it["end"]["node"] for it in described["readings"] if it["source"] == source}
    known = sum(subnet.nodes[node].guid in own for node in nodes)
    others = [subnet.nodes[node] for node in sorted(nodes) if subnet.nodes[node].guid not in own]
    unknown = [node.description or f"{node.guid:#018x}" for node in others]
    for misfit in described["misfits"]:
        if misfit["kind"] in _UNPLACED and misfit["place"]["source"] == source:
            unknown.append(_name(misfit))
    return known, list(dict.fromkeys(unknown))


def _name(misfit: Any) -> str:
    return str(misfit.get("what") or f"{misfit.get('node')} port {misfit.get('port')}")


def _refuse_foreign(source: Any, known: int, unknown: list[str]) -> None:
    by_lid = source["format"] in BY_LID
    if unknown and (by_lid or not known):
        raise _foreign(source["name"], len(unknown), known + len(unknown), unknown[0], by_lid)


def _foreign(name: str, n: int, total: int, first: str, by_lid: bool = False) -> InputError:
    hint = "give the --fabric files of the fabric that was counted"
    if by_lid:
        hint = "other fabrics have the same LIDs: ibqueryerrors states GUIDs"
    are = "is" if n == 1 else "are"
    return InputError(
        f"{n:,} of {counted(total, 'place')} with counters or cables {are} not in this fabric:"
        f" {first}",
        where=name,
        expected="counters of the fabric that --fabric describes, of the same time",
        hint=hint,
    )


def _doubt(name: str, known: int, unknown: list[str]) -> str:
    total = known + len(unknown)
    return (
        f"{len(unknown):,} of {counted(total, 'node')} with counters in {name} are not in this"
        f" fabric (such as {unknown[0]}): it is of another time, or of another fabric"
    )
