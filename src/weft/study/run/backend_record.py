"""The backend of a run, as its run.toml records it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.study.run.store import StudyRun

_TWIN = "twin"


@dataclass(frozen=True, slots=True)
class BackendRecord:
    """A backend's name, and what it recorded about itself (`facts`)."""

    name: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_twin(self) -> bool:
        """Whether the figures come from a simulated fabric."""
        return self.name == _TWIN

    @property
    def measured_word(self) -> str:
        """'Measured', or 'Simulated' on a twin."""
        return "Simulated" if self.is_twin else "Measured"


def backend_of(run: StudyRun) -> BackendRecord:
    """The backend of a run; 'unknown' without facts where run.toml names none."""
    backend = run.meta.get("backend")
    known = backend if isinstance(backend, Mapping) else {}
    facts = known.get("facts")
    return BackendRecord(
        str(known.get("name", "unknown")), facts if isinstance(facts, Mapping) else {}
    )
