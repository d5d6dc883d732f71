"""The laws of congestion control that a trial can ask for on a simulated fabric."""

from collections.abc import Mapping

from weft.bench.model import Trial
from weft.core.errors import InputError, did_you_mean
from weft.topology.engine import engine_module

OFF = "off"

LAWS: Mapping[str, str] = {
    law: sentence.strip() for law, sentence in engine_module().CONGESTION_LAWS
}
"""The engine's laws and a line about each. Their settings: docs/reference/scenario.md."""


def congestion_control(trial: Trial) -> str:
    """The trial's option `congestion_control`, OFF without it. Raises InputError."""
    law = trial.options.get("congestion_control", OFF)
    known = [OFF, *LAWS]
    if law not in known:
        raise InputError(
            f"option 'congestion_control' is {law!r}",
            expected=", ".join(known),
            hint=did_you_mean(str(law), known),
        )
    return str(law)
