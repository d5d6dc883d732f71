"""The cables of virtual hosts, as options of `weft cluster up` write them."""

import pytest

from weft.cli.cluster.hosts import cables_of, uplink_of
from weft.cluster.local.layout import Impairment
from weft.core.errors import InputError


def test_an_option_is_of_both_directions_or_of_the_named_one() -> None:
    one, two, three = cables_of(
        3,
        ("node[1-3]=400mbit", "node2:sending=100MBIT"),
        ("node2:receiving=0.5ms", "node3=200us"),
        ("node3:sending=0.1%",),
    )
    usual = Impairment("400mbit")
    assert (one.sending, one.receiving) == (usual, usual)
    assert two.sending == Impairment("100mbit")
    assert two.receiving == Impairment("400mbit", delay_us=500.0)
    assert three.sending == Impairment("400mbit", delay_us=200.0, loss=0.001)
    assert three.receiving == Impairment("400mbit", delay_us=200.0)


def test_of_a_direction_named_twice_the_last_value_counts() -> None:
    (host,) = cables_of(1, ("node1=1gbit", "node1:sending=10mbit", "node1=1mbit"), (), ())
    assert host.sending == host.receiving == Impairment("1mbit")


def test_a_rate_may_say_how_much_passes_at_once() -> None:
    (host,) = cables_of(1, ("node1=200mbit/2kb",), (), ())
    assert host.sending == Impairment("200mbit/2kb")
    for wrong in ("200mbit/", "200mbit/2", "200mbit/0kb", "200mbit/2mb"):
        with pytest.raises(InputError, match="--rate"):
            cables_of(1, (f"node1={wrong}",), (), ())


def test_hosts_keep_their_leaf_with_their_cables() -> None:
    hosts = cables_of(3, ("node3=1gbit",), (), (), n_leaves=2)
    assert [host.leaf for host in hosts] == [1, 1, 2]
    assert hosts[2].sending == Impairment("1gbit")


def test_uplinks_take_the_words_of_a_rate() -> None:
    assert uplink_of(None, 1) is None
    assert uplink_of("200MBIT/2kb", 2) == "200mbit/2kb"
    for wrong in ("200", "node1=200mbit", "200mbit/2mb", ""):
        with pytest.raises(InputError, match="--uplink") as refused:
            uplink_of(wrong, 2)
        assert refused.value.expected == "RATE such as 200mbit or 200mbit/2kb"
