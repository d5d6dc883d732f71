"""Tables of a real fabric once cables died, as its subnet manager would fill them."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.topology.engine import ENGINES
from weft.topology.fabric import Fabric
from weft.topology.fabric_spec import Document
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet_document import own_fabric

MOVED = "moved"
UNCHANGED = "unchanged"
ROUTINGS = (*ENGINES, MOVED, UNCHANGED)
"""Who routes around a dead cable: an engine of OpenSM; entries over the cable move; nobody."""

_OWN_ENGINES = ("minhop", "updn", "dmodk")
"""Engines that fill the tables of a fabric document."""

_MINHOP_AFTER_ALL = "null (min-hop)"
"""OpenSM's word for minhop where the engine gave up."""


@dataclass(frozen=True, slots=True)
class Detours:
    """The parts of a fabric document that dead cables change; `words` say why so."""

    tables: Document
    words: str


def detours(
    document: Document,
    subnet: Subnet | None,
    dead: Sequence[str],
    asked: str | None = None,
    platform: Platform | None = None,
) -> Detours | None:
    """Tables around the cables at the ports `dead` of a fabric that `subnet` describes, or a
    document of weft's own. None where they stay as they are. Raises InputError."""
    if not dead:
        return None
    if subnet is None:
        return _of_document(document, dead, asked)
    if asked == UNCHANGED:
        return None
    routed = subnet if subnet.has_tables else subnet.route(ENGINES[0])
    engine, known_by = filling_engine(routed, asked)
    after, used = routed.rerouted(dead, engine)
    if engine is not None and used != engine:
        known_by = f"{engine} gives up without the cable, and OpenSM falls back"
    tables, _ = own_fabric(after, str(document["name"]), platform)
    kept: Document = {key: tables[key] for key in ("lfts", "lanes") if key in tables}
    return Detours(kept, _words(dead, used, known_by))


def _words(dead: Sequence[str], used: str | None, known_by: str) -> str:
    around = f"rerouted around {', '.join(dead)}"
    if used is None:
        return f"{around}: entries over it move to another shortest path ({known_by})"
    return f"{around} as OpenSM's {used} does ({known_by})"


def filling_engine(subnet: Subnet, asked: str | None) -> tuple[str | None, str]:
    """The engine that fills the tables of a subnet (None where weft computes none that does), and
    how it is known."""
    if asked is not None:
        return (None if asked == MOVED else asked), "--routing"
    named = logged_engine(subnet)
    if named is not None:
        if named in ENGINES:
            return named, "named in the subnet manager's log"
        return None, f"assumed: weft does not compute {named}, which the log names"
    equal = [engine for engine in ENGINES if _fills(engine, subnet)]
    if not equal:
        return None, f"assumed: the tables are of none of {', '.join(ENGINES)}"
    return equal[0], f"assumed: the tables equal those of {' and '.join(equal)}"


def logged_engine(subnet: Subnet) -> str | None:
    """The engine that the subnet manager's log names last; minhop where it fell back."""
    logs = [log["engines_used"] for log in subnet.description["sm_logs"] if log["engines_used"]]
    if not logs:
        return None
    return ENGINES[0] if logs[-1][-1] == _MINHOP_AFTER_ALL else str(logs[-1][-1])


def _fills(engine: str, subnet: Subnet) -> bool:
    try:
        return subnet.has_tables_of(subnet.route(engine))
    except InputError:
        # An engine refuses a fabric that it was not made for.
        return False


def _of_document(document: Document, dead: Sequence[str], asked: str | None) -> Detours | None:
    """A document of weft's own: weft's engines alone can fill its tables anew."""
    has_tables = "lfts" in document and "routing" not in document
    if (asked is None and not has_tables) or (asked == UNCHANGED and has_tables):
        # An engine fills them around dead cables in any case; or they stay.
        return None
    engines = Fabric.from_document(document).engines if has_tables else ()
    engine = asked or next(iter(engines), None)
    if engine not in _OWN_ENGINES:
        raise InputError(
            f"weft knows no engine that routes around {', '.join(dead)}",
            where="a fabric document of weft's own",
            expected="--routing minhop or updn"
            + (", or 'unchanged' for tables as they are" if has_tables else ""),
        )
    known_by = (
        "--routing" if asked else f"assumed: the tables equal those of {' and '.join(engines)}"
    )
    words = f"rerouted around {', '.join(dead)} as weft's {engine} does ({known_by})"
    return Detours({"routing": {"engine": engine}}, words)
