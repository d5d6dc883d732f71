"""A platform of what was read: each figure with its file, and all others assumed."""

import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.seeds import drawn
from tests.unit.doctor.detection.machines import host_of
from tests.unit.doctor.machine_trees import Tree, aws, hdr_functions, ndr, slingshot
from tests.unit.doctor.test_machine import damage

from weft.catalog.document import SourceClass, parse_document, to_toml
from weft.catalog.load import platform
from weft.catalog.machine.platform import Platform, figures
from weft.core.errors import InputError
from weft.doctor.machine.detection.document import (
    HERE,
    detected_platform,
    platform_named,
    platform_of,
    title_of,
)
from weft.doctor.machine.detection.host import name_of
from weft.expect.model import Conditions
from weft.expect.prediction import predict

TREES = {"ndr": ndr, "hdr": hdr_functions, "slingshot": slingshot, "efa": aws}


def hdr(root: Path, **pci: object) -> Tree:
    tree = Tree(root).machine()
    speed = {"speed": "16.0 GT/s PCIe", "most_speed": "16.0 GT/s PCIe"}
    tree.hca(0, rate="HDR", **{**speed, **pci})  # type: ignore[arg-type]
    return tree


@pytest.mark.parametrize("name", TREES)
def test_every_document_reads_back_and_predicts(name: str, tmp_path: Path) -> None:
    document = platform_of(host_of(TREES[name](tmp_path)))
    assert parse_document(Platform, to_toml(document), "x", "platform") == document
    conditions = Conditions("bandwidth", 1 << 20, 2, 1)
    found = predict(document, conditions)
    # Of EFA neither the rate nor the slot is certain: nothing is impossible.
    assert (found.limit is None) == (name == "efa")
    assert document.links is not None
    assert found.value < document.links.host.rate.value * 125


@pytest.mark.parametrize("name", TREES)
def test_a_figure_is_read_or_it_is_marked(name: str, tmp_path: Path) -> None:
    """What was read names a path of the kernel's; all else is assumed or unverified."""
    for key, figure in figures(platform_of(host_of(TREES[name](tmp_path)))):
        marked = figure.class_ in (SourceClass.ASSUMED, SourceClass.UNVERIFIED)
        told = ("/sys/", "/proc/", "adapters of one rate")
        assert marked or any(word in figure.source for word in told), key
        if figure.class_ is SourceClass.ASSUMED:
            assert figure.source.startswith("assumed: "), key


def test_an_unverified_figure_of_the_base_stays_unverified(tmp_path: Path) -> None:
    document = platform_of(host_of(hdr(tmp_path)))
    assert document.switch is not None
    assert document.switch.delay.class_ is SourceClass.UNVERIFIED
    assert "as generic-hdr" in document.switch.delay.source


def test_the_slot_is_that_of_its_lanes(tmp_path: Path) -> None:
    """16 lanes of 16 GT/s: 16 x 16 x 128/130 / 8 = 31.5 GB/s."""
    document = platform_of(host_of(hdr(tmp_path)))
    assert document.node["hca_pcie"].value == pytest.approx(31.5, abs=0.01)
    narrow = platform_of(host_of(hdr(tmp_path / "b", lanes=8)))
    assert narrow.node["hca_pcie"].value == pytest.approx(15.75, abs=0.01)
    assert "current_link_width" in narrow.node["hca_pcie"].source
    assert "PCIe Gen4 x8" in narrow.title


def test_cores_are_not_threads(tmp_path: Path) -> None:
    tree = hdr(tmp_path)
    tree.cores(48)
    node = platform_of(host_of(tree)).node
    assert [node[key].value for key in ("cores", "cpus", "sockets", "numa_nodes")] == [48, 96, 2, 2]
    assert host_of(tree).processors.model == "Intel(R) Xeon(R) Platinum 8480C"


def test_lscpu_names_the_processor_of_arm(tmp_path: Path) -> None:
    tree = hdr(tmp_path)
    tree.write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41")
    tree.write("commands/lscpu", "Architecture: aarch64\nModel name:   Neoverse-V2")
    here = host_of(tree).processors
    assert (here.vendor, here.model) == ("arm", "Neoverse-V2")


def test_gpus_come_with_their_links_and_the_processors_vendor(tmp_path: Path) -> None:
    tree = ndr(tmp_path)
    tree.cores(48)
    gpus = platform_of(host_of(tree)).gpus
    assert gpus is not None
    assert (gpus.model, gpus.per_node.whole, gpus.cpu) == ("H100 SXM", 8, "intel")
    assert gpus.nvlink is not None
    assert gpus.nvlink.value == pytest.approx(18 * 20.6)


def test_a_machine_without_a_network_has_no_links(tmp_path: Path) -> None:
    document = platform_of(host_of(Tree(tmp_path).machine()))
    assert document.links is None
    assert document.node["memory"].value == pytest.approx(1945.6)
    assert title_of(host_of(Tree(tmp_path))).startswith("no network of known rate")


def test_nothing_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing tells what this machine is"):
        platform_of(host_of(Tree(tmp_path)))


def test_the_rate_that_old_efa_drivers_always_state_makes_nothing_impossible(
    tmp_path: Path,
) -> None:
    document = platform_of(host_of(aws(tmp_path)))
    assert document.links is not None
    assert document.links.host.most_gbps == 400
    assert any("older efa drivers" in note for note in document.notes)


def test_two_ports_of_an_adapter_may_be_faster_than_one(tmp_path: Path) -> None:
    tree = hdr(tmp_path)
    for file, text in (("state", "4: ACTIVE"), ("rate", "200 Gb/sec (4X HDR)")):
        tree.write(f"sys/class/infiniband/mlx5_0/ports/2/{file}", text)
    document = platform_of(host_of(tree))
    assert document.links is not None
    assert (document.hcas_per_node, document.links.host.most_gbps) == (1, 400)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("Node001.site.example", "node001"),
        ("", "detected"),
        ("generic-hdr", "detected"),
        ("--__", "detected"),
        ("a b;c", "a-b-c"),
        ("x" * 500, "x" * 64),
    ],
)
def test_a_host_names_its_platform(host: str, name: str) -> None:
    assert name_of(host) == name


def test_a_host_named_as_a_platform_of_the_catalogue_is_not_that(tmp_path: Path) -> None:
    tree = hdr(tmp_path)
    tree.write("proc/sys/kernel/hostname", "frontera")
    assert platform_of(host_of(tree)).name == "detected"


def test_here_is_this_machine_where_it_has_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.doctor.machine.detection.document.ROOT", hdr(tmp_path / "a").root)
    assert platform_named(HERE).name == HERE
    assert platform_named("azure-hbv3") == platform("azure-hbv3")
    bare = Tree(tmp_path / "b").machine()
    bare.interface(0)
    assert detected_platform(bare.root) is None
    monkeypatch.setattr("weft.doctor.machine.detection.document.ROOT", bare.root)
    with pytest.raises(InputError, match="neither an active RDMA adapter nor a GPU"):
        platform_named(HERE)


def test_no_command_is_run_for_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a command was run")

    monkeypatch.setattr("weft.core.process.run", fail)
    assert detected_platform(ndr(tmp_path).root) is not None


def test_here_reads_no_file_more_than_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every verb that compares with this machine waits for it: 300 files, 0.05 s."""
    opened: Counter[str] = Counter()
    open_ = os.open

    def counted(path: str, *flags: int) -> int:
        opened[path] += 1
        return open_(path, *flags)

    monkeypatch.setattr("weft.doctor.machine.sysroot.os.open", counted)
    detected_platform(ndr(tmp_path).root)
    assert len(opened) > 100
    assert max(opened.values()) <= 2


@pytest.mark.parametrize("seed", drawn(range(60), 15))
def test_whatever_the_files_hold_a_document_comes_out(seed: int, tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0, n_keys=1)
    tree.hca(1, n_keys=1, layer="Ethernet", rate="100 Gb/sec (4X EDR)")
    tree.cxi(0)
    tree.efa(3)
    tree.gpu(0)
    tree.cores(4)
    tree.interface(0)
    tree.write("commands/ibv_devinfo", "hca_id:\tmlx5_0\n\tactive_mtu:\t4096 (5)")
    tree.write("proc/sys/kernel/hostname", "node001")
    damage(tree, random.Random(seed))
    document = platform_of(host_of(tree))
    assert parse_document(Platform, to_toml(document), "x", "platform") == document
    json.dumps(document.model_dump(mode="json"), allow_nan=False)
