"""The rules of a linter of settings: each with what really happens, and its source."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from weft.catalog.document import Document, Slug, Text
from weft.catalog.toml_file import catalogue_document


class SettingRule(Document):
    """One rule. `title` names the mistake; `happens` and `fix` have places {in braces} for words of
    the case; `class_` says how far `happens` was verified."""

    id: Slug
    severity: Literal["bad", "warning", "note"]
    title: Text
    happens: Text
    fix: Text
    source: Text
    class_: Literal["sourced", "published", "assumed", "unverified"] = Field(
        alias="class", default="sourced"
    )

    @property
    def cited(self) -> str:
        """Its source, with a word where that was not verified."""
        return f"{self.source} (unverified)" if self.class_ == "unverified" else self.source


class SettingRules(Document):
    """All rules."""

    schema_: Literal["weft.setting-rules/1"] = Field(alias="schema")
    rules: tuple[SettingRule, ...] = Field(alias="rule", min_length=1)


@cache
def setting_rules() -> Mapping[str, SettingRule]:
    """Rules of settings by id, in the order of the document."""
    return _rules("setting_rules.toml")


@cache
def machine_rules() -> Mapping[str, SettingRule]:
    """Rules of a machine's own state by id, in the order of the document."""
    return _rules("machine_rules.toml")


@cache
def topology_rules() -> Mapping[str, SettingRule]:
    """Rules of NCCL's topology files by id, in the order of the document."""
    return _rules("topology_rules.toml")


@cache
def container_rules() -> Mapping[str, SettingRule]:
    """Rules of containers by id, in the order of the document."""
    return _rules("rules/container.toml")


def _rules(name: str) -> Mapping[str, SettingRule]:
    document = catalogue_document(SettingRules, name, "list of rules")
    return MappingProxyType({rule.id: rule for rule in document.rules})
