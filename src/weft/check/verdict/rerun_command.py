"""The command that measures the same again: the options of a check, as they were given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weft.check.readings.components import vertex_of
from weft.check.verdict.drain_list import accused_node
from weft.check.wording.headline import fault_of, things_of
from weft.core.finding import Finding
from weft.core.nodeset import fold
from weft.core.shell_line import shell_line
from weft.validity.facts import OffFabricFacts

if TYPE_CHECKING:
    from pathlib import Path

    from weft.check.verdict.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Again:
    """Options by name, each with all its words as they are typed."""

    options: Mapping[str, tuple[str, ...]]

    @classmethod
    def of_record(cls, record: Any) -> "Again":
        """What `to_record` made; of a run that remembers nothing, no option."""
        return cls({str(words[0]): tuple(map(str, words)) for words in record or ()})

    def to_record(self) -> list[list[str]]:
        """As a run remembers it."""
        return [list(words) for words in self.options.values()]

    @property
    def argv(self) -> tuple[str, ...]:
        """The whole command."""
        return ("weft", "check", *(word for words in self.options.values() for word in words))

    def against(self, run_dir: "Path") -> tuple[str, ...]:
        """The command, compared with that run."""
        return (*self.argv, "--against", str(run_dir))

    def of_hosts(self, hosts: Sequence[str]) -> "Again":
        """The same of these hosts, unless hosts were named."""
        if {"--hosts", "--hostfile", "--cluster"} & set(self.options):
            return self
        return Again({"--hosts": ("--hosts", fold(hosts)), **self.options})

    def over(self, rails: Sequence[str]) -> "Again":
        """The same over these network devices, one rank each."""
        kept = {name: it for name, it in self.options.items() if name != "--tasks-per-node"}
        return Again({**kept, "--rails": ("--rails", ",".join(rails))})


def rerun_scope(verdict: "Verdict") -> str | None:
    """The argument of --only once the worst accusation is mended: a node, the lower switch of a
    cable, or a switch. None where none of them has all accused components."""
    faults = (one for one in verdict.findings if fault_of(one) is not None)
    worst, network = next(faults, None), verdict.survey.crossings.network
    if worst is None or network is None:
        return None
    node, things = accused_node(worst), sorted(things_of(worst))
    if node is not None or len(things) != 1 or things[0][0] not in ("cable", "switch"):
        return node
    level = {str(switch["name"]): switch["level"] for switch in network.wiring.document["switches"]}
    kind, names = things[0]
    ends = names if kind == "switch" else tuple(vertex_of(name) for name in names)
    return min(ends, key=lambda end: (level.get(end, 0), end))


def with_own_options(verdict: "Verdict", again: Again) -> "Verdict":
    """The verdict, whose command to mend a run that proves nothing has the options of this one."""
    return replace(verdict, findings=tuple(_with_options(one, again) for one in verdict.findings))


def _with_options(finding: Finding, again: Again) -> Finding:
    missed = finding.facts
    if not isinstance(missed, OffFabricFacts) or not missed.rails or not missed.hosts:
        return finding
    rerun = again.of_hosts(missed.hosts).over(missed.rails)
    return replace(finding, next_command=shell_line(rerun.argv))
