"""What an aggressor is asked to be, and the nodes it gets."""

import pytest

from weft.bench.aggressor import (
    Aggressor,
    aggressors_of,
    named_nodes,
    nodes_of,
    parse_aggressor,
)
from weft.bench.model import Trial
from weft.core.errors import InputError

NODES = tuple(f"n{i:02d}" for i in range(40))


def trial(n_nodes: int = 8) -> Trial:
    return Trial("t000", "allreduce", (8,), NODES[:: 40 // n_nodes][:n_nodes], 1)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("alltoall:1M@20%", Aggressor("", "alltoall", 2**20, 0.2, None)),
        ("put_incast@8", Aggressor("", "put_incast", 4096, None, 8)),
        ("fan_in:64K@job,sl=1", Aggressor("", "fan_in", 65536, None, None, service_level=1)),
        (
            "alltoall@4,placement=packed,pkey=0x21,start=1ms",
            Aggressor(
                "", "alltoall", 4096, None, 4, is_packed=True, partition_key=0x21, start_ns=10**6
            ),
        ),
    ],
)
def test_a_text_says_what_repeats_where(text: str, meant: Aggressor) -> None:
    assert parse_aggressor(text) == meant


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("alltoall", "has no nodes"),
        ("alltoal@4", "no pattern 'alltoal'"),
        ("pairs@4", "no pattern 'pairs'"),
        ("alltoall@1", "is on '1'"),
        ("alltoall@120%", "is on '120%'"),
        ("alltoall@x", "is on 'x'"),
        ("alltoall@4,sl=15", "has sl=15"),
        ("alltoall@4,pkey=0x8021", "has pkey=0x8021"),
        ("alltoall@4,sl", "has 'sl'"),
        ("alltoall@4,sl=1,sl=2", "has 'sl=2'"),
        ("alltoall@4,placement=round", "has placement=round"),
        ("alltoall@4,routing=fast", "has routing=fast"),
        ("alltoall:4Q@4", "is not a size"),
        ("alltoall:4G@4", "sends 4294967296 B"),
        ("allreduce:3@4", "sends 3 B"),
        ("alltoall:0@4", "sends 0 B"),
        ("alltoall@4,pkey=0", "has pkey=0"),
        ("bidirectional@4", "no pattern 'bidirectional'"),
    ],
)
def test_what_nobody_can_mean_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_aggressor(text)
    assert words in caught.value.what


def test_no_node_is_of_two_jobs_and_all_launches_on_the_jobs_nodes_have_the_same() -> None:
    asked = [parse_aggressor(one) for one in ("alltoall@20%", "fan_in@8", "put_incast@job")]
    found = nodes_of(asked, trial(), NODES)
    assert [len(own) for own in found] == [8, 8, 8]
    everyone = [*trial().nodes, *(node for own in found for node in own)]
    assert len(set(everyone)) == len(everyone) == 32
    assert nodes_of(asked, trial(), NODES) == found
    assert nodes_of(asked, trial(5), NODES) != found


def test_packed_nodes_are_neighbours_in_the_order_of_nodes() -> None:
    asked = ["fan_in@6", "alltoall@40%,placement=packed", "alltoall@10,placement=packed"]
    scattered, first, second = nodes_of(list(map(parse_aggressor, asked)), trial(), NODES)
    others = [node for node in NODES if node not in trial().nodes]
    for own, n in ((first, 16), (second, 10)):
        at = others.index(own[0])
        assert list(own) == others[at : at + n]
    assert len({*scattered, *first, *second}) == 32


def test_more_aggressors_than_the_program_has_are_refused() -> None:
    many = Trial("t", "allreduce", (8,), NODES, 1, options={"aggressors": ["alltoall@2"] * 9})
    with pytest.raises(InputError, match="9 aggressors"):
        aggressors_of(many)


def test_too_few_nodes_are_said() -> None:
    with pytest.raises(InputError, match="they ask for 33") as caught:
        nodes_of([parse_aggressor("alltoall@33")], trial(), NODES)
    assert caught.value.expected == "at most 32 for them"
    with pytest.raises(InputError, match="gets 1 node of 8"):
        nodes_of([parse_aggressor("alltoall@20%")], trial(2), NODES[:8])


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("alltoall@n[1-3]", ("n1", "n2", "n3")),
        ("alltoall:1M@n[1-2,7],m4,sl=1", ("m4", "n1", "n2", "n7")),
        ("alltoall@a-1,b-2", ("a-1", "b-2")),
    ],
)
def test_nodes_by_their_names_may_have_commas(text: str, nodes: tuple[str, ...]) -> None:
    one = parse_aggressor(text)
    assert (one.nodes, one.share, one.n_nodes) == (nodes, None, None)
    assert one.count(4, 16) == len(nodes)


@pytest.mark.parametrize("text", ["alltoall@n1", "alltoall@n[1-2],placement=packed"])
def test_one_node_or_a_placement_of_named_nodes_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_aggressor(text)


def test_a_job_is_drawn_from_the_nodes_that_no_aggressor_names() -> None:
    assert named_nodes({"aggressors": ["alltoall@n[1-2]", "fan_in@4"]}) == {"n1", "n2"}
    assert named_nodes({}) == named_nodes({"aggressors": "alltoall@n[1-2]"}) == frozenset()
