"""A study on a twin: which of its settings a simulated fabric has."""

import itertools
from typing import Any

from weft.bench.options import MACHINE_OPTIONS
from weft.core.errors import InputError
from weft.study.plan.model import FactorSetting, Study


def refuse_inert(study: Study) -> None:
    """Raises InputError where settings of a factor differ in what only machines have: on a twin
    their arms would be one, and look equal."""
    for factor in study.factors:
        for one, other in itertools.combinations(factor.settings, 2):
            if _heeded(one) == _heeded(other) and _ignored(one) != _ignored(other):
                raise InputError(
                    f"a twin cannot switch factor '{factor.name}': for it '{one.name}' and "
                    f"'{other.name}' are the same",
                    where=f"study '{study.name}'",
                    expected="settings whose options a twin has: variables are for machines",
                    hint="measure it on hosts, or take a factor of 'weft study factors'",
                )


def _heeded(setting: FactorSetting) -> dict[str, Any]:
    return {key: one for key, one in setting.options.items() if key not in MACHINE_OPTIONS}


def _ignored(setting: FactorSetting) -> tuple[Any, ...]:
    own = {key: one for key, one in setting.options.items() if key in MACHINE_OPTIONS}
    return setting.env, own, setting.live
