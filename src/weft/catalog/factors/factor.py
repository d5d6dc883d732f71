"""A factor of the catalogue (schema weft.factor/1): a study names it and its settings."""

import re
from functools import cache
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from weft.catalog.document import Document, Slug, Text, require_once
from weft.catalog.toml_file import catalogue_document, catalogue_names
from weft.core.errors import InputError, unknown_name


class LiveSwitch(Document):
    """What puts a setting in force on a machine: variables of a launch, or (`manual`) what an
    administrator does; and what proves that it was in force."""

    env: dict[str, str] = Field(default_factory=dict)
    manual: str = ""
    evidence: dict[str, Any] = Field(default_factory=dict)


class CatalogueSetting(Document):
    """A value of a factor. `options` hold on any backend, but for those that only a simulated
    fabric has; `evidence` is a twin's. Without `live` no machine can be switched by weft."""

    name: Slug
    options: dict[str, Any] = Field(default_factory=dict)
    evidence: dict[str, Any] = Field(default_factory=dict)
    live: LiveSwitch | None = None


class AnySetting(Document):
    """Settings that a site names itself: each whole match of a `pattern`, which `form` tells in
    words; '{name}' in a variable's value is the setting's name."""

    form: Text
    pattern: Text
    live: LiveSwitch

    def named(self, name: str) -> CatalogueSetting | None:
        """The setting of this name, None where it is none."""
        if re.fullmatch(self.pattern, name) is None:
            return None
        return CatalogueSetting(name=name, live=self.named_in(name))

    def named_in(self, name: str) -> LiveSwitch:
        """The switch with this name in its variables."""
        env = {key: value.replace("{name}", name) for key, value in self.live.env.items()}
        return self.live.model_copy(update={"env": env})


class CatalogueFactor(Document):
    """A variable that many studies have: its `settings`, or `any` that a site names."""

    schema_: Literal["weft.factor/1"] = Field(alias="schema")
    name: Slug
    title: Text
    notes: tuple[Text, ...] = ()
    source: Text
    settings: tuple[CatalogueSetting, ...] = ()
    any: AnySetting | None = None

    @field_validator("settings")
    @classmethod
    def _settings_have_one_name_each(
        cls, settings: tuple[CatalogueSetting, ...]
    ) -> tuple[CatalogueSetting, ...]:
        require_once((setting.name for setting in settings), "setting")
        return settings

    @model_validator(mode="after")
    def _has_settings(self) -> "CatalogueFactor":
        if self.any is None and len(self.settings) < 2:
            raise ValueError("two settings or more, or 'any'")
        return self

    def setting(self, name: str) -> CatalogueSetting:
        """A setting by name. Raises InputError."""
        for setting in self.settings:
            if setting.name == name:
                return setting
        if self.any is not None:
            found = self.any.named(name)
            if found is not None:
                return found
            what = f"factor '{self.name}' has no setting '{name}'"
            raise InputError(what, expected=self.any.form, hint=next(iter(self.notes), None))
        known = [setting.name for setting in self.settings]
        raise unknown_name(f"factor '{self.name}' has no setting '{name}'", name, known)


@cache
def catalogue_factor(name: str) -> CatalogueFactor:
    """A factor of the catalogue. Raises InputError."""
    known = factor_names()
    if name not in known:
        raise unknown_name(f"no factor '{name}' in the catalogue", name, known)
    return catalogue_document(CatalogueFactor, f"factors/{name}.toml", "factor")


def factor_names() -> list[str]:
    """Factors of the catalogue, sorted."""
    return catalogue_names("factors")
