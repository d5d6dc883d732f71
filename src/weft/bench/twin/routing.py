"""How a simulated fabric routes: by its tables, by an engine, or adaptively."""

from collections.abc import Sequence

from weft.bench.model import Trial
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError, unknown_name
from weft.topology.engine import ENGINES
from weft.topology.fabric import DRAGONFLY
from weft.topology.fabric_spec import Document, twin_parts
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet_document import own_fabric

ADAPTIVE, STATIC = "adaptive", "static"
OPENSM = "opensm-"
"""Begins the names of tables that OpenSM computes."""


def routes_adaptively(platform: Platform, trial: Trial) -> bool:
    """Whether the trial's option `adaptive_routing` is "on"; without it, whether the machine is a
    dragonfly. Raises InputError."""
    own = "off" if platform.dragonfly is None else "on"
    asked = trial.options.get("adaptive_routing", own)
    if asked not in ("on", "off"):
        raise InputError(f"option 'adaptive_routing' is {asked!r}", expected="'on' or 'off'")
    return bool(asked == "on")


def routing(
    platform: Platform,
    fabric: Document,
    trial: Trial,
    fidelity: str = "packet",
    *,
    levels: Sequence[int] | None = None,
) -> Document:
    """The part `routing` of a scenario. Where jobs differ, only packets of the service `levels` are
    routed adaptively. Raises InputError."""
    cabling = twin_parts(platform)[0]
    written = fabric.get("routing", {}).get("engine")
    # A real fabric's tables hold, unless a trial asks for an engine; so do those of other tables.
    named = trial.options.get("routing")
    asked = named if named is not None and not has_own_tables(trial) else None
    if named is None and not is_routed(fabric):
        asked = cabling.routing
    document: Document = {} if asked is None else {"engine": asked}
    if not (routes_adaptively(platform, trial) if levels is None else levels):
        return document
    if cabling.adaptive is None:
        raise InputError(
            f"platform '{platform.name}' does not say how it would route adaptively",
            expected="a platform with [fabric.adaptive]",
        )
    adaptive: Document = {"grade_bytes": cabling.adaptive.grade.whole}
    # Only that engine has detours, and flows take none.
    dragonfly = platform.dragonfly
    if dragonfly is not None and (asked or written) == DRAGONFLY and fidelity != "flow":
        adaptive["non_minimal"] = dragonfly.adaptive.detours
    if levels is not None:
        adaptive["service_levels"] = list(levels)
    return {**document, "adaptive": adaptive}


def has_own_tables(trial: Trial) -> bool:
    """Whether a trial's routes are tables that no engine of the scenario fills: OpenSM's, or those
    of files."""
    named = trial.options.get("routing")
    return isinstance(named, list) or str(named).startswith(OPENSM)


def tables_of(
    document: Document, named: object, platform: Platform, dead: Sequence[str] = ()
) -> Document:
    """The tables of a fabric document as OpenSM's engine computes them ("opensm-minhop") without
    the cables at the ports `dead`, or as a list of files has them. Raises InputError."""
    name = str(document["name"])
    if isinstance(named, list):
        read, _ = own_fabric(Subnet.read([str(file) for file in named]), name, platform)
    else:
        engine = str(named).removeprefix(OPENSM)
        if engine not in ENGINES:
            known = [f"{OPENSM}{one}" for one in ENGINES]
            raise unknown_name(f"no tables '{named}'", str(named), known)
        subnet = Subnet.of_fabric(document).route(engine)
        if dead:
            subnet, _ = subnet.rerouted(dead, engine)
        read, _ = own_fabric(subnet, name, platform)
    if not _has_ports_of(read, document):
        raise InputError(
            "these tables are of another fabric",
            where=f"option 'routing' = {named}",
            expected=f"tables of the twin's own nodes and switches, as {document['name']} has them",
        )
    return {key: read[key] for key in ("lfts", "lanes") if key in read}


def _has_ports_of(read: Document, document: Document) -> bool:
    """Whether two documents list the same adapters, and the same switches with as many ports."""
    parts = [
        (
            [str(hca) for node in one["nodes"] for hca in node["hcas"]],
            {str(switch["name"]): switch["ports"] for switch in one["switches"]},
        )
        for one in (read, document)
    ]
    return parts[0] == parts[1]


def is_routed(fabric: Document) -> bool:
    """Whether a fabric has tables of its own, or names the engine that fills them."""
    return "lfts" in fabric or "routing" in fabric
