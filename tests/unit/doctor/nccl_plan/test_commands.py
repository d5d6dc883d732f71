"""What `weft doctor nccl-plan` and `weft expect --libnccl` print of a stand-in for NCCL."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.doctor.nccl_plan.conftest import CRASH

from weft.api import library_choice
from weft.cli import run
from weft.cli.doctor.nccl_plan_text import plan_text
from weft.cli.examples import EXAMPLES
from weft.doctor.nccl_plan.nodes import NodesOf, topology_of
from weft.doctor.nccl_plan.own_search import own_plan
from weft.doctor.nccl_plan.plan import TunedTime
from weft.expect.model import Conditions

Capture = pytest.CaptureFixture[str]
PLAN = ("--platform", "azure-ndv5", "--nodes", "1,4", "--size", "1K,1M")


def printed(capsys: Capture, *words: str, code: int = 0) -> str:
    assert run(list(words)) == code
    shown = capsys.readouterr()
    return shown.err if code else shown.out


def test_the_plan_as_text_json_and_csv(libraries: dict[int, Path], capsys: Capture) -> None:
    words = ("doctor", "nccl-plan", str(libraries[0]), *PLAN)
    text = printed(capsys, *words, "--channels")
    assert text.startswith("NCCL 2.99.1 on nodes of azure-ndv5, 8 GPUs each")
    assert "ring 1: net1 > GPUs 1 2 3 4 5 6 7 0 > net1" in text
    assert "1 KiB to 1 MiB  ring Simple  1.05 ms for 1 MiB" in text
    record = json.loads(printed(capsys, *words, "--format", "json"))
    (plan,) = record["plans"]
    assert (plan["version"], plan["gpus_per_node"], plan["tuner_asked"]) == ("2.99.1", 8, True)
    assert [one["nodes"] for one in plan["plans"]] == [1, 4]
    assert plan["plans"][1]["graphs"][0]["channels"][1]["nets"] == [1, 1]
    rows = list(csv.DictReader(io.StringIO(printed(capsys, *words, "--format", "csv"))))
    assert [(row["nodes"], row["size_bytes"]) for row in rows] == [
        (n, size) for n in ("1", "4") for size in ("1024", str(1 << 20))
    ]


def test_two_libraries_alike_differ_in_nothing(libraries: dict[int, Path], capsys: Capture) -> None:
    one = str(libraries[0])
    text = printed(capsys, "doctor", "nccl-plan", one, *PLAN, "--against", one)
    assert "from NCCL 2.99.1 to 2.99.1:\n  1 to 4 nodes: nothing changes" in text


def test_algorithms_that_one_side_does_not_know_are_not_called_equal() -> None:
    job = topology_of("azure-ndv5", None)
    known = own_plan(job, "2.26.5", nodes=(1, 4))
    time = TunedTime("ring", "simple", 10.0)
    plans = {
        n: replace(one, times={("allreduce", 1024): (time,)}) for n, one in known.by_nodes.items()
    }
    asked = replace(known, is_model=False, by_nodes=plans)
    unasked = replace(known, version="2.32.3", is_model=False)
    both = plan_text([asked, asked], NodesOf("here"), "allreduce", channels=False)
    assert "  1 to 4 nodes: nothing changes" in both
    for pair in ([asked, unasked], [unasked, asked]):
        text = plan_text(pair, NodesOf("here"), "allreduce", channels=False)
        assert "nothing changes" not in text
        assert "  1 to 4 nodes: the graphs stay the same\n" in text
        assert "  algorithms by size not compared: those of NCCL 2.32.3 are not known" in text


def test_one_node_is_no_plural() -> None:
    job = topology_of("azure-ndv5", None)
    plan = own_plan(job, "2.26.5", nodes=(1,))
    text = plan_text([plan, plan], NodesOf("here"), "allreduce", channels=False)
    assert "  1 node: the graphs stay the same" in text


def test_a_crash_is_one_sentence(libraries: dict[int, Path], capsys: Capture) -> None:
    words = ("doctor", "nccl-plan", str(libraries[CRASH]), *PLAN)
    text = printed(capsys, *words, code=2)
    assert "crashed (signal 6) at ncclTopoCompute" in text
    assert "Traceback" not in text


def test_an_expectation_takes_what_the_library_chooses(
    libraries: dict[int, Path], capsys: Capture
) -> None:
    words = ("expect", "azure-ndv5", "allreduce", "--nodes", "4", "--size", "1M")
    assert "BY       tree ll128" in printed(capsys, *words, "--gpus", "32")
    asked = printed(capsys, *words, "--libnccl", str(libraries[0]))
    # Both channels of the stand-in enter by the first two of eight adapters.
    assert "BY       ring simple" in asked
    assert "2 x PCIe of 48 GB/s" in asked
    assert "asked libnccl0.so of NCCL 2.99.1: algorithm, protocol and adapters" in asked
    said = (
        "contradiction: the library's ring carries 48 GB/s between nodes (2 x 24 GB/s), weft's"
        " value counts 96 GB/s of the platform, and holds only where the platform is right\n"
    )
    assert said in asked
    own = printed(capsys, *words, "--libnccl", str(libraries[0]), "--algorithm", "tree")
    assert "BY       tree" in own


@pytest.mark.parametrize("n_nodes", [1, 4])
def test_equal_rates_of_library_and_formula_are_no_contradiction(
    n_nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = own_plan(topology_of("azure-ndv5", None), "2.26.5", nodes=(n_nodes,))
    monkeypatch.setattr(library_choice, "ask_library", lambda *_, **__: plan)
    asked = Conditions("allreduce", 1 << 30, n_nodes, 8, "gpu", "nccl")
    _, said = library_choice.by_library([asked], "azure-ndv5", Path("libnccl.so"), None)
    assert "asked libnccl.so of NCCL 2.26.5" in said
    assert "contradiction" not in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("azure-ndv5", "alltoall", "--nodes", "4"), "--libnccl decides nothing here"),
        (("frontera", "osu_allreduce"), "--libnccl does not apply"),
        (("azure-ndv5", "allreduce", "--tasks-per-node", "4"), "4 GPUs of each node"),
    ],
)
def test_questions_that_are_none_for_the_library(
    libraries: dict[int, Path], capsys: Capture, words: tuple[str, ...], says: str
) -> None:
    text = printed(capsys, "expect", *words, "--libnccl", str(libraries[0]), code=2)
    assert says in text


def test_a_search_of_our_own_wants_no_library(capsys: Capture) -> None:
    words = ("doctor", "nccl-plan", "--nccl", "2.26.5", "--platform", "azure-ndv5")
    text = printed(capsys, *words, "--nodes", "1,4", "--channels")
    assert text.startswith("weft's own search of NCCL 2.26.5 on nodes of azure-ndv5, 8 GPUs each")
    assert "this search has no algorithms by size: weft expect" in text
    record = json.loads(printed(capsys, *words, "--nodes", "4", "--format", "json"))
    (plan,) = record["plans"]
    assert (plan["version"], plan["is_model"], plan["tuner_asked"]) == ("2.26.5", True, False)


@pytest.mark.parametrize(("value", "crosses"), [(None, True), ("", True), ("0", False)])
def test_cross_nic_counts_in_our_own_search(
    value: str | None, crosses: bool, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv("NCCL_CROSS_NIC", raising=False)
    if value is not None:
        monkeypatch.setenv("NCCL_CROSS_NIC", value)
    words = ("doctor", "nccl-plan", "--nccl", "2.26.5", "--platform", "azure-ndv5")
    record = json.loads(printed(capsys, *words, "--nodes", "2", "--format", "json"))
    ring = record["plans"][0]["plans"][0]["graphs"][0]
    assert any(one["nets"][0] != one["nets"][1] for one in ring["channels"]) is crosses


def test_the_example_of_the_help_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("topo.xml").write_text(topology_of("azure-ndv5", None).text)
    words = EXAMPLES["doctor nccl-plan"][1].split()[1:]
    assert "search of NCCL 2.27" in printed(capsys, *words)


def test_a_library_beside_our_own_search(libraries: dict[int, Path], capsys: Capture) -> None:
    words = ("doctor", "nccl-plan", "--nccl", "2.28.3", *PLAN, "--against", str(libraries[0]))
    assert "from weft's own search of NCCL 2.28.3 to NCCL 2.99.1:" in printed(capsys, *words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give a file LIBNCCL, or --nccl VERSION"),
        (("--nccl", "2.11.4"), "weft has no search of NCCL '2.11.4'"),
        (("--nccl", "2.27"), "expected: three numbers of 2.26 to 2.28, such as 2.26.5, 2.27.3, 2"),
    ],
)
def test_versions_without_a_search(capsys: Capture, words: tuple[str, ...], says: str) -> None:
    text = printed(capsys, "doctor", "nccl-plan", *words, "--platform", "azure-ndv5", code=2)
    assert says in text


CLOUD = Path(__file__).parents[3] / "fixtures/field_topology"


def test_a_file_of_other_nodes_than_the_platforms_is_said(capsys: Capture) -> None:
    file = str(CLOUD / "az-ncv4-topo.xml")
    words = ("doctor", "nccl-plan", "--nccl", "2.26.5", "--topo", file, "--nodes", "2")
    text = printed(capsys, *words, "--platform", "azure-ndv5")
    first = text.splitlines()[0]
    assert first == f"weft's own search of NCCL 2.26.5 on nodes of {file}, 4 GPUs each"
    difference = (
        "the file has 4 GPUs, 1 adapter and compute capability 8.0 a node,"
        " azure-ndv5 has 8 GPUs, 8 adapters and compute capability 9.0"
    )
    assert f"WARNING  not nodes of azure-ndv5: {difference}\n" in text
    assert f"next: weft doctor topo {file} --platform azure-ndv5" in text
    record = json.loads(printed(capsys, *words, "--platform", "azure-ndv5", "--format", "json"))
    assert (record["nodes_of"], record["topology_differs"]) == (file, difference)


def test_a_file_of_the_platforms_nodes_is_no_warning(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "topo.xml"
    file.write_text(topology_of("azure-ndv5", None).text)
    words = ("doctor", "nccl-plan", "--nccl", "2.26.5", "--topo", str(file), "--nodes", "2")
    text = printed(capsys, *words, "--platform", "azure-ndv5")
    assert text.startswith("weft's own search of NCCL 2.26.5 on nodes of azure-ndv5, 8 GPUs each")
    assert "WARNING" not in text


def test_an_expectation_names_the_file_of_other_nodes(
    libraries: dict[int, Path], capsys: Capture
) -> None:
    file = str(CLOUD / "az-ncv4-topo.xml")
    words = ("expect", "azure-ndv5", "allreduce", "--nodes", "4", "--size", "1G", "--topo", file)
    text = printed(capsys, *words, "--libnccl", str(libraries[0]), code=2)
    assert "the file has 4 GPUs and compute capability 8.0 a node, azure-ndv5 has 8" in text
    assert "hint: name the platform that the file is from (weft platform list)" in text


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("azure-mi300x", "NCCL does not run there"),
        ("azure-mi300x", "hint: RCCL runs there, which weft cannot ask"),
        ("alps-gh200", "does not state the PCIe devices of a node"),
        ("alps-gh200", "NCCL_TOPO_DUMP_FILE=topo.xml, then add --topo topo.xml --platform alps"),
        ("generic-hdr", "then add --topo topo.xml\n"),
    ],
)
def test_platforms_without_devices_name_the_way_out(capsys: Capture, name: str, says: str) -> None:
    words = ("doctor", "nccl-plan", "--nccl", "2.26.5", "--platform", name)
    assert says in printed(capsys, *words, code=2)
