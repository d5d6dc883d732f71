"""A result file behind an imported run, as run.toml records it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """`raw` is its name in raw/; `conditions` are those that its tables print."""

    name: str = "?"
    raw: str = ""
    sha256: str = ""
    arm: str = ""
    n_lines: int = 0
    tests: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    conditions: Mapping[str, str] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """For run.toml; empty values are left out."""
        lists = {name: list(getattr(self, name)) for name in ("tests", "tools", "devices")}
        record = asdict(self) | lists | {"conditions": dict(self.conditions)}
        return {key: value for key, value in record.items() if value not in ("", [], {})}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """The file of a record; unknown keys of a newer writer are ignored."""
        return cls(**{key: record[key] for key in cls.__dataclass_fields__ if key in record})
