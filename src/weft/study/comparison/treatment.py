"""A treatment needs evidence: was the setting of an arm in force when the sample was taken?"""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.bench.logs.echoes import is_comparable, is_value, says_what_it_reads, why_unread
from weft.bench.model import Sample
from weft.catalog.load import variable_lists
from weft.study.plan.model import Factor, FactorSetting, Study
from weft.study.plan.plan import PLACEMENT

SettingInForce = tuple[str, FactorSetting]
"""The name of a factor, and its setting."""


def settings_of(study: Study | None, arm: Mapping[str, str]) -> list[SettingInForce]:
    """The settings of an arm, or of a condition."""
    if study is None:
        return []
    return [
        (factor.name, setting)
        for factor in study.factors
        for setting in factor.settings
        if arm.get(factor.name) == setting.name
    ]


def untreated_because(sample: Sample, settings: Sequence[SettingInForce]) -> str | None:
    """The reason why a sample does not count for the settings of its arm, or None if it counts.

    A setting may name evidence: keys of the sample's own evidence, and the values that prove the
    setting; of a table, those of its keys that are named. A key that is absent or says something
    else makes the sample untreated. So does a log in which ranks read another value of a variable
    than the setting gives it, reject it as unknown, or list their variables without it.
    """
    for factor, setting in settings:
        for key, wanted in setting.evidence.items():
            found = sample.evidence.get(key)
            if not _is_proved(wanted, found):
                reported = "nothing" if found is None else repr(found)
                return (
                    f"untreated: {factor}={setting.name} needs {key}={wanted!r}, found {reported}"
                )
        contradiction = _contradiction(setting, sample.evidence.get("log", {}))
        if contradiction is not None:
            return f"untreated: {factor}={setting.name} sets {contradiction}"
    return None


def _is_proved(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return all(_is_proved(value, found.get(key)) for key, value in wanted.items())
    return bool(found == wanted)


def _contradiction(setting: FactorSetting, log: Mapping[str, Any]) -> str | None:
    """The contradiction between a launch's log and a setting's variables."""
    settings = log.get("settings", {})
    for name, value in setting.env.items():
        read = settings.get(name)
        is_read = isinstance(read, str) and is_value(name, value, read)
        if read is not None and is_comparable(name, value) and not is_read:
            seen = read if isinstance(read, str) else ", ".join(read)
            return f"{name}={value}, and ranks read {seen}"
        if name in log.get("unknown", ()):
            return f"{name}, which the library does not know"
        if read is None and value and name.startswith("NCCL_") and says_what_it_reads(settings):
            why = why_unread(name, log.get("libraries", ()), variable_lists())
            if why is not None:
                return f"{name}={value}, and no rank read it: {why}"
    return None


def unproved_factors(study: Study | None, *, simulated: bool) -> list[str]:
    """Factors whose settings name no evidence. A twin follows the options that differ, and the plan
    of any run places the job itself."""
    if study is None:
        return []
    return [
        factor.name
        for factor in study.factors
        if not any(setting.evidence for setting in factor.settings)
        and not (simulated and _options_differ(factor))
        and not all(PLACEMENT in setting.options for setting in factor.settings)
    ]


def _options_differ(factor: Factor) -> bool:
    first, *others = (setting.options for setting in factor.settings)
    return all(options != first for options in others)
