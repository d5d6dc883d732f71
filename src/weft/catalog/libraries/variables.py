"""The variables of a library: names, how it reads them, and since when."""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache, cached_property
from typing import Annotated, Literal

from pydantic import Field, model_validator

from weft.catalog.document import Document, Slug, Text, require_once
from weft.catalog.libraries.nccl import version_numbers

Version = Annotated[str, Field(pattern=r"^\d+(\.\d+)*$")]


class ValueSyntax(StrEnum):
    """How a library turns a variable's text into what it uses.

    `integer` is the library's own number reader (NCCL: strtoll in base 0, which reads `true` as 0
    and `2M` as 2); `size`, `time` and `boolean` are those of UCX and Open MPI, which take units and
    words. `level` is one of NCCL's distances, `interfaces` a list of names with ^ and =,
    `algorithms` a list that may name collectives; `list` and `choice` have their words in
    `choices`.
    """

    INTEGER = "integer"
    SIZE = "size"
    TIME = "time"
    BOOLEAN = "boolean"
    NUMBER = "number"
    TEXT = "text"
    PATH = "path"
    CHOICE = "choice"
    LIST = "list"
    LEVEL = "level"
    INTERFACES = "interfaces"
    ALGORITHMS = "algorithms"


BOOLEAN_WORDS = ("1", "t", "true", "0", "f", "false")
"""In any case. SOURCE: ncclParamDumpAll of libnccl 2.30.7 and newer."""


class Variable(Document):
    """One variable.

    `since` and `until` are the first and the last version that knew it, `until` empty where the
    newest does. `defaults` are pairs of a version and the value from it on, which is "" where no
    number is known and "unset" where the communicator's configuration decides. `least` and `most`
    bound what the library takes; `unit` is that of a number. `choices_since` are words that came
    later than the variable; from `boolean_since` on an integer is one of BOOLEAN_WORDS. `instead`
    names the variable that does its work now, `only` the builds that know it; `not_needed` says why
    new systems do without it. `conflicts` are pairs of another variable and what happens where both
    are set. `source` is the list's where it is empty.
    """

    name: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9_]*$")]
    reads: ValueSyntax = ValueSyntax.INTEGER
    since: Version = ""
    until: Version = ""
    defaults: tuple[tuple[Version, str], ...] = ()
    least: int | None = None
    most: int | None = None
    unit: str = ""
    choices: tuple[Text, ...] = ()
    choices_since: tuple[tuple[Text, Version], ...] = ()
    boolean_since: Version = ""
    any_case: bool = False
    instead: str = ""
    not_needed: str = ""
    conflicts: tuple[tuple[Text, Text], ...] = ()
    only: str = ""
    says: str = ""
    source: str = ""

    def known_in(self, version: str) -> bool:
        """Whether that version of the library reads it."""
        at = version_key(version)
        begun = not self.since or version_key(self.since) <= at
        return begun and (not self.until or at <= version_key(self.until))

    def choices_in(self, version: str) -> tuple[str, ...]:
        """The words that it may be, in that version."""
        since, at = dict(self.choices_since), version_key(version)
        return tuple(word for word in self.choices if version_key(since.get(word, "")) <= at)

    def default_in(self, version: str) -> str:
        """The value where it is not set, in that version; "" where that is not known."""
        at = version_key(version)
        begun = [default for since, default in self.defaults if version_key(since) <= at]
        return begun[-1] if begun else ""


class VariableList(Document):
    """The variables of one library, over all its versions.

    `prefixes` tell whose a name is; `versions` were looked into, in order. `not_variables` are
    texts in the library that only look like names of variables.
    """

    schema_: Literal["weft.variables/1"] = Field(alias="schema")
    library: Slug
    title: Text
    prefixes: tuple[Text, ...] = Field(min_length=1)
    source: Text
    says_when_unknown: bool = False
    versions: tuple[Version, ...] = ()
    not_variables: tuple[Text, ...] = ()
    variables: tuple[Variable, ...] = Field(alias="variable", min_length=1)

    @model_validator(mode="after")
    def _each_name_once(self) -> "VariableList":
        require_once((variable.name for variable in self.variables), "variable")
        return self

    @cached_property
    def by_name(self) -> Mapping[str, Variable]:
        """Variables by name."""
        return {variable.name: variable for variable in self.variables}

    def newest_of(self, version: str) -> str:
        """The newest version of a line that was looked into (2.26: what any of them knows is
        known); a version with three numbers, or of a line that was not, is itself.

        Raises InputError where the text is no version.
        """
        numbers = version_numbers(version)
        line = [one for one in self.versions if version_key(one)[: len(numbers)] == numbers]
        return line[-1] if line and len(numbers) < 3 else ".".join(str(one) for one in numbers)


@cache
def version_key(version: str) -> tuple[int, ...]:
    """A version as numbers that compare: 2.9.9 before 2.16.2, 2.27 the same as 2.27.0."""
    numbers = [int(part) for part in re.findall(r"\d+", version)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
