"""All stages, one after another, on the hosts on which none has failed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from weft.cluster.bringup.model import Cluster, Outcome, Stage, StageState
from weft.core.work.progress import each

NOT_TRIED = Outcome(StageState.NOT_TRIED)
Observer = Callable[[str, Mapping[str, Outcome]], None]


@dataclass(frozen=True, slots=True)
class BringupResult:
    """How each stage went on each host, stages in their order."""

    stages: tuple[str, ...]
    outcomes: dict[str, dict[str, Outcome]]

    def good_hosts(self) -> tuple[str, ...]:
        """Hosts on which every stage went well."""
        return tuple(
            h for h, of in self.outcomes.items() if all(o.state.goes_on for o in of.values())
        )

    def would_mend(self) -> bool:
        """Whether something is left to do after a dry run."""
        return self._has(StageState.WOULD)

    def is_unknown(self) -> bool:
        """Whether a host reports too little for a stage."""
        return self._has(StageState.UNKNOWN)

    def _has(self, state: StageState) -> bool:
        return any(o.state is state for of in self.outcomes.values() for o in of.values())


def bring_up(cluster: Cluster, stages: Sequence[Stage], report: Observer) -> BringupResult:
    """Run the stages. A host on which one fails takes no part in those after it; the others go on.
    `report` is called after each stage that a host came to."""
    outcomes: dict[str, dict[str, Outcome]] = {host: {} for host in cluster.hosts}
    left = list(cluster.hosts)
    for stage in each(stages, "bringing hosts up", unit="stage"):
        of_stage = dict(stage.run(cluster, left)) if left else {}
        went = {host: of_stage.get(host, NOT_TRIED) for host in cluster.hosts}
        for host, outcome in went.items():
            outcomes[host][stage.name] = outcome
        if left:
            report(stage.name, went)
        left = [host for host in left if went[host].state.goes_on]
    return BringupResult(tuple(stage.name for stage in stages), outcomes)
