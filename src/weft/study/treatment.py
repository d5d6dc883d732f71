"""A treatment needs evidence: was the setting of an arm in force when the sample was taken?"""

from collections.abc import Mapping

from weft.bench.model import Sample
from weft.study.model import Setting, Study


def untreated_because(sample: Sample, arm: Mapping[str, str], study: Study | None) -> str | None:
    """Why a sample does not count for its arm, or None where it does.

    A setting may name evidence: keys of the sample's own evidence, and the values that prove the
    setting. A key that is absent or says something else makes the sample untreated.
    """
    for factor, setting in _settings(study, arm):
        for key, wanted in setting.evidence.items():
            found = sample.evidence.get(key)
            if found != wanted:
                said = "nothing" if found is None else repr(found)
                return f"untreated: {factor}={setting.name} needs {key}={wanted!r}, found {said}"
    return None


def without_evidence(study: Study | None) -> list[str]:
    """Factors none of whose settings says how it is proved to be in force."""
    if study is None:
        return []
    return [
        factor.name
        for factor in study.factors
        if not any(setting.evidence for setting in factor.settings)
    ]


def _settings(study: Study | None, arm: Mapping[str, str]) -> list[tuple[str, Setting]]:
    if study is None:
        return []
    return [
        (factor.name, setting)
        for factor in study.factors
        for setting in factor.settings
        if arm.get(factor.name) == setting.name
    ]
