"""Platform documents: what they must say, and that the catalogue's own say it."""

import re
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.catalog.document import SourceClass, parse_document, to_toml
from weft.catalog.load import platform, platform_names
from weft.catalog.machine.platform import Platform, figures
from weft.core.errors import InputError


def fat_tree_text() -> str:
    folder = resources.files("weft.catalog").joinpath("platforms")
    return folder.joinpath("fat-tree.toml").read_text("utf-8")


def parse(text: str) -> Platform:
    return parse_document(Platform, text, "mine.toml", "platform")


def problem_of(text: str) -> str | None:
    try:
        parse(text)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", platform_names())
def test_every_figure_has_a_source_that_says_something(name: str) -> None:
    for key, figure in figures(platform(name)):
        assert len(figure.source.split()) >= 3, key
        if figure.class_ is SourceClass.ASSUMED:
            assert "assumed" in figure.source, key


@pytest.mark.parametrize("name", platform_names())
def test_a_platform_is_called_as_its_file(name: str) -> None:
    assert platform(name).name == name


@pytest.mark.parametrize("name", platform_names())
def test_a_platform_written_out_reads_back_as_its_equal(name: str) -> None:
    document = platform(name)
    assert parse(to_toml(document)) == document


def test_algorithms_are_chosen_by_size_in_order() -> None:
    fat_tree = platform("fat-tree")
    rows = [fat_tree.algorithm("allreduce", size) for size in (8, 1 << 20)]
    assert [row and row.algorithm for row in rows] == ["recursive_doubling", "ring"]
    assert fat_tree.algorithm("scan", 8) is None


def test_frontera_is_eleven_to_nine_oversubscribed() -> None:
    frontera = platform("frontera")
    assert frontera.fabric is not None
    assert frontera.links is not None
    tree = frontera.fabric
    assert tree.nodes_per_leaf is not None
    assert tree.spines is not None
    assert tree.cables_per_spine is not None
    down = tree.nodes_per_leaf.value * frontera.links.host.rate.value
    up = tree.spines.value * tree.cables_per_spine.value * frontera.links.switch.rate.value
    assert down / up == pytest.approx(11 / 9)
    assert frontera.facts["oversubscription"].value == pytest.approx(down / up, abs=1e-4)


def test_frontera_has_as_many_nodes_as_182_leaves_hold() -> None:
    frontera = platform("frontera")
    assert frontera.fabric is not None
    assert frontera.fabric.nodes_per_leaf is not None
    assert frontera.facts["nodes"].value == 182 * frontera.fabric.nodes_per_leaf.value


def test_ndv4_all_pairs_bound_is_within_what_eight_links_carry() -> None:
    ndv4 = platform("azure-ndv4")
    assert ndv4.links is not None
    line_rate_gb_s = ndv4.hcas_per_node * ndv4.links.host.rate.value / 8
    assert ndv4.facts["all-pairs-allreduce-bound"].value / line_rate_gb_s == pytest.approx(0.93)


def test_the_a9_tables_have_the_rows_their_errata_speak_of() -> None:
    a9 = platform("azure-a9")
    latency, both_ways = a9.table("latency"), a9.table("bidirectional")
    assert latency is not None
    assert both_ways is not None
    by_size, rates = dict(latency.rows), dict(both_ways.rows)
    assert (by_size[128], by_size[256]) == (6.60, 2.85)
    assert rates[8192] < 0.5 * rates[4096]
    assert len(latency.rows) == 24
    assert len(both_ways.rows) == 23


def test_this_machine_knows_its_own_cores_and_has_no_twin() -> None:
    import os

    here = platform("this-machine")
    assert here.node["cores"].value == len(os.sched_getaffinity(0))
    assert here.node["memory"].value > 0
    assert not here.has_twin


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('shape = "balanced"', 'shape = "fixed"', "a fixed fat-tree needs nodes_per_leaf"),
        ("max_bytes = 255", "max_bytes = 5000", "max_bytes rises from regime to regime"),
        ("max_bytes = 255\n", "", "exactly the last regime has no max_bytes"),
        ('shape = "balanced"', 'shape = "torus"', "key 'fabric.shape' is wrong"),
        ('routing = "dmodk"', 'routing = "magic"', "key 'fabric.routing' is wrong"),
        ("value = 130", "value = -130", "a figure of 0 ns or more, not -130"),
        ("value = 130", "value = inf", "key 'switch.delay.value' is wrong"),
        ("[switch.delay]", "[switch.dely]", "unknown key 'switch.dely'"),
        ("[switch.delay]", "[switch.dely]", "did you mean 'delay'"),
        ("[[host.regimes]]", "[[host.regime]]", "unknown key 'host.regime'"),
        ("send_overhead_ns = ", "send_overhead_ns = -", "key 'host.regimes.0..send_overhead_ns'"),
        ('schema = "weft.platform/1"', 'schema = "weft.platform/9"', "key 'schema' is wrong"),
        ('name = "fat-tree"', 'name = "Fat Tree"', "key 'name' is wrong"),
        ("[switch.delay]", "[signs]\nhosts = ['nid(']\n[switch.delay]", "a regular expression"),
    ],
)
def test_a_broken_platform_is_refused(old: str, new: str, message: str) -> None:
    text = fat_tree_text()
    assert old in text
    with pytest.raises(InputError, match=message):
        parse(text.replace(old, new))


# Names as Azure's images, Alps and Perlmutter give them.
@pytest.mark.parametrize(
    ("kind", "name", "owners"),
    [
        ("hcas", "mlx5_ib0", {n for n in platform_names() if n.startswith(("azure-h", "azure-n"))}),
        ("hcas", "mlx5_0", set()),
        ("hosts", "nid001234", {"alps-a100", "alps-gh200", "perlmutter"}),
        ("hosts", "node-1", set()),
        ("hcas", "cxi0", {"alps-a100", "alps-gh200", "perlmutter", "generic-slingshot11"}),
    ],
)
def test_a_name_speaks_only_for_machines_that_give_it(
    kind: str, name: str, owners: set[str]
) -> None:
    found = {
        owner
        for owner in platform_names()
        if any(re.fullmatch(pattern, name) for pattern in getattr(platform(owner).signs, kind))
    }
    assert found == owners


def test_a_fabric_without_hosts_is_refused() -> None:
    head = fat_tree_text().partition("[host.adapter_latency]")[0]
    with pytest.raises(InputError, match="a platform with a fabric needs host too"):
        parse(head)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_damage_to_a_document_crashes_the_reader(data: st.DataObject) -> None:
    lines = fat_tree_text().splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        damage = data.draw(st.sampled_from(["drop", "twice", "cut", "text", "swap"]))
        other = data.draw(st.integers(0, len(lines) - 1))
        if damage == "drop":
            del lines[at]
        elif damage == "twice":
            lines.insert(at, lines[at])
        elif damage == "cut":
            lines[at] = lines[at][: len(lines[at]) // 2]
        elif damage == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines[at] = data.draw(st.text(max_size=20))
    problem = problem_of("\n".join(lines))
    assert problem is None or problem.startswith("mine.toml: ")
