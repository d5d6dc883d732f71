"""A study on a machine: what puts its settings in force there, in place of a twin's options."""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.bench.aggressor import OPTION
from weft.bench.options import TWIN_OPTIONS, WAYS_TO_LAUNCH
from weft.core.errors import InputError
from weft.study.plan.model import BenchmarkUse, Factor, FactorSetting, Study

HOST_NOISE = "host_noise"
"""An option of benchmarks that a machine needs not: its hosts have noise of their own."""


def on_machine(study: Study) -> Study:
    """The study as a machine runs it. A factor that an administrator switches becomes manual."""
    factors = tuple(_on_machine(factor) for factor in study.factors)
    uses = tuple(_measured(use) for use in study.benchmarks)
    return study.model_copy(update={"factors": factors, "benchmarks": uses})


def with_launches(study: Study, factor: str, settings: Sequence[Mapping[str, Any]]) -> Study:
    """The study with these settings of a factor, the ways to launch that a machine has."""
    ways = Factor.model_validate({"name": factor, "settings": list(settings)})
    others = tuple(one for one in study.factors if one.name != factor)
    return study.model_copy(update={"factors": (ways, *others)})


def with_load(study: Study, load: Mapping[str, Any]) -> Study:
    """The study alone and beside aggressors: a condition of its arms, or its arms where it has
    none. Raises InputError for a study that names aggressors itself."""
    own = [one for one in study.factors if any(OPTION in s.options for s in one.settings)]
    if own or any(OPTION in use.options for use in study.benchmarks):
        raise InputError(
            f"--aggressor, and study '{study.name}' names aggressors itself",
            expected="one of the two",
        )
    factor = Factor.model_validate({**load, "condition": bool(study.factors)})
    return study.model_copy(update={"factors": (*study.factors, factor)})


def refuse_unnamed_ways(study: Study, what: str, expected: str | None = None) -> None:
    """Raises InputError for a factor of ways to launch, whose settings an option of the command
    line names: `what` is said of it. Unless `expected` is given, that is this option."""
    for factor in study.factors:
        if any(factor.name in WAYS_TO_LAUNCH and factor.name in s.options for s in factor.settings):
            raise InputError(
                f"factor '{factor.name}' {what}",
                where=f"study '{study.name}'",
                expected=expected or WAYS_TO_LAUNCH[factor.name],
                hint=None if expected else "the option adds the factor to any study",
            )


def by_hand(study: Study) -> dict[str, dict[str, str]]:
    """By manual factor of `on_machine` and by setting, what a person does to switch it."""
    return {
        factor.name: {
            one.name: one.live.manual if one.live is not None else "" for one in factor.settings
        }
        for factor in study.factors
        if factor.manual
    }


def _measured(use: BenchmarkUse) -> BenchmarkUse:
    options = {key: value for key, value in use.options.items() if key != HOST_NOISE}
    return use.model_copy(update={"options": options})


def _on_machine(factor: Factor) -> Factor:
    by_hand = any(one.live is not None and one.live.manual for one in factor.settings)
    settings = tuple(_switched(setting) for setting in factor.settings)
    update = {"settings": settings, "manual": factor.manual or by_hand}
    return factor.model_copy(update=update)


def _switched(setting: FactorSetting) -> FactorSetting:
    if setting.live is None:
        return setting
    options = {key: value for key, value in setting.options.items() if key not in TWIN_OPTIONS}
    return setting.model_copy(
        update={
            "env": {**setting.env, **setting.live.env},
            "options": options,
            "evidence": setting.live.evidence,
        }
    )
