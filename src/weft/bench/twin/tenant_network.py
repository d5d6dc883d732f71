"""Congestion control and routing of jobs that share a simulated fabric, each its own.

Both go by service level, as in a fabric: adapters control the levels of a map (OpenSM,
iba/ib_types.h, ib_ca_cong_setting_t), switches route the levels of a mask adaptively.
"""

from collections.abc import Mapping

from weft.bench.aggressor import Aggressor, aggressors_of
from weft.bench.model import Trial
from weft.bench.twin.congestion_control import OFF, congestion_control, require_law
from weft.bench.twin.routing import ADAPTIVE, STATIC, routes_adaptively
from weft.bench.twin.tenants import service_level
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.topology.fabric_spec import Document


def controlled(platform: Platform, trial: Trial, fidelity: str) -> Document:
    """The part `congestion_control` of a scenario, {} where no job has any. Raises InputError for
    two laws, or for a level that is controlled for one job and not for another."""
    own = congestion_control(platform, trial, fidelity)
    aggressors = aggressors_of(trial)
    for one in aggressors:
        if one.law is not None:
            require_law(one.law, f"aggressor '{one.text}' has law={one.law}")
    asked = [(one, own if one.law is None else one.law) for one in aggressors]
    by_level = _by_level(trial, "law", own, asked)
    laws = sorted({*by_level.values()} - {OFF})
    if len(laws) > 1:
        raise InputError(
            f"jobs have the laws {' and '.join(laws)}",
            where=trial.id,
            expected="one law for all jobs that have any",
        )
    if not laws:
        return {}
    levels = [level for level, law in by_level.items() if law != OFF]
    part = {} if len(levels) == len(by_level) else {"service_levels": levels}
    return {"congestion_control": {laws[0]: {}, **part}}


def adaptive_levels(platform: Platform, trial: Trial) -> list[int] | None:
    """The service levels whose packets are routed adaptively, or None where all jobs are routed
    alike. Raises InputError for a level that is routed so for one job and not for another."""
    own = ADAPTIVE if routes_adaptively(platform, trial) else STATIC
    asked = [(one, one.routing or own) for one in aggressors_of(trial)]
    by_level = _by_level(trial, "routing", own, asked)
    if len({*by_level.values()}) == 1:
        return None
    return [level for level, routing in by_level.items() if routing == ADAPTIVE]


def _by_level(
    trial: Trial, key: str, own: str, asked: list[tuple[Aggressor, str]]
) -> Mapping[int, str]:
    """What each service level in use has. Raises InputError where two jobs of it differ."""
    found = {service_level(trial): own}
    for one, value in asked:
        level = one.service_level or 0
        if found.setdefault(level, value) != value:
            raise InputError(
                f"aggressor '{one.text}' has {key}={value}; another job on its service level "
                f"{level} has {key}={found[level]}",
                where=trial.id,
                expected="a service level of its own: lanes are what adapters and switches go by",
                hint=f"{one.text},sl={max(found) + 1}" if one.service_level is None else None,
            )
    return found
