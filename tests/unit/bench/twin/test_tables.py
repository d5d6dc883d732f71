"""Tables of OpenSM, switches that reduce, and launches taken together, on a twin."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import Fault
from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.topology.subnet.subnet import Subnet

FRONTERA = platform("frontera")
N_NODES = 88
"""Two full leaves."""


@pytest.fixture
def twin() -> TwinBackend:
    return TwinBackend(FRONTERA, N_NODES)


def launch(twin: TwinBackend, name: str = "alltoall", size: int = 8192, **options: Any) -> Launch:
    counts = {"iterations": 1, "warmup": 0, **options}
    named = "-".join(f"{key}={value}" for key, value in options.items())
    return Launch(Trial(f"t-{name}-{named}", name, (size,), twin.nodes, 1, options=counts), 0, 0)


def one(twin: TwinBackend, asked: Launch) -> Sample:
    (sample,) = twin.measure(asked)
    return sample


@pytest.mark.parametrize("engine", ["minhop", "updn", "ftree"])
def test_tables_are_those_that_opensm_computes(twin: TwinBackend, engine: str) -> None:
    asked = launch(twin, routing=f"opensm-{engine}")
    document = twin.scenario(asked)
    assert "engine" not in document["routing"]
    computed = Subnet.of_fabric(twin.fabric_document).route(engine)
    wanted, _ = computed.fabric_document("x", 1, 0)
    assert document["fabric"]["lfts"] == wanted["lfts"]
    assert len(wanted["lfts"]) == len(twin.fabric_document["switches"])
    assert one(twin, asked).evidence["routing"] == f"opensm-{engine}"


def test_minhop_of_opensm_is_slower_than_d_mod_k_and_adaptive_routing_mends_it(
    twin: TwinBackend,
) -> None:
    """Shifts that OpenSM's minhop puts on the same cables down: the order that Cazes saw."""
    us = {
        (tables, adaptive): one(
            twin, launch(twin, routing=tables, adaptive_routing=adaptive)
        ).metrics["latency_us_p50"]
        for tables in ("dmodk", "opensm-minhop")
        for adaptive in ("off", "on")
    }
    assert us["opensm-minhop", "off"] > us["dmodk", "off"]
    assert us["opensm-minhop", "on"] < us["opensm-minhop", "off"]


def test_tables_no_one_knows_and_those_of_another_fabric_are_refused(
    twin: TwinBackend, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="no tables 'opensm-minhopp'"):
        one(twin, launch(twin, routing="opensm-minhopp"))
    other = TwinBackend(FRONTERA, 44).fabric_document
    file = tmp_path / "other.json"
    file.write_text(json.dumps(other))
    with pytest.raises(InputError, match="these tables are of another fabric"):
        one(twin, launch(twin, routing=[str(file)]))


def test_tables_of_files_are_taken(twin: TwinBackend, tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps(twin.scenario(launch(twin, routing="opensm-minhop"))["fabric"]))
    read = one(twin, launch(twin, routing=[str(file)]))
    computed = one(twin, launch(twin, routing="opensm-minhop"))
    assert read.metrics == computed.metrics


def test_the_platforms_switches_reduce_what_its_library_hands_over(twin: TwinBackend) -> None:
    assert FRONTERA.in_network is not None
    most = FRONTERA.in_network.most.whole
    cases = {
        ("allreduce", most): "sharp",
        ("allreduce", most + 1): "rabenseifner",
        ("barrier", 0): "sharp",
        ("broadcast", 8): None,
    }
    for (name, size), algorithm in cases.items():
        asked = launch(twin, name, size, in_network="platform")
        (step,) = twin.scenario(asked)["work"]
        assert step.get("algorithm") == algorithm, name
        assert one(twin, asked).evidence["sharp"] == "on"
    assert one(twin, launch(twin, "barrier", 0)).evidence["sharp"] == "off"


def test_a_platform_that_says_nothing_of_its_switches_is_refused() -> None:
    other = TwinBackend(platform("fat-tree"), 4)
    with pytest.raises(InputError, match="does not say what its switches reduce"):
        one(other, launch(other, "barrier", 0, in_network="platform"))


def test_launches_taken_together_give_what_they_give_one_by_one(twin: TwinBackend) -> None:
    asked = [launch(twin, size=size, adaptive_routing="on") for size in (64, 4096)]
    asked = [replace(a, trial=replace(a.trial, id=f"t{i}")) for i, a in enumerate(asked)]
    alone = [one(TwinBackend(FRONTERA, N_NODES), launch_) for launch_ in asked]
    twin.ahead(asked)
    assert [one(twin, launch_) for launch_ in asked] == alone


def test_a_launch_that_cannot_be_fails_in_its_own_turn(twin: TwinBackend) -> None:
    good, bad = launch(twin), launch(twin, algorithm="binomial")
    twin.ahead([good, bad])
    assert one(twin, good).metrics["latency_us_p50"] > 0
    with pytest.raises(InputError, match="Binomial is no algorithm of alltoall"):
        one(twin, bad)


def test_tables_are_kept_once_a_run_each_under_its_own_name(
    twin: TwinBackend, tmp_path: Path
) -> None:
    tables = ("opensm-minhop", "opensm-ftree", "opensm-minhop")
    asked = [launch(twin, size=8, routing=named) for named in tables]
    asked = [replace(a, trial=replace(a.trial, id=f"t{i}")) for i, a in enumerate(asked)]
    twin.prepare([a.trial for a in asked], tmp_path)
    twin.ahead(asked)
    for launch_ in asked:
        one(twin, launch_)
    twin.close()
    folder = tmp_path / "recipes"
    kept = {file.name for file in folder.iterdir()} - {f"t{i}.r00.json" for i in range(3)}
    assert kept == {"opensm-minhop.json", "opensm-ftree.json"}
    for number, (named, launch_) in enumerate(zip(tables, asked, strict=True)):
        recipe = json.loads((folder / f"t{number}.r00.json").read_text())
        assert recipe["fabric"] == {"file": f"{named}.json"}
        fabric = json.loads((folder / f"{named}.json").read_text())
        assert fabric["lfts"] == twin.scenario(launch_)["fabric"]["lfts"]


def test_opensm_fills_its_tables_without_a_dead_cable() -> None:
    """As the subnet manager does when the cable has died: every message arrives."""
    whole = TwinBackend(FRONTERA, N_NODES)
    leaf_cables = [
        link["a"] if link["a"].startswith("leaf-01[") else link["b"]
        for link in whole.fabric_document["links"]
        if "leaf-01[" in link["a"] + link["b"] and "spine" in link["a"] + link["b"]
    ]
    dead = Fault(leaf_cables[0], "down")
    twin = TwinBackend(FRONTERA, N_NODES, [dead])
    asked = launch(twin, routing="opensm-minhop")
    assert (
        twin.scenario(asked)["fabric"]["lfts"]["leaf-01"]
        != whole.scenario(asked)["fabric"]["lfts"]["leaf-01"]
    )
    assert one(twin, asked).metrics["latency_us_p50"] > 0
