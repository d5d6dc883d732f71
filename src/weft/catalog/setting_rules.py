"""What a linter of settings looks for: each rule with what really happens, and its source."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from weft.catalog.document import Document, Slug, Text, parse_document


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


class SettingRules(Document):
    """All rules."""

    schema_: Literal["weft.setting-rules/1"] = Field(alias="schema")
    rules: tuple[SettingRule, ...] = Field(alias="rule", min_length=1)


@cache
def setting_rules() -> Mapping[str, SettingRule]:
    """Rules by id, in the order of the document."""
    text = resources.files("weft.catalog").joinpath("setting_rules.toml").read_text("utf-8")
    document = parse_document(SettingRules, text, "catalog/setting_rules.toml", "list of rules")
    return MappingProxyType({rule.id: rule for rule in document.rules})
