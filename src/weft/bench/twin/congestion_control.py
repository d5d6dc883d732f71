"""The laws of congestion control that a trial can ask for on a simulated fabric."""

from collections.abc import Mapping

from weft.bench.model import Trial
from weft.core.errors import InputError, did_you_mean

OFF = "off"

LAWS: Mapping[str, str] = {
    "annex_a10": "InfiniBand's own",
    "dcqcn": "rates that notifications cut",
    "rtt": "windows by round-trip time",
    "endpoint": "back-pressure from the last hop",
}
"""One line for each law of the engine, which has its own settings (docs/reference/scenario.md)."""


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
