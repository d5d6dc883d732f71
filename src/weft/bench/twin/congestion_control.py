"""The laws of congestion control that a trial can ask for on a simulated fabric."""

from collections.abc import Mapping

from weft.bench.model import Trial
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError, did_you_mean
from weft.topology.engine import engine_module

OFF = "off"

LAWS: Mapping[str, str] = {
    law: sentence.strip() for law, sentence in engine_module().CONGESTION_LAWS
}
"""The engine's laws and a line about each. Their settings: docs/reference/scenario.md."""


def congestion_control(platform: Platform, trial: Trial, fidelity: str = "packet") -> str:
    """The trial's option `congestion_control`, else the platform's own law where the engine has it:
    not for flows, nor for nodes with an inside. Raises InputError."""
    own = OFF if platform.dragonfly is None else platform.dragonfly.congestion_control
    if fidelity == "flow" or {"node", "gpu_network"} & set(trial.options):
        own = OFF
    law = trial.options.get("congestion_control", own)
    require_law(law, f"option 'congestion_control' is {law!r}")
    return str(law)


def require_law(law: object, what: str) -> None:
    """Refuse what is no law of the engine, nor "off"; `what` says where it is. Raises
    InputError."""
    known = [OFF, *LAWS]
    if law not in known:
        raise InputError(what, expected=", ".join(known), hint=did_you_mean(str(law), known))
