"""The twin backend: laws on the real engine, errors on a stub of it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from weft.bench.model import Launch, Sample, State, Trial
from weft.bench.twin.backend import TwinBackend, launch_seed
from weft.bench.twin.fault import parse_fault
from weft.bench.twin.scenario import work
from weft.catalog.load import benchmark, benchmark_names, platform
from weft.core.errors import BenchmarkError, InputError, MissingError
from weft.expect import closed_forms
from weft.expect.algorithms import ALGORITHMS, Ranks
from weft.expect.wire import header_efficiency, path_through
from weft.topology import engine as at_work_module
from weft.topology import fabric as fabric_module

try:
    from weft import _engine as engine
except ImportError:
    engine = None

needs_engine = pytest.mark.skipif(engine is None, reason="weft._engine is not built (make setup)")

FAT_TREE = platform("fat-tree")


def trial(name: str, nodes: Sequence[str], sizes: tuple[int, ...], **options: Any) -> Trial:
    return Trial(
        id=f"t-{name}",
        benchmark=name,
        sizes_bytes=sizes,
        nodes=tuple(nodes),
        tasks_per_node=1,
        options=options,
    )


def measure(twin: TwinBackend, asked: Trial, repeat: int = 0) -> list[Sample]:
    return list(twin.measure(Launch(trial=asked, repeat=repeat, order=repeat)))


class StubEngine:
    """An engine that says what a test wants to hear."""

    def __init__(self, **outcome: Any) -> None:
        self.outcome = outcome

    def build_fabric(self, spec: str) -> SimpleNamespace:
        n_nodes = json.loads(spec)["nodes"]
        nodes = [{"name": f"n{i:03d}", "hcas": []} for i in range(1, n_nodes + 1)]
        document = {"nodes": nodes, "switches": [{"name": "leaf-01"}], "links": []}
        return SimpleNamespace(document=lambda: json.dumps(document))

    def share_done(self) -> float:
        return 0.0

    def simulate(self, scenario: str) -> dict[str, Any]:
        if "error" in self.outcome:
            raise ValueError(self.outcome["error"])
        n_steps = len(json.loads(scenario)["work"])
        zeros = np.zeros(n_steps, dtype=np.uint32)
        rows = {"step": np.arange(n_steps)}
        rows |= dict.fromkeys(("round", "pair", "iteration"), zeros)
        return {
            "status": "complete",
            "message": "",
            "fidelity": "packet",
            "notes": [],
            "duration_ps": np.full(n_steps, 4_000_000, dtype=np.uint64),
            **rows,
            **self.outcome,
        }


def stub(monkeypatch: pytest.MonkeyPatch, **outcome: Any) -> TwinBackend:
    for module in (at_work_module, fabric_module):
        monkeypatch.setattr(module, "engine_module", lambda: StubEngine(**outcome))
    return TwinBackend(FAT_TREE, 4)


def test_round_trips_become_one_way_latencies(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = stub(monkeypatch)
    (sample,) = measure(twin, trial("latency", twin.nodes[:2], (8,)))
    assert sample.metrics["latency_us"] == pytest.approx(2.0)
    assert sample.times_ns == (4000,)
    assert sample.state is State.OK


@pytest.mark.parametrize("status", ["deadlock", "stopped"])
def test_a_run_that_did_not_complete_is_a_failed_benchmark(
    monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    twin = stub(monkeypatch, status=status, message="leaf-01[3] waits for spine-01[1]")
    with pytest.raises(BenchmarkError, match=rf"'{status}': leaf-01\[3\] waits for spine-01\[1\]"):
        measure(twin, trial("latency", twin.nodes[:2], (8,)))


def test_what_the_engine_refuses_is_wrong_input(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = stub(monkeypatch, error="routing.engine: unknown engine 'magic'")
    with pytest.raises(InputError, match="unknown engine 'magic'"):
        measure(twin, trial("latency", twin.nodes[:2], (8,)))


def test_without_the_engine_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    import weft

    monkeypatch.setitem(sys.modules, "weft._engine", None)
    monkeypatch.delattr(weft, "_engine", raising=False)
    with pytest.raises(MissingError, match=r"engine is not built(.|\n)*'make setup'"):
        TwinBackend(FAT_TREE, 4)


def test_a_trial_it_cannot_run_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    twin = stub(monkeypatch)
    good = trial("latency", twin.nodes[:2], (8,))
    for wrong, message in (
        (replace(good, nodes=("n001", "n099")), "no node 'n099' in this twin"),
        (replace(good, nodes=("n001",)), "latency needs at least two ranks, not 1"),
        (replace(good, sizes_bytes=()), "no message size"),
        (replace(good, benchmark="telepathy"), "no benchmark 'telepathy'"),
    ):
        with pytest.raises(InputError, match=message):
            twin.prepare([good, wrong], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_fault_nowhere_in_the_fabric_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (at_work_module, fabric_module):
        monkeypatch.setattr(module, "engine_module", StubEngine)
    with pytest.raises(InputError, match="no node 'n009' to plant a fault in"):
        TwinBackend(FAT_TREE, 4, faults=[parse_fault("n009 slow=2")])


def test_each_launch_has_its_own_seed() -> None:
    asked = trial("latency", ("n001", "n002"), (8,))
    other = replace(asked, id="t-other")
    launches = [Launch(t, repeat, 0) for t in (asked, other) for repeat in range(50)]
    seeds = {launch_seed(seed, launch) for launch in launches for seed in (1, 2)}
    assert len(seeds) == 200


@needs_engine
@pytest.mark.parametrize("name", benchmark_names())
def test_every_benchmark_yields_its_headline(name: str) -> None:
    twin = TwinBackend(FAT_TREE, 4)
    sizes = (0,) if name == "barrier" else (8, 4096)
    samples = measure(twin, trial(name, twin.nodes, sizes))
    headline = benchmark(name).headline
    assert all(sample.state is State.OK for sample in samples)
    assert any(sample.metrics.get(headline, 0) > 0 for sample in samples)


@needs_engine
@pytest.mark.parametrize("name", ["sendrecv", "exchange", "startup", "congestion_impact"])
def test_what_is_only_read_from_files_is_refused(name: str) -> None:
    twin = TwinBackend(FAT_TREE, 4)
    with pytest.raises(InputError):
        measure(twin, trial(name, twin.nodes, (8,)))


def fan(name: str, n_nodes: int, **options: int) -> Sample:
    twin = TwinBackend(FAT_TREE, n_nodes)
    (sample,) = measure(twin, trial(name, twin.nodes, (1 << 20,), **options))
    return sample


@needs_engine
@pytest.mark.parametrize("name", ["fan_in", "fan_out"])
def test_a_fan_is_bound_by_the_one_cable_whoever_is_many(name: str) -> None:
    """All messages pass the root's link: its rate, headers off, is never passed and nearly had."""
    found = [fan(name, n_nodes, window=8).metrics["bandwidth_mb_s"] for n_nodes in (2, 4, 8)]
    line_mb_s = closed_forms.bandwidth(FAT_TREE, 1 << 20, window=1 << 20).value
    for rate in found:
        assert 0.9 * line_mb_s < rate < 1.001 * line_mb_s
    assert found == sorted(found)


@needs_engine
def test_both_directions_of_a_ring_of_two_are_a_bidirectional_pair() -> None:
    """Two ranks are each other's left and right: four windows, two each way over one cable."""
    twin = TwinBackend(FAT_TREE, 2)
    size = (1 << 20,)
    (ring,) = measure(twin, trial("natural_ring_bandwidth", twin.nodes, size, window=16))
    (pair,) = measure(twin, trial("bidirectional", twin.nodes, size, window=32))
    # A rank of the ring counts what it sends, the pair what both send.
    rates = ring.metrics["bandwidth_mb_s"], pair.metrics["bandwidth_mb_s"] / 2
    assert rates[0] == pytest.approx(rates[1], rel=0.01)


@needs_engine
@pytest.mark.parametrize("platform_name", ["fat-tree", "azure-ndv4", "frontera", "azure-a9"])
@pytest.mark.parametrize("size", [0, 8, 300, 65536])
def test_latency_is_host_overheads_and_the_idle_fabric(platform_name: str, size: int) -> None:
    twin = TwinBackend(platform(platform_name), 2)
    (sample,) = measure(twin, trial("latency", twin.nodes, (size,)))
    expected = closed_forms.latency(platform(platform_name), size, n_switches=1)
    assert sample.metrics["latency_us_p50"] == pytest.approx(expected.value, rel=1e-3)


@needs_engine
def test_a_second_leaf_costs_two_switches_and_two_cables_more() -> None:
    twin = TwinBackend(FAT_TREE, 16)
    near = measure(twin, trial("latency", ("n001", "n002"), (8,)))[0]
    far = measure(twin, trial("latency", ("n001", "n016"), (8,)))[0]
    expected = [closed_forms.latency(FAT_TREE, 8, n).value for n in (1, 3)]
    difference = far.metrics["latency_us_p50"] - near.metrics["latency_us_p50"]
    assert difference == pytest.approx(expected[1] - expected[0], rel=1e-3)


@needs_engine
@pytest.mark.parametrize("benchmark_name", ["bandwidth", "bidirectional"])
@pytest.mark.parametrize("size", [1, 300, 4096, 65536, 4 << 20])
def test_windows_of_a_platform_with_gaps_take_its_slowest_stage(
    benchmark_name: str, size: int
) -> None:
    document = platform("azure-a9")
    twin = TwinBackend(document, 2)
    (sample,) = measure(twin, trial(benchmark_name, twin.nodes, (size,), window=64))
    expected = getattr(closed_forms, benchmark_name)(document, size)
    assert sample.metrics["bandwidth_mb_s"] == pytest.approx(expected.value, rel=0.01)


@needs_engine
def test_sizes_outside_the_fit_of_a_platform_are_flagged() -> None:
    document = platform("azure-a9")
    assert document.fit is not None
    assert document.fit.covers(4 << 20)
    twin = TwinBackend(document, 2)
    inside, outside = measure(twin, trial("latency", twin.nodes, (4 << 20, 8 << 20)))
    assert inside.flags == ()
    assert outside.flags == ("outside_fit",)
    (barrier,) = measure(twin, trial("barrier", twin.nodes, (0,)))
    assert barrier.flags == ()


@needs_engine
@pytest.mark.parametrize("platform_name", ["fat-tree", "azure-ndv4", "frontera"])
def test_bandwidth_of_large_messages_approaches_the_link(platform_name: str) -> None:
    document = platform(platform_name)
    twin = TwinBackend(document, 2)
    (sample,) = measure(twin, trial("bandwidth", twin.nodes, (4 << 20,), window=8))
    path = path_through(document, 1)
    ceiling_mb_s = path.rate_gbps * header_efficiency(4 << 20, path.mtu_bytes) * 1e3 / 8
    assert sample.metrics["bandwidth_mb_s"] <= ceiling_mb_s
    assert sample.metrics["bandwidth_mb_s"] == pytest.approx(ceiling_mb_s, rel=0.01)


@needs_engine
def test_both_directions_carry_twice_one() -> None:
    twin = TwinBackend(FAT_TREE, 2)
    (one,) = measure(twin, trial("bandwidth", twin.nodes, (1 << 20,), window=8))
    (two,) = measure(twin, trial("bidirectional", twin.nodes, (1 << 20,), window=8))
    ratio = two.metrics["bandwidth_mb_s"] / one.metrics["bandwidth_mb_s"]
    assert ratio == pytest.approx(2, rel=0.02)


@needs_engine
def test_a_node_that_a_fault_cuts_off_is_a_failed_benchmark() -> None:
    twin = TwinBackend(FAT_TREE, 8, faults=[parse_fault("n003/hca0[1] down")])
    with pytest.raises(BenchmarkError, match=r"unreachable(.|\n)*a planted fault cuts it"):
        measure(twin, trial("pairs", twin.nodes, (8, 65536)))
    assert measure(twin, trial("latency", ("n001", "n002"), (8,)))


@needs_engine
def test_traffic_goes_round_a_cable_that_is_down() -> None:
    healthy = TwinBackend(FAT_TREE, 8)
    down = TwinBackend(FAT_TREE, 8, faults=[parse_fault("leaf-01[4] down")])
    for twin in (healthy, down):
        samples = measure(twin, trial("alltoall", twin.nodes, (4096,)))
        assert samples[0].state is State.OK
    assert "leaf-01[4]" in json.dumps(down.fabric_document)


@needs_engine
def test_the_same_seed_gives_the_same_samples() -> None:
    asked = trial("alltoall", TwinBackend(FAT_TREE, 4).nodes, (8, 4096))
    runs = [
        [s.to_record() for s in measure(TwinBackend(FAT_TREE, 4, seed=5), asked, repeat=2)]
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


@needs_engine
@pytest.mark.parametrize(
    ("name", "size"), [("barrier", 0), ("allreduce", 8), ("allreduce", 1 << 20), ("alltoall", 8)]
)
@pytest.mark.parametrize("n_nodes", [2, 4, 8])
def test_collectives_on_one_leaf_take_their_closed_form(name: str, size: int, n_nodes: int) -> None:
    document = platform("frontera")
    twin = TwinBackend(document, n_nodes)
    asked = trial(name, twin.nodes, (size,))
    if name == "alltoall":
        # The library's own has several partners at a time, and so no steps.
        asked = replace(asked, options={**asked.options, "algorithm": "pairwise"})
    (sample,) = measure(twin, asked)
    (step,) = work(document, benchmark(name), asked)
    steps = ALGORITHMS[name][step["algorithm"]](Ranks(n_nodes, 1), size)
    expected_us = sum(
        step.count * closed_forms.latency(document, step.size_bytes).value for step in steps
    )
    assert sample.metrics["latency_us_p50"] == pytest.approx(expected_us, rel=0.01)


@needs_engine
def test_ranks_of_one_node_use_the_channel_inside_it() -> None:
    twin = TwinBackend(FAT_TREE, 2)
    inside = replace(trial("latency", twin.nodes[:1], (8,)), tasks_per_node=2)
    (here,) = measure(twin, inside)
    (there,) = measure(twin, trial("latency", twin.nodes, (8,)))
    assert here.metrics["latency_us_p50"] < there.metrics["latency_us_p50"]


@needs_engine
def test_colliding_flows_part_where_routing_is_adaptive() -> None:
    """Two leaves, every flow towards destinations that d-mod-k sends over one cable."""
    twin = TwinBackend(FAT_TREE, 16)
    nodes = [*twin.nodes[0:2], *(twin.nodes[n] for n in (4, 8))]
    times = {}
    for setting in ("off", "on"):
        asked = trial("message_rate", nodes, (1 << 20,), adaptive_routing=setting, window=8)
        (sample,) = measure(twin, asked)
        assert sample.evidence["adaptive_routing"] == setting
        times[setting] = sample.metrics["bandwidth_mb_s"]
    assert times["on"] == pytest.approx(2 * times["off"], rel=0.05)


@needs_engine
def test_switches_reduce_where_a_trial_says_what_they_can() -> None:
    twin = TwinBackend(FAT_TREE, 16)
    model = {"reduction_ns": 450, "payload_bytes": 256}
    asked = trial("allreduce", twin.nodes, (8,), algorithm="sharp", in_network=model)
    (by_switches,) = measure(twin, asked)
    (by_hosts,) = measure(twin, trial("allreduce", twin.nodes, (8,)))
    assert by_switches.metrics["latency_us"] < by_hosts.metrics["latency_us"]
    assert by_switches.evidence["carried_out_by"] == "operations"
    assert "carried_out_by" not in by_hosts.evidence


@needs_engine
def test_evidence_says_why_hosts_did_what_was_asked_of_switches() -> None:
    twin = TwinBackend(FAT_TREE, 16)
    model = {"reduction_ns": 450, "payload_bytes": 256, "max_bytes": 4096}
    asked = trial("allreduce", twin.nodes, (8, 8192), algorithm="sharp", in_network=model)
    small, large = measure(twin, asked)
    assert small.evidence["carried_out_by"] == "operations"
    assert large.evidence["carried_out_by"] == "hosts"
    why = "8192 bytes are more than in_network.max_bytes (4096)"
    assert large.evidence["not_by_switches"] == why


@needs_engine
def test_a_trial_may_say_what_is_inside_nodes() -> None:
    """NVLS in a node, NVLSTree and CollNet in two: asked for by name, as a study does."""
    twin = TwinBackend(FAT_TREE, 4)
    wire = {"bits_per_s": 400_000_000_000, "delay_ps": 100_000}
    gpus = ["gpu0", "gpu1"]
    vertices = [{"name": name, "kind": "gpu"} for name in gpus]
    vertices += [{"name": "nvs", "kind": "nv_switch"}, {"name": "pcie", "kind": "pcie_switch"}]
    pairs = [*((gpu, at) for gpu in gpus for at in ("nvs", "pcie")), ("hca0", "pcie")]
    node = {
        "vertices": vertices,
        "links": [{"a": a, "b": b, **wire} for a, b in pairs],
        "ranks_on": gpus,
    }
    cut = {"payload_bytes": 4096}
    model = {"reduction_ns": 450, "payload_bytes": 256, "nvls": cut, "sat": cut}
    for n_nodes, algorithm in ((1, "nvls"), (2, "nvls_tree"), (2, "collnet")):
        options = {"algorithm": algorithm, "in_network": model, "node": node}
        one = trial("allreduce", twin.nodes[:n_nodes], (1 << 20,), **options)
        (sample,) = measure(twin, replace(one, tasks_per_node=2))
        assert sample.evidence["carried_out_by"] == algorithm


def test_more_ranks_than_the_cores_of_a_node_are_refused_where_their_number_is_known() -> None:
    machine = TwinBackend(platform("frontera"), 2)
    wrong = replace(trial("barrier", machine.nodes, (0,)), tasks_per_node=57)
    with pytest.raises(InputError, match="57 ranks on a node of 56 cores"):
        machine.scenario(Launch(wrong, 0, 0))
    assumed = TwinBackend(platform("generic-hdr"), 2)
    more = replace(trial("barrier", assumed.nodes, (0,)), tasks_per_node=65)
    assert assumed.scenario(Launch(more, 0, 0))["work"]
