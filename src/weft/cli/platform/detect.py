"""`weft platform detect`: a platform document of this machine, or of hosts over ssh."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import ANY_PATH, SSH_CONFIG
from weft.cli.output import emit, talk, text_or_json
from weft.core.errors import ExitCode, InputError
from weft.core.files import write_whole
from weft.core.finding import Severity
from weft.core.shell_line import quoted

if TYPE_CHECKING:
    from weft.catalog.machine.platform import Platform
    from weft.doctor.machine.detection.differences import HostDifference
    from weft.doctor.machine.detection.model import HostHardware
    from weft.doctor.machine.detection.warnings import HardwareHealth

SCHEMA = "weft.platform-detection/1"


@dataclass(frozen=True, slots=True)
class Detection:
    """What was detected. `n_hosts` is 0 for this machine, else `health` is that of `host`;
    `unreached` maps a host to its cause and remedy; `command` repeats the detection."""

    hardware: "HostHardware"
    platform: "Platform"
    health: "HardwareHealth"
    command: str
    out: Path | None = None
    host: str = ""
    n_hosts: int = 0
    differences: "tuple[HostDifference, ...]" = ()
    unreached: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the machine, which with several hosts is named."""
        head = f"{self.host}: " if self.host else ""
        return tuple(f"{head}{one}" for one in self.health.warnings)

    @property
    def verdict(self) -> Severity:
        """BAD where hosts differ; UNKNOWN where no file tells a port or a link."""
        if self.differences:
            return Severity.BAD
        if self.health.gaps:
            return Severity.UNKNOWN
        return Severity.WARNING if self.warnings or self.unreached else Severity.GOOD

    @property
    def is_here(self) -> bool:
        """Whether verbs find the same by the name 'here'."""
        return self.command == "weft platform detect"


@click.command("detect")
@click.option("--hosts", metavar="NODESET", help="These hosts over ssh: node[1-16].")
@SSH_CONFIG
@click.option("--out", "-o", type=ANY_PATH, help="Write the platform there.")
@click.option(
    "--sysroot",
    type=ANY_PATH,
    default=Path("/"),
    show_default=True,
    help="A directory that holds the machine's sys and proc; of each host with --hosts.",
)
@fail_on_option
@text_or_json
def command(
    hosts: str | None, ssh_config: Path | None, out: Path | None, sysroot: Path, format_: str
) -> int:
    """Write the platform document of this machine: links, slots, rails, GPUs, processors.

    Each figure names the file or command that it was read from. Figures that no file tells are
    those of the nearest generic platform, marked assumed.

    With --hosts weft reads each host over ssh, takes what most hosts have, and names the hosts that
    differ. Exit 1 where hosts differ, 2 where a host did not answer, 5 where no file tells whether
    a port is active or how fast its PCIe link is.
    """
    from weft.catalog.document import to_toml
    from weft.cli.platform.detect_text import detection_text, figure_rows

    if hosts is None and ssh_config is not None:
        raise InputError("--ssh-config goes with --hosts", expected="--hosts NODESET too")
    found = _of_hosts(hosts, ssh_config, out, sysroot) if hosts else _of_this(out, sysroot)
    if out is not None:
        write_whole(out, to_toml(found.platform), what="platform", hint="name another with --out")
        talk(f"wrote {out}")
    emit(
        format_,
        text=lambda: detection_text(found),
        record=_record(found, figure_rows(found.platform)),
    )
    if found.unreached and not found.differences:
        return int(ExitCode.INPUT)
    # A warning is no verdict on hardware that was detected as it is.
    is_open = found.verdict in (Severity.BAD, Severity.UNKNOWN)
    return exit_code_of(found.verdict if is_open else Severity.GOOD)


def _of_this(out: Path | None, sysroot: Path) -> Detection:
    from weft.doctor.machine.detection.commands import LiveCommands, SavedCommands
    from weft.doctor.machine.detection.document import ROOT, platform_of
    from weft.doctor.machine.detection.host import read_host
    from weft.doctor.machine.detection.warnings import hardware_health
    from weft.doctor.machine.sysroot import Sysroot

    root = Sysroot(sysroot)
    is_live = sysroot == ROOT
    hardware = read_host(root, LiveCommands() if is_live else SavedCommands(root))
    if hardware.is_empty:
        raise InputError(
            "nothing there tells what this machine is",
            where=str(sysroot),
            expected="a directory that holds the machine's sys and proc",
        )
    command = "weft platform detect" + ("" if is_live else f" --sysroot {quoted(sysroot)}")
    health = hardware_health(root, hardware)
    return Detection(hardware, platform_of(hardware), health, command, out)


def _of_hosts(hosts: str, ssh_config: Path | None, out: Path | None, sysroot: Path) -> Detection:
    """Raises InputError where no host answers."""
    from weft.cli.reach import unreachable
    from weft.cluster.reach import Reach
    from weft.cluster.remote import Ssh
    from weft.cluster.ssh_failure import SshFailure
    from weft.core.nodeset import expand
    from weft.doctor.machine.detection.differences import majority_of
    from weft.doctor.machine.detection.document import ROOT, platform_of
    from weft.doctor.machine.detection.remote import ask_hosts
    from weft.doctor.machine.detection.warnings import hardware_health

    asked = ask_hosts(Ssh(ssh_config), expand(hosts), str(sysroot))
    found = {host: one.hardware for host, one in asked.items() if one.hardware is not None}
    unreached = {h: (one.cause, one.remedy) for h, one in asked.items() if one.hardware is None}
    if not found:
        failures = {host: SshFailure(*why) for host, why in unreached.items()}
        raise unreachable(Reach(failures), tuple(asked))
    chosen, differences = majority_of(found)
    tree = asked[chosen].tree
    assert tree is not None
    options = f" --ssh-config {quoted(ssh_config)}" if ssh_config is not None else ""
    options += f" --sysroot {quoted(sysroot)}" if sysroot != ROOT else ""
    return Detection(
        hardware=found[chosen],
        platform=_common(platform_of(found[chosen]), chosen, hosts),
        health=hardware_health(tree, found[chosen]),
        command=f"weft platform detect --hosts {quoted(hosts)}{options}",
        out=out,
        host=chosen,
        n_hosts=len(asked),
        differences=tuple(differences),
        unreached=unreached,
    )


def _common(platform: "Platform", chosen: str, hosts: str) -> "Platform":
    """The platform of one host as that of all of them."""
    from weft.doctor.machine.detection.host import UNNAMED

    note = f"The files are those of {chosen}, which has what most of {hosts} have."
    return platform.model_copy(update={"name": UNNAMED, "notes": (*platform.notes, note)})


def _record(found: Detection, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "platform": found.platform.model_dump(mode="json", by_alias=True, exclude_none=True),
        "figures": rows,
        "verdict": found.verdict.value,
        "would_show": list(found.health.would_show),
        "unknown": [
            {"unknown": unknown, "would_tell": would_tell}
            for unknown, would_tell in found.health.gaps
        ],
        "warnings": list(found.warnings),
        "hosts": found.n_hosts,
        "differences": [
            {"figure": one.figure, "own": one.own, "usual": one.usual, "hosts": list(one.hosts)}
            for one in found.differences
        ],
        "unreached": [
            {"host": host, "cause": cause, "remedy": remedy}
            for host, (cause, remedy) in found.unreached.items()
        ],
        "unread": dict(found.hardware.unread),
    }
