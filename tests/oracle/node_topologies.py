"""Random topology files of nodes as they are built: eight GPUs behind NVSwitches, four in a mesh,
GPUs on PCI Express alone, rails that are missing, bridges of two levels."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.oracle.job_topologies import BROADCOM
from tests.oracle.nccl_topology_probe import HOST_HASH

INTEL_SPR = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"'
INTEL_SKL = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85"'
AMD_ROME = 'arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49"'
AMD_GENOA = 'arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="17"'
ARM = 'arch="arm64"'
SPEED_OF = {"3": "8.0 GT/s PCIe", "4": "16.0 GT/s PCIe", "5": "32.0 GT/s PCIe"}


@dataclass(frozen=True)
class Kind:
    """A kind of node: numbers of GPUs to draw from, compute capabilities, NVLinks of a GPU to
    switches, and whether a mesh joins them."""

    name: str
    n_gpus: tuple[int, ...]
    sms: tuple[int, ...]
    n_switch_links: tuple[int, ...] = ()
    is_mesh: bool = False


KINDS = (
    Kind("hgx", (8,), (80, 90, 90, 100), (12, 18)),
    Kind("half-hgx", (2, 4), (80, 90, 100), (12, 18)),
    Kind("mesh", (4, 8), (70, 80, 90), is_mesh=True),
    Kind("pairs", (2, 4, 8), (80, 86, 90), is_mesh=True),
    Kind("pcie", (1, 2, 4, 8), (70, 80, 86, 90, 100)),
)


def kind_of(seed: str) -> Kind:
    """The kind of node that a seed gives."""
    return random.Random(f"kind {seed}").choice(KINDS)


def node_topology(seed: str) -> str:
    """The file of a seed."""
    return _Node(random.Random(seed), kind_of(seed)).text()


class _Node:
    def __init__(self, rng: random.Random, kind: Kind) -> None:
        self.rng, self.kind = rng, kind
        self.n_gpus, self.sm = rng.choice(kind.n_gpus), rng.choice(kind.sms)
        self.n_cpus = rng.choice((1, 2, 2, 2, 4) if self.n_gpus > 2 else (1, 2))
        self.speed = SPEED_OF[rng.choice("345")]
        self.n_links = rng.choice(kind.n_switch_links) if kind.n_switch_links else 0
        self.links_of_pair = self._mesh() if kind.is_mesh else {}
        self.n_bridges = 0
        self.nets = self._nets()

    def _mesh(self) -> dict[tuple[int, int], int]:
        n, rng = self.n_gpus, self.rng
        if self.kind.name == "pairs":
            return {(i, i + 1): rng.choice((2, 4, 12)) for i in range(0, n - 1, 2)}
        most = rng.choice((1, 2, 4))
        if n == 8:  # a cube with diagonals
            edges = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (0, 4), (1, 5), (2, 6), (3, 7)]
            edges += [(a + 4, b + 4) for a, b in edges[:6]]
            return {edge: rng.choice((1, 2)) for edge in edges}
        lost = rng.random() < 0.3
        pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
        return dict.fromkeys(pairs[: -1 if lost else None], most)

    def _nets(self) -> list[int]:
        """The GPU beside which each network hangs."""
        rng, n = self.rng, self.n_gpus
        way = rng.choice(("rails", "rails", "half", "one", "lost", "two each", "none"))
        if way == "rails":
            return list(range(n))
        if way == "half":
            return list(range(0, n, 2))
        if way == "one":
            return [rng.randrange(n)]
        if way == "lost":
            return sorted(rng.sample(range(n), max(1, n - rng.randint(1, 2))))
        return [i for i in range(n) for _ in range(2)] if way == "two each" else []

    def text(self) -> str:
        rng = self.rng
        processor = rng.choice((INTEL_SPR, INTEL_SKL, AMD_ROME, AMD_GENOA, ARM))
        net_speed = rng.choice((25000, 100000, 200000, 400000, 800000))
        layout = rng.choice(("direct", "shared", "pair", "two levels"))
        in_groups = {"direct": 1, "shared": 1, "pair": 2, "two levels": 4}[layout]
        gpus_of_cpu = -(-self.n_gpus // self.n_cpus)
        made_nets = iter(range(len(self.nets)))
        cpus = []
        for cpu in range(self.n_cpus):
            own = range(cpu * gpus_of_cpu, min((cpu + 1) * gpus_of_cpu, self.n_gpus))
            groups = [own[i : i + in_groups] for i in range(0, len(own), in_groups)]
            inside = "".join(self._group(group, layout, made_nets, net_speed) for group in groups)
            cpus.append(
                f'<cpu numaid="{cpu}" host_hash="{HOST_HASH:#x}" {processor}>{inside}</cpu>'
            )
        return f'<system version="1">{"".join(cpus)}</system>'

    def _group(self, gpus: range, layout: str, made_nets: Iterator[int], net_speed: int) -> str:
        devices = ["".join(self._devices(gpu, made_nets, net_speed)) for gpu in gpus]
        if layout == "direct":
            return "".join(devices)
        if layout != "two levels":
            return self._bridge("".join(devices), 0)
        halves = (devices[: len(devices) // 2], devices[len(devices) // 2 :])
        return self._bridge("".join(self._bridge("".join(one), 1) for one in halves if one), 0)

    def _devices(self, gpu: int, made_nets: Iterator[int], net_speed: int) -> list[str]:
        found = [self._gpu(gpu)]
        found += [self._net(next(made_nets), net_speed) for at in self.nets if at == gpu]
        return found

    def _pci(self, bus: str, class_: str, inside: str, more: str = "") -> str:
        link = f'link_speed="{self.speed}" link_width="16"'
        return f'<pci busid="{bus}" class="{class_}" {link}{more}>{inside}</pci>'

    def _bridge(self, inside: str, depth: int) -> str:
        self.n_bridges += 1
        more = ""
        if self.speed == SPEED_OF["4"]:
            more = ' vendor="0x1000" device="0xc010" subsystem_vendor="0x1000"'
            more += ' subsystem_device="0xa096"'
        elif self.speed == SPEED_OF["5"]:
            more = ' vendor="0x1000" device="0xc030" subsystem_vendor="0x1000"'
            more += f' subsystem_device="{BROADCOM[depth]}"'
        return self._pci(f"0000:{self.n_bridges:02x}:00.0", "0x060400", inside, more)

    def _gpu(self, n: int) -> str:
        links = ""
        if self.n_links:
            links = f'<nvlink target="0000:ee:00.0" count="{self.n_links}" tclass="0x068000"/>'
        for (a, b), count in self.links_of_pair.items():
            if n in (a, b):
                other = b if n == a else a
                links += f'<nvlink target="{_bus(other)}" count="{count}" tclass="0x030200"/>'
        gpu = f'<gpu dev="{n}" sm="{self.sm}" rank="{n}" gdr="1">{links}</gpu>'
        return self._pci(_bus(n), "0x030200", gpu)

    def _net(self, n: int, speed: int) -> str:
        net = (
            f'<net name="mlx5_{n}" dev="{n}" latency="0" speed="{speed}" port="1" '
            f'guid="{n + 1:#x}" maxconn="131072" gdr="1" coll="1"/>'
        )
        return self._pci(f"{0x101 + n:04x}:00:00.0", "0x020700", f"<nic>{net}</nic>")


def _bus(gpu: int) -> str:
    return f"{gpu + 1:04x}:00:00.0"
