"""How a simulated fabric routes: by its tables, by an engine, or adaptively."""

from weft.bench.model import Trial
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.topology.fabric import DRAGONFLY
from weft.topology.fabric_spec import Document, twin_parts


def routes_adaptively(platform: Platform, trial: Trial) -> bool:
    """Whether the trial's option `adaptive_routing` is "on"; without it, whether the machine is a
    dragonfly. Raises InputError."""
    own = "off" if platform.dragonfly is None else "on"
    asked = trial.options.get("adaptive_routing", own)
    if asked not in ("on", "off"):
        raise InputError(f"option 'adaptive_routing' is {asked!r}", expected="'on' or 'off'")
    return bool(asked == "on")


def routing(
    platform: Platform, fabric: Document, trial: Trial, fidelity: str = "packet"
) -> Document:
    """The part `routing` of a scenario. Raises InputError."""
    cabling = twin_parts(platform)[0]
    written = fabric.get("routing", {}).get("engine")
    # A real fabric's tables hold, unless a trial asks for an engine.
    asked = trial.options.get("routing", None if is_routed(fabric) else cabling.routing)
    document: Document = {} if asked is None else {"engine": asked}
    if not routes_adaptively(platform, trial):
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
    return {**document, "adaptive": adaptive}


def is_routed(fabric: Document) -> bool:
    """Whether a fabric has tables of its own, or names the engine that fills them."""
    return "lfts" in fabric or "routing" in fabric
