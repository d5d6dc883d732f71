"""A change tried on the real OpenSM, over ibsim: its tables before and after."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from weft.audit.change_risk.change import FabricChange, after_changes
from weft.audit.change_risk.reach import changed
from weft.core.errors import MissingError
from weft.core.files import write_whole
from weft.core.process import Command, Ending, Limits, run
from weft.topology.subnet.subnet import PortKey, Subnet

TOOLS = ("ibsim", "ibsim-run", "opensm")
OPENSM_ENGINES = ("minhop", "updn", "dnup", "ftree", "dor", "lash", "sssp", "dfsssp")
WITH_LANES = ("lash", "dfsssp")
"""Engines that keep credit loops apart by service levels and virtual lanes."""
LIMIT_S = 600
# ibsim's limits: nodes, switches, ports, and LIDs.
_LIMITS = "-N 50000 -S 5000 -P 400000 -L 49152"
_SCRIPT = f"""
ready() {{  # FILE TEXT TIMES: wait until a file has a text so many times
    n=0
    while [ "$(grep -c "$2" "$1" 2>/dev/null)" -lt "$3" ] 2>/dev/null; do
        n=$((n + 1)); [ $n -gt {LIMIT_S * 10 // 2} ] && {{ tail -n 3 "$1" >&2; exit 3; }}
        sleep 0.1
    done
}}
mkfifo commands && touch sim.log osm.log
ibsim -s {_LIMITS} net.txt <commands >sim.log 2>&1 &
exec 3>commands
ready sim.log 'Network simulator ready' 1
ibsim-run opensm -D 0x43 -s 0 -f osm.log -F opensm.conf "$@" >/dev/null 2>&1 &
manager=$!
ready osm.log 'SUBNET UP' 1
mkdir before after && cp osm.log opensm-*.lst opensm-*.dump before
cat change.txt >&3
ready sim.log 'dumped' 1
kill -HUP $manager
ready osm.log 'SUBNET UP' 2
cp osm.log opensm-*.lst opensm-*.dump after
"""


def run_opensm(
    subnet: Subnet, changes: Sequence[FabricChange], engine: str
) -> "tuple[Subnet, Subnet]":
    """What OpenSM's engine fills before and after the changes, with the LIDs of the subnet.

    OpenSM goes on running, as at a site: it keeps entries that are still among the best. Raises
    MissingError where it is not installed, or does not bring the subnet up.
    """
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise MissingError(
            f"{', '.join(missing)} not found",
            expected="OpenSM and ibsim on this machine",
            hint="Debian: apt install opensm ibsim-utils; or leave --opensm out",
        )
    # Switches that come are there from the start, without a cable: OpenSM does not see them.
    added = [FabricChange(it.words, switches=it.switches) for it in changes]
    whole = after_changes(subnet, added)
    final = changed(subnet, changes).subnet
    first = next(node for node in final.nodes if not node.is_switch)
    with tempfile.TemporaryDirectory(prefix="weft-opensm-") as name:
        folder = Path(name)
        files = {
            "net.txt": whole.export("ibsim")[0],
            "change.txt": "".join(f"{line}\n" for line in commands_of(subnet, changes)) + "Dump\n",
            "guid2lid": guid2lid(subnet),
            "opensm.conf": "force_log_flush TRUE\nsweep_on_trap FALSE\n",
        }
        for file, text in files.items():
            write_whole(folder / file, text, what=file)
        lanes = ["-Q"] if engine in WITH_LANES else []
        end = run(
            Command(
                ("sh", "-c", _SCRIPT, "sh", "-R", engine, *lanes),
                env={
                    **os.environ,
                    "IBSIM_SOCKNAME": folder.name,
                    "OSM_CACHE_DIR": name,
                    "OSM_TMP_DIR": name,
                    "SIM_HOST": node_id(first.guid, is_switch=False),
                },
                cwd=folder,
                ends_tree=True,
            ),
            Limits(LIMIT_S),
        )
        if end.ending is not Ending.EXITED or end.exit_code != 0:
            said = end.err.decode("utf-8", "replace").strip().splitlines()
            raise MissingError(
                f"OpenSM did not bring the subnet up on ibsim ({end.ending})",
                where=f"opensm -R {engine}",
                expected="'SUBNET UP' in its log before and after the change",
                hint=said[-1] if said else "leave --opensm out: weft computes the tables itself",
            )
        return _dumped(folder / "before"), _dumped(folder / "after")


def _dumped(folder: Path) -> Subnet:
    return Subnet.read(sorted(str(file) for file in folder.iterdir()))


def node_id(guid: int, *, is_switch: bool) -> str:
    """A node as ibsim names it."""
    return f"{'S' if is_switch else 'H'}-{guid:016x}"


def commands_of(subnet: Subnet, changes: Sequence[FabricChange]) -> list[str]:
    """The changes as commands of ibsim: what goes first, then what comes."""
    switches = {node.guid for node in subnet.nodes if node.is_switch}
    switches |= {switch.guid for change in changes for switch in change.switches}

    def end(key: PortKey) -> str:
        return f'"{node_id(key[0], is_switch=key[0] in switches)}"[{key[1]}]'

    lines = []
    for change in changes:
        for guid in change.gone:
            lines.append(f'Unlink "{node_id(guid, is_switch=guid in switches)}"')
        if change.unplugged:
            lines.append(f"Unlink {end(change.unplugged[0])}")
    for change in changes:
        lines += (f"Link {end(cable.a)} {end(cable.b)}" for cable in change.cables)
    return lines


def guid2lid(subnet: Subnet) -> str:
    """OpenSM's cache, so that it gives the LIDs that were read: by port GUID as ibsim has it."""
    lids = [(node.guid, node.lid) for node in subnet.nodes if node.is_switch and node.lid]
    for node in subnet.nodes:
        if not node.is_switch:
            lids += ((node.guid + port, lid) for port, lid in node.port_lids.items() if lid)
    return "".join(f"0x{guid:016x} 0x{lid:04x} 0x{lid:04x}\n\n" for guid, lid in sorted(lids))
