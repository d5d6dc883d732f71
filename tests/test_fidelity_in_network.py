"""Switches that reduce: published figures that the twin must keep, and claims that must last."""

import pytest

from benches import in_network, nv_switches
from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.core.errors import MissingError


@pytest.fixture(autouse=True, scope="module")
def engine() -> None:
    try:
        TwinBackend(platform("fat-tree"), 2)
    except MissingError as error:
        pytest.skip(str(error))


def rows() -> dict[str, in_network.Row]:
    return {row.what: row for row in in_network.rows()}


def test_operations_of_128_hosts_are_within_twenty_percent_by_one_constant() -> None:
    by_switches = [row for what, row in rows().items() if "Switch-IB 2" in what]
    assert [row.published for row in by_switches] == [2.83, 14.48]
    for row in by_switches:
        assert row.twin == pytest.approx(row.published, rel=0.2), row.what
        assert row.bare == pytest.approx(row.published, rel=0.2), row.what


def test_bare_hosts_take_within_twenty_percent_of_the_published_doubling() -> None:
    row = rows()["8 B allreduce, 128 hosts, without SHARP"]
    assert row.published == 6.01
    assert row.bare == pytest.approx(row.published, rel=0.2)


def test_switches_win_at_8_bytes_whatever_is_assumed() -> None:
    edr = platform("generic-edr")
    for scale in (0.5, 1, 2):
        for on in in_network.scaled_hosts(edr).values():
            options = {"algorithm": "recursive_doubling"}
            hosts = in_network.latency_us(on, in_network.HOSTS, "allreduce", 8, **options)
            model = in_network.switches(scale)
            assert in_network.by_switches(on, in_network.HOSTS, "allreduce", 8, model) < hosts


def test_the_more_tasks_a_node_the_less_switches_gain() -> None:
    """SOURCE: Cazes, MUG 2020: less consistent at 56 tasks a node, more at fewer."""
    frontera = platform("frontera")
    for task_ns in (0, 100, 200):
        ups = in_network.task_speed_ups(frontera, task_ns)
        assert ups[1] > ups[4] > ups[56]
        assert ups[14] > ups[28] > ups[56]
    assert ups[56] < 1, "at 200 ns a task all of it is gone"


def test_the_more_tasks_the_less_holds_with_every_constant_at_half_and_twice() -> None:
    """That 56 tasks gain nothing hangs on what a task costs its leader, and is not claimed."""
    found = in_network.scaled_task_speed_ups()
    assert len(found) == 9
    for what, ups in found.items():
        assert ups[1] > ups[28] > ups[56], what
        assert ups[56] < ups[1] / 2, what


def test_streams_beat_rings_with_every_constant_at_half_and_twice() -> None:
    """SOURCE: 2 to 5 times (Graham et al., ISC 2020); a ring's adapters send 1.875 times as much,
    in packets of four times the payload."""
    found = in_network.scaled_stream_ups()
    assert len(found) == 10
    for what, ups in found.items():
        assert ups[1 << 20] > ups[4 << 20] > 1.8, what


def test_nvls_of_one_node_is_within_five_percent_where_links_carry_what_nccl_expects() -> None:
    whole, share = nv_switches.nvls_shares()
    published = nv_switches.ndv5_figure(nv_switches.NVLS).value
    assert published == 481.42
    size = 64 << 20
    assert nv_switches.slices_busbw_gb_s("nvls", share, size) == pytest.approx(published, rel=0.05)
    assert nv_switches.slices_busbw_gb_s("nvls", whole, size) > published


def test_nvls_tree_of_four_nodes_is_within_ten_percent_and_collnet_above_it() -> None:
    _, share = nv_switches.nvls_shares()
    published = nv_switches.ndv5_figure(nv_switches.NVLS_TREE).value
    assert published == 361.06
    of_four = {
        name: nv_switches.slices_busbw_gb_s(name, share, 64 << 20, nv_switches.TREE_NODES)
        for name in ("nvls_tree", "collnet")
    }
    assert of_four["nvls_tree"] == pytest.approx(published, rel=0.1)
    assert of_four["collnet"] > of_four["nvls_tree"], "half as many bytes between nodes"


def test_bounds_of_frontera_hold_for_bare_hosts_below_directors_of_boards() -> None:
    bare = in_network.bare(platform("frontera"))
    ups = in_network.frontera_speed_ups(bare, boards=True)
    assert {name: bound for name, (bound, _) in ups.items()} == {"allreduce": 5.1, "barrier": 7.1}
    for name, (bound, up) in ups.items():
        assert 1 < up <= bound, name
