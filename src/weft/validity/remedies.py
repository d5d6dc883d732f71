"""Remedies for a run that proves nothing: remedies.toml in this folder."""

import functools
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from weft.catalog.document import Document, Text
from weft.catalog.toml_file import shipped_document


class TransportRemedy(Document):
    """The setting of one kind of MPI library for its device on one kind of fabric."""

    library: str
    selected: str
    link_layer: str
    say: Text
    source: Text


class SettingRemedy(Document):
    """A variable whose value keeps messages off the fabric unless it has one of these words."""

    variable: Text
    without: tuple[str, ...]
    say: Text
    source: Text


class ErrorCounter(Document):
    """A counter of errors: its meaning, the least number that is reported, the remedy."""

    counter: Text
    least: int = Field(gt=0)
    means: Text
    fix: Text
    source: Text


class Remedies(Document):
    """The whole file."""

    schema_: Literal["weft.remedies/1"] = Field(alias="schema")
    transport: tuple[TransportRemedy, ...]
    setting: tuple[SettingRemedy, ...]
    error: tuple[ErrorCounter, ...]


@functools.cache
def remedies() -> Remedies:
    """The shipped ones."""
    return shipped_document(Remedies, "remedies.toml", "table of remedies")


def how_to_select(
    library: str, selected: Sequence[str], link_layer: str, devices: Sequence[str]
) -> str:
    """The settings that put this MPI library's messages on these devices ('mlx5_0:1')."""
    words = " ".join(selected).lower()
    names = ",".join(dict.fromkeys(device.partition(":")[0] for device in devices))
    for one in remedies().transport:
        fits = one.library in library.lower() and one.selected in words
        if fits and one.link_layer == link_layer:
            return one.say.format(devices=",".join(devices), names=names)
    return f"settings that name {','.join(devices)}"


def settings_that_hinder(settings: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """A sentence for each setting that keeps messages off the fabric; none for others."""
    found = []
    for one in remedies().setting:
        for value in settings.get(one.variable, ()):
            words = value.lower().split(",")
            # A list that begins with '^' excludes what it names, and may leave the others.
            if not value.startswith("^") and not set(words) & set(one.without):
                found.append(one.say.format(value=value))
    return tuple(found)
