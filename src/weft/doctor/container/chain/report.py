"""The chain of a container: its links, the faults in it, and the questions that stay open."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.catalog.libraries.setting_rules import SettingRule, container_rules
from weft.core.finding import Severity
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.image.view import Located
from weft.doctor.container.loader.closure import LoadedFile
from weft.doctor.job import HOLE

if TYPE_CHECKING:
    from weft.doctor.container.chain.process_lines import ProviderLog, StartLog

BY_ABSENCE = frozenset(
    {
        "plugin-not-mounted",
        "plugin-not-on-path",
        "plugin-not-selected",
        "libfabric-absent",
        "libfabric-not-on-path",
        "dependency-missing",
        "provider-missing",
        "device-missing",
        "verbs-absent",
        "driver-missing",
        "mpi-other-abi",
        "pmi-unfit",
    }
)
"""Faults that something which the documents leave open could mend."""
BY_PATH = frozenset(
    {
        *("plugin-not-on-path", "libfabric-not-on-path", "dependency-missing", "provider-missing"),
        *("mpi-other-abi", "pmi-unfit"),
    }
)
"""Of these, the ones that another folder of LD_LIBRARY_PATH could mend."""


@dataclass(frozen=True, slots=True)
class ChainFault:
    """One thing that breaks the chain."""

    rule: SettingRule
    words: Mapping[str, str]

    @property
    def happens(self) -> str:
        """What happens, in one sentence."""
        return self.rule.happens.format_map(self.words)

    @property
    def fix(self) -> str:
        """What mends it."""
        return self.rule.fix.format_map(self.words)


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One link: the file that a process will open, and what leads there. `is_first`: no link above
    leads to it."""

    name: str
    file: str = ""
    detail: str = ""
    severity: Severity = Severity.GOOD
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """What weft cannot tell, and what would tell."""

    unknown: str
    would_tell: str


@dataclass
class Chain:
    """Links from the application down to the adapter. `network` is what NCCL falls back to."""

    fabric: str
    links: list[ChainLink] = field(default_factory=list)
    faults: list[ChainFault] = field(default_factory=list)
    warnings: list[ChainFault] = field(default_factory=list)
    gaps: list[OpenQuestion] = field(default_factory=list)
    would_show: list[str] = field(default_factory=list)
    network: str = ""
    log: tuple[str, ...] | None = None
    """Lines that NCCL will print about its plug-in and network; None where their form is not
    known."""
    provider_log: "ProviderLog | None" = None
    """Of the plug-in's libfabric; None where NCCL reaches none."""
    start_log: "StartLog | None" = None
    """Of the program; None where weft does not know the program, or a fault that an open part of
    the launch may mend keeps it from its start."""

    def fault(self, rule: str, /, **words: str) -> None:
        """Add a fault, or by its rule a warning, which changes no verdict; each once."""
        one = ChainFault(container_rules()[rule], words)
        found = self.warnings if one.rule.severity == "warning" else self.faults
        if one not in found:
            found.append(one)

    def gap(self, unknown: str, would_tell: str) -> None:
        """Add an open question, each once."""
        one = OpenQuestion(unknown, would_tell)
        if one not in self.gaps:
            self.gaps.append(one)

    def link(
        self,
        name: str,
        file: LoadedFile | None,
        detail: str = "",
        *,
        is_broken: bool = False,
        is_first: bool = False,
    ) -> None:
        """Add a link, with the file and what leads there."""
        severity = Severity.BAD if is_broken or file is None else Severity.GOOD
        if file is None:
            self.links.append(ChainLink(name, "", detail or "not found", severity, is_first))
            return
        parts = [origin_of(file.located), file.by, detail]
        words = "; ".join(one for one in parts if one)
        self.links.append(ChainLink(name, file.opened, words, severity, is_first))

    def verdict(self) -> Severity:
        """BAD with a fault, UNKNOWN with an open question, else GOOD."""
        if self.faults:
            return Severity.BAD
        return Severity.UNKNOWN if self.gaps else Severity.GOOD


DECISIVE = (
    *("NCCL_NET", "NCCL_IB_DISABLE", "FI_PROVIDER", "FI_PROVIDER_PATH"),
    *("RDMAV_DRIVERS", "IBV_DRIVERS"),
)
"""Variables besides NCCL_NET_PLUGIN and LD_LIBRARY_PATH that decide whether the chain holds."""
MOST_DENIED = 3
"""Paths that are named of those that a user may not see."""


def is_switch_on(value: str) -> bool:
    """Whether NCCL takes a value for another number than 0, by its first digits; what is no number
    it refuses, and keeps its default.

    SOURCE: libnccl 2.18.3, 2.26.5 and 2.32.3 tried: 1, -1, 1x and " 1" are on; 0, 00, "false" and
    "" are not.
    """
    number = _NUMBER.match(value)
    return number is not None and bool(number[1].strip("0xX"))


_NUMBER = re.compile(r"\s*[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)", re.ASCII)


def is_known(value: str) -> bool:
    """Whether a value has no part that only the running job knows."""
    return HOLE not in value and "$" not in value


def report_unknown(case: ContainerCase, chain: Chain) -> None:
    """Add an open question for each decisive variable whose value, or effect, weft cannot tell."""
    for name in DECISIVE:
        if not is_known(case.value(name)):
            chain.gap(f"the value of {name} (only the job knows it)", f"--env {name}=VALUE")
    first = case.value("LD_LIBRARY_PATH").split(":")[0]
    if not is_known(first):
        chain.gap(
            "which libraries stand in the first folder of LD_LIBRARY_PATH (only the job knows it)",
            "--env LD_LIBRARY_PATH=VALUE",
        )
    preload = case.variables.get("LD_PRELOAD")
    if preload is not None and preload.value:
        chain.gap(
            f"what LD_PRELOAD={preload.text} replaces ({preload.origin})",
            "`weft doctor log` of a run with NCCL_DEBUG=INFO",
        )
    for what, would_tell in case.doubts:
        chain.gap(what, would_tell)
    for path in case.view.denied[:MOST_DENIED]:
        chain.gap(f"what {path} is (this user may not look at it)", "the same command as root")
    if case.image.is_running:
        for what in case.image.not_seen:
            chain.gap(what, "the same command as the user of the container, or as root")


def report_broken_links(chain: Chain) -> None:
    """A link that does not hold is never GOOD, even where no rule says why."""
    broken = [one.name for one in chain.links if one.severity is not Severity.GOOD]
    if broken and not chain.faults and not chain.gaps:
        log = "`weft doctor log` of a run with NCCL_DEBUG=INFO"
        chain.gap(f"why {', '.join(broken)} does not load", log)


def origin_of(found: Located) -> str:
    """Where a file comes from: the image, or a mount."""
    return found.origin or "the image"


def settle(case: ContainerCase, chain: Chain) -> None:
    """Turn faults that an open part of the launch could mend into open questions."""
    opened = [*open_parts(case)]
    kept = []
    for one in chain.faults:
        by_path = one.rule.id in BY_PATH and case.has_unknown_folders
        if one.rule.id not in BY_ABSENCE or not (opened or by_path):
            kept.append(one)
            continue
        parts = opened or [("the folders of LD_LIBRARY_PATH that only the job knows", "--env")]
        for what, would_tell in parts:
            chain.gap(f"{one.happens}, unless {what} mends it", would_tell)
    chain.faults[:] = kept


def open_parts(case: ContainerCase) -> Sequence[tuple[str, str]]:
    """Parts of the launch that may bring files or variables, each with what would tell."""
    log = "`weft doctor log` of a run with NCCL_DEBUG=INFO"
    plan = case.plan
    parts = (*plan.unknown, *case.doubts, *plan.unanswered)
    found = [(_as_noun(what), told) for what, told in parts]
    if case.image.is_running:
        found += [(what, "the same command as root") for what in case.image.not_seen]
    found += [(f"the hook {one}", log) for one in (*case.plan.hooks, *case.site_hooks)]
    found += [(one, log) for one in case.directories.doubts]
    found += [
        (f"the mount {one.source.replace(chr(0), '...')}", "--mount with both paths")
        for one in case.unknown_mounts
    ]
    found += [
        (f"a file in {one},", "the same command as root, or --mount of its folder")
        for one in case.view.unlisted[:MOST_DENIED]
    ]
    if not case.host_is_given:
        found += [
            (f"{one.source}, which this machine lacks,", "the same command on a compute node")
            for one in case.absent_mounts
        ]
    return found


def _as_noun(what: str) -> str:
    return what.removeprefix("what ").removesuffix(" sets").removesuffix(" brings")
