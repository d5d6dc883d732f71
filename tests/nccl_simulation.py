"""nccl-tests without processes: nodes with planted faults, and the text that it would print.

The layout of the text is that of nccl-tests 2.13 (and of 2.17 with its version line), as in
listings of people under tests/fixtures/results/nccl-tests; the figures describe no machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from weft.bench.model import Launch, Sample
from weft.bench.nccl.backend import NcclBackend
from weft.bench.nccl.outcome import NcclOutcome, outcome_of
from weft.bench.nccl.program import NcclGroup, NcclTests
from weft.check.nccl.follow_up import NcclFollowUp
from weft.check.nccl.plan import plan_nccl
from weft.check.nccl.trials import nccl_launches
from weft.check.pipeline import judge_run
from weft.check.readings.network import Network
from weft.check.schedule.cost import Cost, effort_of
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ranks_of_nodes
from weft.check.schedule.schedule import Field
from weft.check.verdict.verdict import Verdict
from weft.core.process import CommandEnd, Ending
from weft.launch.mpi import Mpi
from weft.study.run.store import StudyRun
from weft.topology.fabric import Fabric

GIB = 1 << 30
PAIR_GB_S, ALONE_GB_S = 340.0, 470.0
ADAPTERS = tuple(f"mlx5_{i}:1" for i in range(8))
MPI = Mpi("openmpi", Path("/opt/bin/mpicc"), Path("/opt/bin/mpirun"), "openmpi", "4.1", "")

HEAD = """\
{version}# nThread 1 nGpus 1 minBytes {size} maxBytes {size} step: 1048576(bytes) warmup iters: 5 \
iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
{devices}#
"""
TITLES = (
    f"# {'':>10}  {'':>12}  {'':>8}  {'':>6}  {'':>6}           out-of-place"
    "                       in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       "
    "     (us)  (GB/s)  (GB/s)       \n"
)
FOOTER = "# Out of bounds values : {wrong} {ok}\n# Avg bus bandwidth    : {busbw:g} \n#\n\n"
USING = "{host}:101:101 [0] NCCL INFO NET/IB : Using {devices} [RO]; OOB eth0:10.0.0.1<0>\n"
VERSION_LINE = "# nccl-tests version 2.17.2 nccl-headers=22605 nccl-library=22605\n"


@dataclass(frozen=True)
class Planted:
    """Faults by node: factors on the bandwidth of its network, of one adapter (its number and a
    factor), of its GPUs; wrong elements with others or alone; `crashes`, `hangs` with others, or
    `crashes_alone`, `hangs_alone`; `silent`: ends at once without output; `crashes_on` one GPU of
    a node; `wrong_first`: wrong elements in so many launches of a node with others; a cable of a
    fabric, by its number, with its factor. `is_unchecked`: no launch counts wrong elements."""

    net: Mapping[str, float] = field(default_factory=dict)
    adapter: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    nvlink: Mapping[str, float] = field(default_factory=dict)
    wrong: Mapping[str, int] = field(default_factory=dict)
    wrong_alone: Mapping[str, int] = field(default_factory=dict)
    crashes: tuple[str, ...] = ()
    hangs: tuple[str, ...] = ()
    crashes_alone: tuple[str, ...] = ()
    hangs_alone: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    crashes_on: tuple[str, int] | None = None
    wrong_first: tuple[str, int] | None = None
    is_unchecked: bool = False
    without_program: tuple[str, ...] = ()
    pairs_fail: tuple[frozenset[str], ...] = ()
    cable: tuple[int, float] | None = None


def table_text(
    hosts: Sequence[str],
    n_gpus: int,
    busbw: float | None,
    *,
    wrong: int = 0,
    size: int = GIB,
    version: str = "",
    log: str = "",
) -> str:
    """The output of all_reduce_perf; without a bandwidth up to the start of NCCL."""
    ranks = [(host, gpu) for host in hosts for gpu in range(n_gpus)]
    devices = "".join(
        f"#  Rank {rank:2d} Group  0 Pid {1000 + rank:6d} on {host:>10} device {gpu:2d}"
        f" [0000:{gpu:02x}:00] NVIDIA H100 80GB HBM3\n"
        for rank, (host, gpu) in enumerate(ranks)
    )
    head = HEAD.format(version=version, size=size, devices=devices)
    if busbw is None:
        return head
    factor = 2 * (len(ranks) - 1) / len(ranks)
    algbw = busbw / factor
    time_us = size / algbw / 1e3
    row = (
        f"{size:12d}  {size // 4:12d}  {'float':>8}  {'sum':>6}  {-1:6d}"
        f"  {time_us:7.0f}  {algbw:6.2f}  {busbw:6.2f}  {wrong:5d}"
        f"  {time_us:7.0f}  {algbw:6.2f}  {busbw:6.2f}  {wrong:5d}\n"
    )
    ok = "FAILED" if wrong else "OK"
    return head + log + TITLES + row + FOOTER.format(wrong=wrong, ok=ok, busbw=busbw)


class SimulatedNccl(NcclBackend):
    """NcclBackend whose launches are computed; what a launch prints is read as if it ran."""

    def __init__(
        self,
        nodes: Sequence[str],
        planted: Planted,
        *,
        n_gpus: int = 8,
        seed: int = 1,
        network: Network | None = None,
    ) -> None:
        super().__init__(MPI, nodes, NcclTests("nccl", "/opt/all_reduce_perf", n_gpus))
        self.planted, self.seed, self.network = planted, seed, network
        self._n_wrong = 0

    def prepare(self, trials: Sequence[object], run_dir: Path) -> None:
        """Nothing to get ready."""

    def _one(self, launch: Launch, number: int, group: NcclGroup) -> NcclOutcome:
        draws = Random(f"{self.seed}/{launch.trial.id}/{number}/{group.name}")
        ended, out, err = self._text(group, draws)
        return outcome_of(self.tests, group, ended, (out, err), launch.trial.timeout_s)

    def _text(self, group: NcclGroup, draws: Random) -> tuple[CommandEnd, str, str]:
        planted, hosts = self.planted, group.hosts
        n_gpus = self.tests.tasks_per_node(group)
        begun = table_text(hosts, n_gpus, None)
        alone = len(hosts) == 1
        hangs = planted.hangs_alone if alone else (*planted.hangs_alone, *planted.hangs)
        crashes = planted.crashes_alone if alone else (*planted.crashes_alone, *planted.crashes)
        missing = [host for host in hosts if host in planted.without_program]
        if missing:
            text = f"Error: Node: {missing[0]}\n unable to find the specified executable file\n"
            text = f"  Node:       {missing[0]}\n\n{text}"
            return CommandEnd(Ending.EXITED, 134, 1.0), "", text
        if set(hosts) & set(planted.silent):
            return CommandEnd(Ending.EXITED, 0, 1.0), "", ""
        if set(hosts) & set(hangs) or frozenset(hosts) in planted.pairs_fail:
            return CommandEnd(Ending.TIMED_OUT, 0, 60.0), begun, ""
        broken = [host for host in hosts if host in crashes]
        if planted.crashes_on is not None and group.gpu == planted.crashes_on[1]:
            broken += [host for host in hosts if host == planted.crashes_on[0]]
        if broken:
            other = next((h for h in hosts if h != broken[0]), hosts[0])
            said = f"{other}: Test NCCL failure common.cu:961 'remote process exited or there was"
            said += " a network error / '\n"
            died = f"mpirun noticed that process rank 3 with PID 7 on node {broken[0]} exited on"
            return CommandEnd(Ending.EXITED, 139, 5.0), begun + said, f"{died} signal 11\n"
        wrong = sum(planted.wrong_alone.get(host, 0) for host in hosts)
        wrong += 0 if alone else sum(planted.wrong.get(host, 0) for host in hosts)
        if planted.wrong_first is not None and not alone:
            node, n = planted.wrong_first
            if node in hosts and self._n_wrong < n:
                self._n_wrong += 1
                wrong += 7
        busbw = self._busbw(group) * draws.lognormvariate(0.0, 0.01)
        log = "".join(
            USING.format(host=h, devices=" ".join(f"[{i}]{n}/IB" for i, n in enumerate(ADAPTERS)))
            for h in hosts
            if not alone
        )
        version = VERSION_LINE if self.seed % 2 else ""
        text = table_text(hosts, n_gpus, busbw, wrong=wrong, version=version, log=log)
        if planted.is_unchecked:
            text = text.replace(f"  {wrong:5d}", f"  {'N/A':>5}")
        return CommandEnd(Ending.EXITED, 1 if wrong else 0, 5.0), text, ""

    def _busbw(self, group: NcclGroup) -> float:
        planted, hosts = self.planted, group.hosts
        inside = ALONE_GB_S * min(planted.nvlink.get(host, 1.0) for host in hosts)
        if len(hosts) == 1:
            return inside
        factors = [planted.net.get(host, 1.0) for host in hosts]
        for host in hosts:
            number, factor = planted.adapter.get(host, (-1, 1.0))
            if group.adapter is None or group.adapter == ADAPTERS[number]:
                factors.append(factor)
        if planted.cable is not None and self.network is not None and group.ends is not None:
            number, factor = planted.cable
            a, b = map(self.network.known_hca_of, group.ends)
            both = self.network.routes([(a, b), (b, a)])
            if any((ports >> 1 == number).any() for ports in both):
                factors.append(factor)
        share = 1.0 if group.adapter is None else 1 / len(ADAPTERS)
        return min(inside, PAIR_GB_S * share * min(factors))


def simulated_check(
    nodes: Sequence[str],
    planted: Planted,
    where: Path,
    *,
    seed: int = 1,
    n_gpus: int = 8,
    fabric: Fabric | None = None,
    n_rails: int = 1,
) -> tuple[Verdict, StudyRun]:
    """The verdict of a whole check of nodes with planted faults, and its run."""
    names = tuple(nodes)
    network = None if fabric is None else Network(fabric)
    ranks = ranks_of_nodes(names, n_rails, network)
    paths = None if network is None else FlowPaths(network, ranks.hca[ranks.has_rail])
    cost = Cost(ranks, paths, effort_of({"window": 1}, GIB))
    plan = plan_nccl(Field(ranks, paths, None, seed), cost, alone=n_gpus > 1)
    launches = nccl_launches(
        names,
        tasks_per_node=n_rails,
        sizes_bytes=(GIB,),
        rounds=plan.schedule.option,
        limit_s=60.0,
        alone=n_gpus > 1,
    )
    inner = SimulatedNccl(names, planted, n_gpus=n_gpus, seed=seed, network=network)
    backend = NcclFollowUp(inner, fabric, most_rounds=plan.most_follow_up_rounds, seed=seed)
    samples: list[Sample] = []
    for number, launch in enumerate(launches):
        found = backend.measure(launch)
        samples += (replace(one, started_unix_s=1e9 + 60.0 * number) for one in found)
    run = StudyRun(
        directory=where,
        meta={"backend": {"name": "live", "facts": dict(inner.facts())}},
        launches=launches,
        samples=tuple(samples),
        failures=(),
        done=frozenset(launch.key for launch in launches),
        fabric_document=None if fabric is None else fabric.document,
    )
    return judge_run(run, fabric), run
