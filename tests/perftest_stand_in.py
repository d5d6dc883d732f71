"""Hosts with RDMA devices that are not there: a /sys, and stand-ins for ib_write_bw and numactl.

The stand-ins speak as perftest does (texts of perftest 4.5 and of people's listings), listen and
connect for real, and measure nothing: what they print was measured on Azure's NDv4.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# SOURCE: Jose & Shainer, UCF 2022, slide "RDMA (Host Memory)": eight pairs, each in both ways.
ROWS_THERE = (
    "8388608 2922 0.00 196.09 0.002922",
    "8388608 2928 0.00 196.49 0.002928",
    "8388608 2894 0.00 194.21 0.002894",
    "8388608 2883 0.00 193.47 0.002883",
    "8388608 2893 0.00 194.14 0.002893",
    "8388608 2883 0.00 193.47 0.002883",
    "8388608 2922 0.00 196.09 0.002922",
    "8388608 2916 0.00 195.48 0.002913",
)
ROWS_BACK = (
    "8388608 2920 0.00 195.96 0.002920",
    "8388608 2930 0.00 196.63 0.002930",
    "8388608 2896 0.00 194.34 0.002896",
    "8388608 2881 0.00 193.34 0.002881",
    "8388608 2895 0.00 194.28 0.002895",
    "8388608 2885 0.00 193.61 0.002885",
    "8388608 2924 0.00 196.22 0.002924",
    "8388608 2915 0.00 195.62 0.002915",
)

NUMACTL = """\
#!/bin/sh
echo "$$ $*" >> "${WEFT_STAND_IN:-/tmp/stand_in}/numactl.log"
while case "$1" in --*) true ;; *) false ;; esac; do shift; done
exec "$@"
"""

PERFTEST = r'''
import getopt, json, os, socket, sys, time
from pathlib import Path

HOME = Path(os.environ.get("WEFT_STAND_IN", "/tmp/stand_in"))
LINE = "-" * 87
HEADER = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"

def log(**said):
    with (HOME / "calls.jsonl").open("a") as file:
        file.write(json.dumps({"pid": os.getpid(), **said}) + "\n")

def fail(*lines):
    sys.stdout.flush()
    print(*lines, sep="\n", file=sys.stderr)
    sys.exit(1)

def together(name, n):
    """Goes on when as many as n are here at once."""
    folder = HOME / name
    folder.mkdir(exist_ok=True)
    (folder / str(os.getpid())).touch()
    until = time.monotonic() + 40
    while len(list(folder.iterdir())) < n:
        if time.monotonic() > until:
            fail("alone: the others never came")
        time.sleep(0.02)

def tests(device, row):
    print(LINE, "                    RDMA_Write BW Test", sep="\n")
    print(f" Dual-port       : OFF\t\tDevice         : {device}")
    print(" Number of qps   : 1\t\tTransport type : IB")
    print(" Connection type : RC\t\tUsing SRQ      : OFF")
    print(" Mtu             : 4096[B]", " Link type       : IB", LINE, HEADER, sep="\n")
    print(row, LINE, sep="\n")

names = ["size=", "report_gbits", "use_cuda="]
try:
    options, rest = getopt.gnu_getopt(sys.argv[1:], "d:i:p:s:D:F", names)
except getopt.GetoptError as error:
    fail(f"{sys.argv[0]}: {error}")
options = dict(options)
faults = json.loads((HOME / "faults.json").read_text())
device, port = options["-d"], int(options["-p"])
fault = faults.get(device, "")
side = "client" if rest else "server"
order = os.environ.get("CUDA_DEVICE_ORDER", "")
log(side=side, device=device, port=port, args=sys.argv[1:], order=order)
if "--use_cuda" in options and fault == "no cuda":
    fail(f"ib_write_bw: unrecognized option '--use_cuda={options['--use_cuda']}'",
         " Invalid Command or flag.", " Please check command line and run again.")
if fault == f"{side} hangs":
    time.sleep(600)
if fault == f"{side} finds nothing":
    fail(" Did not detect devices ", " If device exists, check if driver is up",
         " Unable to find the Infiniband/RoCE device")
print(" WARNING: BW peak won't be measured in this run.")
row = json.loads((HOME / "rows.json").read_text())[device]
if side == "server":
    listener = socket.create_server(("", port))
    peer, _ = listener.accept()
    row = peer.makefile().readline().strip()
    tests(device, row)
    if fault == "server loses its client":
        fail("ethernet_read_keys: Couldn't read remote address",
             " Unable to read to socket/rdma_cm",
             " Failed to exchange data between server and clients")
else:
    if fault == "refused":
        port = 1
    try:
        peer = socket.create_connection((rest[0], port), timeout=10)
    except OSError:
        fail(f"Couldn't connect to {rest[0]}:{port}",
             "Unable to open file descriptor for socket connection Unable to init the socket "
             "connection")
    if fault == "queue pair":
        fail("Failed to modify QP 296 to RTR", " Unable to Connect the HCA's through the link")
    if "together" in faults:
        together("here", faults["together"])
    if fault == "silent":
        sys.exit(0)
    peer.sendall(f"{row}\n".encode())
    tests(device, row)
    if fault == "crashes at the end":
        fail(" Completion with error at client", " Failed status 12: wr_id 0 syndrom 0x81")
'''


@dataclass(frozen=True, slots=True)
class Port:
    """A device of the made-up host, at a PCI path below its root; `numa` -1 is not known."""

    device: str
    pci: str
    numa: int = 0
    state: str = "4: ACTIVE"
    rate: str = "200 Gb/sec (4X HDR)"
    layer: str = "InfiniBand"


@dataclass(frozen=True, slots=True)
class StandIn:
    """A made-up host: `gpus` are (PCI path, NUMA node)."""

    ports: Sequence[Port]
    rows: Mapping[str, str]
    gpus: Sequence[tuple[str, int]] = ()
    faults: Mapping[str, object] = field(default_factory=dict)
    tools: Sequence[str] = ("ib_write_bw", "numactl")

    def write(self, folder: Path) -> None:
        """Make its files."""
        (folder / "bin").mkdir(parents=True)
        programs = {"ib_write_bw": f"#!{sys.executable} -SE\n{PERFTEST}", "numactl": NUMACTL}
        for tool in self.tools:
            path = folder / "bin" / tool
            path.write_text(programs[tool])
            path.chmod(0o755)
        (folder / "rows.json").write_text(json.dumps(dict(self.rows)))
        (folder / "faults.json").write_text(json.dumps(dict(self.faults)))
        for port in self.ports:
            self._port(folder / "sys", port)
        for path, numa in self.gpus:
            self._gpu(folder / "sys", path, numa)

    @staticmethod
    def _port(sysfs: Path, port: Port) -> None:
        device = sysfs / "devices" / port.pci
        device.mkdir(parents=True)
        (device / "numa_node").write_text(f"{port.numa}\n")
        own = sysfs / "class/infiniband" / port.device
        (own / "ports/1").mkdir(parents=True)
        (own / "device").symlink_to(Path("../../../devices") / port.pci)
        for name in ("state", "rate"):
            (own / "ports/1" / name).write_text(getattr(port, name) + "\n")
        (own / "ports/1/link_layer").write_text(port.layer + "\n")

    @staticmethod
    def _gpu(sysfs: Path, pci: str, numa: int) -> None:
        device = sysfs / "devices" / pci
        device.mkdir(parents=True)
        words = {"numa_node": str(numa), "vendor": "0x10de", "class": "0x030200"}
        for name, value in words.items():
            (device / name).write_text(value + "\n")
        bus = sysfs / "bus/pci/devices"
        bus.mkdir(parents=True, exist_ok=True)
        (bus / device.name).symlink_to(Path("../../../devices") / pci)


def calls(folder: Path) -> list[dict[str, object]]:
    """What was asked of a host's ib_write_bw, in order."""
    log = folder / "calls.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def averages(rows: Sequence[str]) -> list[float]:
    """The column 'BW average' of perftest's rows."""
    return [float(row.split()[3]) for row in rows]


def ndv4_ports() -> list[Port]:
    """Eight rails as on an NDv4: two a NUMA node."""
    return [Port(f"mlx5_ib{i}", f"pci000{i}:00/000{i}:00:02.0", numa=i // 2) for i in range(8)]
