"""A study on a machine: what puts its settings in force there, in place of a twin's options."""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.bench.options import TWIN_OPTIONS
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
