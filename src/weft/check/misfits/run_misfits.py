"""What does not fit in a run: its findings, its caveats, and the samples that can be judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.bench.model import Sample
from weft.check.misfits.host_clocks import untold, with_clock_doubt, with_one_clock
from weft.check.misfits.missing_readings import of_survey
from weft.check.misfits.strange_names import with_known_names
from weft.check.verdict.verdict import Verdict
from weft.core.finding import Finding, worst_first
from weft.study.run.store import StudyRun
from weft.topology.fabric import Fabric


@dataclass(frozen=True, slots=True)
class RunMisfits:
    """`samples`: those that can be judged. `untold`: hosts whose clock no latency tells."""

    samples: tuple[Sample, ...]
    findings: tuple[Finding, ...] = ()
    caveats: tuple[str, ...] = ()
    untold: frozenset[str] = frozenset()

    def and_finding(self, finding: Finding) -> "RunMisfits":
        """These and another finding, which comes first."""
        return replace(self, findings=(finding, *self.findings))

    def added_to(self, verdict: Verdict) -> Verdict:
        """The verdict with these findings and caveats; a refused one stays as it is."""
        if verdict.refused:
            return verdict
        doubted = (with_clock_doubt(one, self.untold) for one in verdict.findings)
        findings = worst_first((*self.findings, *doubted))
        return replace(verdict, findings=findings, caveats=(*self.caveats, *verdict.caveats))


def misfits_of(
    run: StudyRun, samples: Sequence[Sample], wiring: Fabric | None, *, adaptive: bool
) -> RunMisfits:
    """The misfits of a run with these samples of pairs."""
    missing, caveats = of_survey(run, samples)
    kept, of_names = with_known_names(samples)
    kept, of_clocks = with_one_clock(kept, wiring, adaptive=adaptive)
    findings = (*of_clocks, *missing)
    return RunMisfits(tuple(kept), findings, (*of_names, *caveats), untold(kept))
