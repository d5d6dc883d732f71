"""The RDMA ports and GPUs of a host, from its /sys: one short script, read line by line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from weft.cluster.remote import Ssh
from weft.core.errors import BenchmarkError, MissingError
from weft.core.natural import natural_key

PROBE_S = 30.0
TOOL = "ib_write_bw"
MOST_LINES = 4000
_NVIDIA = "0x10de"
_FIELDS = {"ssh": 1, "tool": 2, "port": 6, "gpu": 4, "end": 1}
_NUMBER = re.compile(r"\d{1,9}")
_ROOT = re.compile(r"pci[0-9a-f]+:[0-9a-f]+")

PROBE = r"""
root=$1
[ -z "$2" ] || PATH="$2:$PATH"
say() { printf '%s' "$1"; shift; for word; do printf '\t%s' "$word"; done; printf '\n'; }
say ssh "$SSH_CONNECTION"
for one in ib_write_bw numactl; do
    say tool "$one" "$(command -v "$one" 2>/dev/null)"
done
for port in "$root"/class/infiniband/*/ports/*; do
    [ -d "$port" ] || continue
    device=${port%/ports/*}
    say port "${device##*/}:${port##*/}" "$(cat "$port/link_layer" 2>/dev/null)" \
        "$(cat "$port/state" 2>/dev/null)" "$(cat "$port/rate" 2>/dev/null)" \
        "$(cat "$device/device/numa_node" 2>/dev/null)" \
        "$(cd "$device/device" 2>/dev/null && pwd -P)"
done
for device in "$root"/bus/pci/devices/*; do
    case "$(cat "$device/class" 2>/dev/null)" in 0x0300*|0x0302*) ;; *) continue ;; esac
    say gpu "${device##*/}" "$(cat "$device/vendor" 2>/dev/null)" \
        "$(cat "$device/numa_node" 2>/dev/null)" "$(cd "$device" && pwd -P)"
done
say end end
"""


@dataclass(frozen=True, slots=True)
class Rail:
    """A port of an RDMA device. `numa` is None where the host does not say; `pci` the bridges from
    the root down to the device, empty where there is no PCI."""

    device: str
    port: int
    layer: str
    state: str
    rate_gbps: float | None
    numa: int | None
    pci: tuple[str, ...]

    @property
    def name(self) -> str:
        """'mlx5_0:1'."""
        return f"{self.device}:{self.port}"

    @property
    def active(self) -> bool:
        """Whether it can carry data now, or does not say: then a measurement tells."""
        return self.state in ("ACTIVE", "")


@dataclass(frozen=True, slots=True)
class Gpu:
    """`index` is CUDA's, with CUDA_DEVICE_ORDER=PCI_BUS_ID."""

    index: int
    address: str
    numa: int | None
    pci: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostDevices:
    """Devices and tools of a host. `address` is where its sshd was reached; `tools` are paths."""

    host: str
    address: str
    tools: dict[str, str]
    rails: tuple[Rail, ...]
    gpus: tuple[Gpu, ...]

    def fabric_rails(self) -> tuple[Rail, ...]:
        """Its InfiniBand ports; where it has none, those of RDMA over Ethernet."""
        fast = tuple(rail for rail in self.rails if rail.layer == "InfiniBand")
        return fast or self.rails


def ask_devices(ssh: Ssh, host: str, sysfs: str, tools: str) -> HostDevices:
    """The devices of a host. `sysfs` is where its /sys lies, `tools` a folder to look for perftest
    in first, or "". Raises BenchmarkError where it cannot be asked, MissingError without perftest.
    """
    command = ("sh", "-s", "--", sysfs, tools)
    result = ssh.run(host, command, timeout_s=PROBE_S, stdin=PROBE.encode())
    if not result.ok:
        raise BenchmarkError(
            f"cannot be asked for its devices: {result.last_line or f'code {result.code}'}",
            where=host,
            expected=f"a host that 'ssh {host}' logs in to without a question",
        )
    found = read_devices(host, result.out)
    if TOOL not in found.tools:
        raise MissingError(
            f"no {TOOL}" + (f" in {tools} or PATH" if tools else ""),
            where=host,
            expected="perftest on both hosts",
            hint="install the package perftest, or name its folder: --perftest /opt/perftest/bin",
        )
    return found


def read_devices(host: str, text: str) -> HostDevices:
    """Devices of what `PROBE` printed. Raises BenchmarkError where it is something else."""
    address, tools, ended = "", dict[str, str](), False
    rails, gpus = list[Rail](), list[tuple[str, int | None, tuple[str, ...]]]()
    for kind, *words in _lines(text):
        if kind == "ssh":
            connection = words[0].split()
            address = connection[2] if len(connection) == 4 else ""
        elif kind == "tool" and words[1].startswith("/"):
            tools[words[0]] = words[1]
        elif kind == "port":
            rails.append(_rail(words))
        elif kind == "gpu" and words[1] == _NVIDIA:
            gpus.append((words[0], _numa(words[2]), _below_root(words[3])))
        ended = ended or kind == "end"
    if not ended:
        raise BenchmarkError(
            "its list of devices is cut short",
            where=host,
            hint="look at what its login scripts print",
        )
    in_order = sorted(gpus, key=lambda gpu: gpu[0])
    return HostDevices(
        host=host,
        address=address,
        tools=tools,
        rails=tuple(sorted(rails, key=lambda rail: (natural_key(rail.device), rail.port))),
        gpus=tuple(Gpu(i, *gpu) for i, gpu in enumerate(in_order)),
    )


def _lines(text: str) -> Iterator[list[str]]:
    for line in text.splitlines()[:MOST_LINES]:
        kind, *words = ("".join(c for c in word if c.isprintable()) for word in line.split("\t"))
        if len(words) == _FIELDS.get(kind):
            yield [kind, *words]


def _rail(words: list[str]) -> Rail:
    """SOURCE: Documentation/ABI/stable/sysfs-class-infiniband of Linux 6.1: state '4: ACTIVE', rate
    '200 Gb/sec (4X HDR)'."""
    name, layer, state, rate, numa, path = words
    device, _, port = name.rpartition(":")
    number = re.match(r"\d+(\.\d+)?", rate)
    return Rail(
        device=device,
        port=int(port) if _NUMBER.fullmatch(port) else 1,
        layer=layer,
        state=state.rpartition(":")[2].strip(),
        rate_gbps=float(number.group()) if number is not None and float(number.group()) else None,
        numa=_numa(numa),
        pci=_below_root(path),
    )


def _numa(text: str) -> int | None:
    """-1 is the kernel's word for not known."""
    return int(text) if _NUMBER.fullmatch(text) else None


def _below_root(path: str) -> tuple[str, ...]:
    """The parts of a device's path from its PCI root on: above it lies what the machine, or the
    hypervisor, calls itself."""
    parts = path.split("/")
    starts = [i for i, part in enumerate(parts) if _ROOT.fullmatch(part)]
    return tuple(parts[starts[-1] :]) if starts else ()
