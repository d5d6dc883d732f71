"""Orders of the source about a container: what `weft doctor container` says of stub libraries.

gcc compiles them, and ldconfig writes the image's ld.so.cache.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.unit.doctor.container.container_cases import MOUNTS, PATH, judged
from tests.unit.doctor.container.container_trees import SlingshotNode

from weft.core.finding import Severity

DEVICES = tuple(f"/dev/cxi{number}:/dev/cxi{number}" for number in range(4))
SELECTED = "NCCL_NET_PLUGIN=ofi"
LIBFABRIC, PLUGIN = "/opt/libfabric", "/opt/ofi"


@dataclass(frozen=True, slots=True)
class Launched:
    """What weft says of a launch: verdict, rules of its faults, NCCL's plug-in and network."""

    verdict: Severity
    rules: frozenset[str]
    plugin: str
    network: str

    def __str__(self) -> str:
        rules = f" ({', '.join(sorted(self.rules))})" if self.rules else ""
        return f"{self.verdict.value.upper()}{rules}"


def launched(node: SlingshotNode, *variables: str, has_mounts: bool = True) -> Launched:
    """A launch with variables, with or without the host's two folders and its adapters."""
    mounts = (*MOUNTS, *DEVICES) if has_mounts else ()
    _, chain = judged(node.image, node.host, mounts=mounts, env=variables)
    plugin = next((link.file for link in chain.links if link.name == "net plug-in"), "")
    rules = frozenset(fault.rule.id for fault in chain.faults)
    return Launched(chain.verdict(), rules, plugin, chain.network)


def write_cache(node: SlingshotNode) -> None:
    """ld.so.cache of an image that has the folder of libfabric: by ldconfig, as of a mount."""
    folder = LIBFABRIC.removeprefix("/")
    inside = node.image / folder
    shutil.copytree(node.host / folder, inside)
    (node.image / "etc/ld.so.conf").write_text(f"{LIBFABRIC}\n")
    subprocess.run(["/sbin/ldconfig", "-r", str(node.image)], check=True, timeout=60)
    shutil.rmtree(inside)


def container_orders() -> Iterator[tuple[str, bool, str]]:
    """The source's orders about libfabric, the plug-in, its selection, and an unmodified image: the
    id, whether weft says the same, and of which launches."""
    with tempfile.TemporaryDirectory() as folder:
        node = SlingshotNode(Path(folder)).build()
        whole = launched(node, f"LD_LIBRARY_PATH={PATH}", SELECTED)
        lost_fabric = launched(node, f"LD_LIBRARY_PATH={PLUGIN}", SELECTED)
        lost_plugin = launched(node, f"LD_LIBRARY_PATH={LIBFABRIC}", SELECTED)
        unselected = launched(node, f"LD_LIBRARY_PATH={PATH}")
        unmodified = launched(node, has_mounts=False)
        write_cache(node)
        cached = launched(node, f"LD_LIBRARY_PATH={PLUGIN}", SELECTED)
    own = f"{PLUGIN}/libnccl-net-ofi.so"
    yield (
        "ord-md-libfabric",
        whole.verdict is cached.verdict is Severity.GOOD
        and lost_fabric.rules == {"libfabric-not-on-path"},
        f"mounted: by LD_LIBRARY_PATH {whole}, by ld.so.cache {cached}, by neither {lost_fabric}",
    )
    yield (
        "ord-md-plugin",
        (whole.verdict, whole.plugin) == (Severity.GOOD, own)
        and lost_plugin.rules == {"plugin-not-on-path"},
        f"mounted: with its folder in LD_LIBRARY_PATH {whole} and NCCL opens {whole.plugin},"
        f" without it {lost_plugin}",
    )
    yield (
        "ord-md-selection",
        whole.plugin == own
        and unselected.rules == {"plugin-not-selected"}
        and unselected.plugin.endswith("/libnccl-net.so"),
        f"with {SELECTED} NCCL opens {whole.plugin}, without it the image's {unselected.plugin}",
    )
    yield (
        "ord-md-no-libfabric",
        "libfabric-absent" in unmodified.rules and unmodified.network.endswith("NET/Socket"),
        f"nothing mounted: {unmodified}; ranks {unmodified.network}",
    )
