"""Values of the doctor's findings. A field's name is its key in JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.core.finding import FindingFacts


@dataclass(frozen=True, slots=True)
class SettingFacts(FindingFacts):
    """A setting in a file, the rule it breaks, and the correction."""

    rule: str
    title: str
    file: str
    line: int
    column: int
    name: str | None
    value: str | None
    happens: str
    fix: str
    source: str
    can_be_fixed: bool


@dataclass(frozen=True, slots=True)
class MachineFacts(FindingFacts):
    """A part of this machine, the rule it breaks, and the words of the sentence."""

    rule: str
    about: str
    fix: str
    words: Mapping[str, str]

    def to_record(self) -> dict[str, Any]:
        """The words are keys like the others."""
        return {"rule": self.rule, "about": self.about, "fix": self.fix, **self.words}


@dataclass(frozen=True, slots=True)
class VariableFacts(FindingFacts):
    """A variable of a launch that ranks did not read, or read as another value."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class TransportFacts(FindingFacts):
    """Ranks that fell back to a slow transport, and why."""

    transport: str
    n_ranks: int
    hosts: list[str]
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class ChannelFacts(FindingFacts):
    """Network channels, and those of them that go through host memory."""

    n_channels: int
    n_through_host: int


@dataclass(frozen=True, slots=True)
class MessageFacts(FindingFacts):
    """A message of the catalogue in a log: its name there, how often it stands, and the remedy."""

    message: str
    effect: str
    n_times: int
    hosts: list[str]
    cause: str
    remedy: str


@dataclass(frozen=True, slots=True)
class PartingFacts(FindingFacts):
    """The first line that is another one: its number from 1 on, and both lines; `logged` is None
    where the process wrote no further line. `link` of the chain did otherwise."""

    number: int
    predicted: str | None
    logged: str | None
    link: str
    n_processes: int
