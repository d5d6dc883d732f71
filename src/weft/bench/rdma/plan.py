"""Servers and clients of both directions: their hosts, ports, memory and binding."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from weft.bench.rdma.devices import TOOL, Gpu, HostDevices, Rail
from weft.bench.rdma.pairing import RailPair
from weft.core.errors import MissingError

Memory = Literal["host", "gpu"]

CUDA_ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
"""SOURCE: CUDA C++ Programming Guide 12, environment variables: GPUs numbered as on the bus."""


@dataclass(frozen=True, slots=True)
class PerftestOptions:
    """Bytes a message, seconds, the memory of the messages, and the first TCP port."""

    memory: Memory
    size_bytes: int
    seconds: int
    first_port: int


@dataclass(frozen=True, slots=True)
class RailPath:
    """One rail in one direction: `source` writes to `target`. `port` is the server's TCP port, and
    `number` the rail's place."""

    pair: RailPair
    number: int
    source: HostDevices
    target: HostDevices
    source_rail: Rail
    target_rail: Rail
    port: int
    gpus: Mapping[str, Gpu] = field(default_factory=dict)

    @property
    def env(self) -> Mapping[str, str]:
        """Of both sides."""
        return CUDA_ORDER if self.gpus else {}

    def server(self, options: PerftestOptions) -> tuple[str, ...]:
        """The command on the target."""
        return _command(self.target, self.target_rail, self.port, options, self.gpus.get("target"))

    def client(self, options: PerftestOptions) -> tuple[str, ...]:
        """The command on the source."""
        own = _command(self.source, self.source_rail, self.port, options, self.gpus.get("source"))
        return (*own, self.target.address or self.target.host)


def rail_paths(
    a: HostDevices,
    b: HostDevices,
    pairs: tuple[RailPair, ...],
    gpus: Mapping[str, Mapping[str, Gpu]],
    options: PerftestOptions,
) -> tuple[tuple[RailPath, ...], tuple[RailPath, ...]]:
    """A to B on every rail, and B to A. `gpus` are by host and name of the rail. No TCP port is
    used twice: one that was just closed may not be free yet. Raises MissingError without numactl.
    """
    for host, rails in ((a, [pair.a for pair in pairs]), (b, [pair.b for pair in pairs])):
        _refuse_without_numactl(host, rails)

    def path(number: int, *, back: bool) -> RailPath:
        pair = pairs[number]
        source, target = ((b, pair.b), (a, pair.a)) if back else ((a, pair.a), (b, pair.b))
        ends = {"source": source, "target": target}
        own = {end: gpus[host.host][rail.name] for end, (host, rail) in ends.items() if gpus}
        port = options.first_port + number + (len(pairs) if back else 0)
        return RailPath(pair, number, source[0], target[0], source[1], target[1], port, own)

    numbers = range(len(pairs))
    return tuple(path(i, back=False) for i in numbers), tuple(path(i, back=True) for i in numbers)


def _refuse_without_numactl(host: HostDevices, rails: Sequence[Rail]) -> None:
    bound = [rail for rail in rails if rail.numa is not None]
    if bound and "numactl" not in host.tools:
        raise MissingError(
            f"no numactl, and {bound[0].name} belongs to NUMA node {bound[0].numa}",
            where=host.host,
            expected="numactl on both hosts, to bind perftest near its device",
            hint="install the package numactl",
        )


def _command(
    host: HostDevices, rail: Rail, port: int, options: PerftestOptions, gpu: Gpu | None
) -> tuple[str, ...]:
    """SOURCE: ib_write_bw --help of perftest 4.5; --use_cuda of perftest built with CUDA."""
    perftest = (
        host.tools[TOOL], "-d", rail.device, "-i", str(rail.port), "-p", str(port),
        "-s", str(options.size_bytes), "-D", str(options.seconds), "-F", "--report_gbits",
    )  # fmt: skip
    cuda = () if gpu is None else (f"--use_cuda={gpu.index}",)
    return (*_bound(host, rail), *perftest, *cuda)


def _bound(host: HostDevices, rail: Rail) -> tuple[str, ...]:
    """SOURCE: numactl(8) 2.0.16."""
    if rail.numa is None:
        return ()
    return (host.tools["numactl"], f"--cpunodebind={rail.numa}", f"--membind={rail.numa}")
