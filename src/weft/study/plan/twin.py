"""A study on a twin: which of its settings a simulated fabric has."""

import itertools
from typing import Any

from weft.bench.options import MACHINE_OPTIONS, OF_SOME_BENCHMARKS
from weft.catalog.load import benchmark
from weft.core.errors import InputError
from weft.study.plan.model import Factor, FactorSetting, Study


def refuse_inert(study: Study) -> None:
    """Raises InputError where settings of a factor differ in what the twin, or all benchmarks of
    the study, ignore: their arms would be one, and look equal."""
    known = {option for use in study.benchmarks for option in benchmark(use.name).options}
    ignored = {*MACHINE_OPTIONS, *(one for one in OF_SOME_BENCHMARKS if one not in known)}
    for factor in study.factors:
        for one, other in itertools.combinations(factor.settings, 2):
            if _heeded(one, ignored) == _heeded(other, ignored) and one != other.model_copy(
                update={"name": one.name, "evidence": one.evidence}
            ):
                raise _inert(study, factor, one, other)


def _inert(study: Study, factor: Factor, one: FactorSetting, other: FactorSetting) -> InputError:
    lives = [setting.live.env for setting in (one, other) if setting.live is not None]
    words = sorted({*one.env, *other.env, *(key for env in lives for key in env)})
    words += sorted({*one.options, *other.options})
    hint = "run it on hosts; 'weft study factors' lists what a twin has"
    if factor.name == "partition":
        hint = "run it on hosts; on a twin the factor service-level stands for a partition"
    return InputError(
        f"factor '{factor.name}': on a twin '{one.name}' and '{other.name}' are the same, because "
        f"it ignores {', '.join(words) or 'what a person switches'}",
        where=f"study '{study.name}'",
        expected="settings that change what is simulated",
        hint=hint,
    )


def _heeded(setting: FactorSetting, ignored: set[str]) -> dict[str, Any]:
    return {key: one for key, one in setting.options.items() if key not in ignored}
