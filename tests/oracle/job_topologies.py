"""Random topology files of whole jobs: what NCCL needs to compute paths without a GPU."""

import random
from dataclasses import dataclass, field

from tests.oracle.nccl_topology_probe import HOST_HASH

PROCESSORS = (
    'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"',
    'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85"',
    'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207"',
    'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="63"',
    'arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49"',
    'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="173"',
    'arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="17"',
    'arch="x86_64" vendor="AuthenticAMD" familyid="26" modelid="2"',
    'arch="x86_64" vendor="CentaurHauls" familyid="7" modelid="91"',
    'arch="arm64"',
    'arch="ppc64"',
    'arch="riscv64"',
)
SPEEDS = ("8 GT/s", "16 GT/s", "32.0 GT/s PCIe", "16.0 GT/s", "2.5 GT/s PCIe", "")
WIDTHS = ("16", "16", "16", "8", "0", "")
BROADCOM = ("0x0040", "0x1040")
"""Subsystem ids of a switch of Broadcom, of its first level and its second."""


@dataclass
class Job:
    """A file in the making."""

    rng: random.Random
    gpus: list[str] = field(default_factory=list)
    n_nets: int = 0
    n_bridges: int = 0

    def text(self) -> str:
        rng = self.rng
        processor, n_cpus = rng.choice(PROCESSORS), rng.choice((1, 2, 2, 3))
        self.joined, self.sm = rng.choice(("", "switch", "mesh")), rng.choice((70, 80, 86, 90, 100))
        self.has_c2c = rng.random() < 0.25
        body = [self._below(0) for _ in range(n_cpus)]
        cpus = [
            f'<cpu numaid="{i}" host_hash="{HOST_HASH:#x}" {processor}>{inside}</cpu>'
            for i, inside in enumerate(body)
        ]
        text = "".join(cpus)
        for gpu in self.gpus:
            text = text.replace(f"<links of {gpu}>", self._links(gpu))
        return f'<system version="1">{text}</system>'

    def _below(self, depth: int) -> str:
        kinds = self.rng.choices(("gpu", "net", "bridge"), (3, 3, 2 if depth < 4 else 0), k=3)
        made = {"gpu": self._gpu, "net": self._net}
        return "".join(
            self._bridge(depth) if kind == "bridge" else made[kind]()
            for kind in kinds[: self.rng.randint(0, 3)]
        )

    def _pci(self, bus: str, class_: str, inside: str, more: str = "") -> str:
        speed, width = self.rng.choice(SPEEDS), self.rng.choice(WIDTHS)
        link = f'link_speed="{speed}" link_width="{width}"'
        return f'<pci busid="{bus}" class="{class_}" {link}{more}>{inside}</pci>'

    def _bridge(self, depth: int) -> str:
        self.n_bridges += 1
        ids = self.rng.choice(("", BROADCOM[depth])) if depth < len(BROADCOM) else ""
        more = ' vendor="0x1000" device="0xc030" subsystem_vendor="0x1000"' if ids else ""
        more += f' subsystem_device="{ids}"' if ids else ""
        bus = f"0000:{self.n_bridges:02x}:00.0"
        return self._pci(bus, "0x060400", self._below(depth + 1), more)

    def _gpu(self) -> str:
        if len(self.gpus) >= 6:
            return ""
        n = len(self.gpus)
        bus = f"{n + 1:04x}:00:00.0"
        self.gpus.append(bus)
        gdr = int(self.rng.random() < 0.9)
        c2c = '<c2c bw="9600" count="10"/>' if self.has_c2c else ""
        inside = f"<links of {bus}>{c2c}"
        gpu = f'<gpu dev="{n}" sm="{self.sm}" rank="{n}" gdr="{gdr}">{inside}</gpu>'
        return self._pci(bus, "0x030200", gpu)

    def _net(self) -> str:
        if self.n_nets >= 5:
            return ""
        n = self.n_nets
        self.n_nets += 1
        gdr = int(self.rng.random() < 0.9)
        speed = self.rng.choice((100000, 200000, 400000, -1))
        net = (
            f'<net name="mlx5_{n}" dev="{n}" latency="0" speed="{speed}" port="1" '
            f'guid="{n + 1:#x}" maxconn="131072" gdr="{gdr}" rail="{n}" plane="0"/>'
        )
        return self._pci(f"{0x101 + n:04x}:00:00.0", "0x020700", f"<nic>{net}</nic>")

    def _links(self, gpu: str) -> str:
        if self.joined == "switch":
            return '<nvlink target="0000:ee:00.0" count="12" tclass="0x068000"/>'
        if self.joined != "mesh":
            return ""
        links = ""
        for other in self.gpus:
            pair = "".join(sorted((gpu, other)))
            n = random.Random(f"{pair}{len(self.gpus)}{self.n_nets}").choice((0, 0, 1, 2))
            if other != gpu and n:
                links += f'<nvlink target="{other}" count="{n}" tclass="0x030200"/>'
        return links


def job_topology(seed: str) -> str:
    """The file of a seed."""
    return Job(random.Random(seed)).text()
