"""The report of `weft doctor env` on one file: verdict, what would have shown, complaints."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from weft.cli.doctor.complaints import complaint_lines, head_line
from weft.cli.output import would_show_lines
from weft.core.finding import Severity, cannot_tell, verdict_of
from weft.core.words import counted
from weft.doctor.case import DoctorCase
from weft.doctor.coverage import Coverage, coverage_of
from weft.doctor.job import Job
from weft.doctor.lint import Complaint, as_finding, lint


@dataclass(frozen=True, slots=True)
class EnvReport:
    """A job, the complaints about it, and what the rules could see of it."""

    job: Job
    complaints: Sequence[Complaint]
    coverage: Coverage

    @classmethod
    def of(cls, case: DoctorCase) -> Self:
        """The report on one job."""
        return cls(case.job, lint(case), coverage_of(case))

    @property
    def verdict(self) -> Severity:
        """BAD with a mistake; else UNKNOWN where a question stays open; else that of warnings."""
        worst = verdict_of(self.complaints)
        return Severity.UNKNOWN if worst is not Severity.BAD and self.coverage.gaps else worst

    def to_record(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.job.name,
            "kind": self.job.kind.value,
            "n_settings": self.coverage.n_variables,
            "verdict": self.verdict.value,
            "would_show": list(self.coverage.would_show),
            "not_seen": list(self.coverage.not_seen),
            "unknown": [asdict(one) for one in self.coverage.gaps],
            "findings": [as_finding(one, self.job.name).to_record() for one in self.complaints],
        }

    def lines(self, *, notes: bool) -> list[str]:
        """The verdict first, then what it rests on, then each complaint."""
        return [*self._head(), *complaint_lines(self.complaints, self._place_of, notes=notes)]

    def _head(self) -> list[str]:
        gaps = [cannot_tell(gap.unknown, gap.would_tell) for gap in self.coverage.gaps]
        if self.verdict is Severity.UNKNOWN:
            return [f"UNKNOWN  {gap}" for gap in gaps]
        good = f"no mistake in {counted(self.coverage.n_variables, 'variable')}"
        head = [head_line(self.job.name, self.complaints, good)]
        if self.verdict is Severity.GOOD:
            head += would_show_lines(self.coverage.would_show)
            seen = "; ".join(self.coverage.not_seen)
            head += [f"not seen: {seen}"] if seen else []
        return head

    def _place_of(self, one: Complaint) -> str:
        place = f"{self.job.name}:{one.found.at.line}" if self.job.text else self.job.name
        return f"{place}  {one.found.setting.name if one.found.setting is not None else ''}"
