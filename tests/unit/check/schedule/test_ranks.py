"""Which HCA a rank uses: by its place among the ranks, and by its name, alike."""

from types import SimpleNamespace

import pytest

from weft.check.readings.network import Network
from weft.check.schedule.ranks import ranks_of_nodes
from weft.core.errors import InputError


def network_of(*n_hcas: int) -> Network:
    """Nodes n0, n1, ... with so many HCAs each, all on one switch."""
    nodes = [
        {"name": f"n{i}", "hcas": [f"n{i}/hca{k}" for k in range(n)]} for i, n in enumerate(n_hcas)
    ]
    hcas = [hca for node in nodes for hca in node["hcas"]]
    links = [
        {"a": f"{hca}[1]", "b": f"leaf[{port}]", "bits_per_s": 1e11}
        for port, hca in enumerate(hcas, start=1)
    ]
    document = {"switches": [{"name": "leaf", "level": 0}], "nodes": nodes, "links": links}
    return Network(SimpleNamespace(document=document))  # type: ignore[arg-type]


@pytest.mark.parametrize("share_hcas", [False, True])
@pytest.mark.parametrize(
    ("n_hcas", "n_ranks"), [((2, 2, 2), 2), ((2, 1, 2), 2), ((1, 2, 4), 4), ((2, 3, 1), 6)]
)
def test_a_ranks_name_tells_the_hca_that_the_schedule_gave_it(
    n_hcas: tuple[int, ...], n_ranks: int, *, share_hcas: bool
) -> None:
    network = network_of(*n_hcas)
    ranks = ranks_of_nodes(network.nodes, n_ranks, network, share_hcas=share_hcas)
    active = [rank for rank in range(len(ranks)) if ranks.has_rail[rank]]
    assert len(active) == (n_ranks * len(n_hcas) if share_hcas else sum(n_hcas))
    for rank in active:
        assert network.hca_of(ranks.endpoint(rank)) == network.hcas[ranks.hca[rank]]


@pytest.mark.parametrize(
    ("n_hcas", "n_ranks", "said"),
    [
        ((8, 8), 4, "4 ranks a node do not fill the 8 HCAs that n0 has"),
        ((1, 2), 3, "3 ranks a node do not fill the 2 HCAs that n1 has"),
    ],
)
def test_ranks_whose_number_would_not_tell_their_hca_are_refused(
    n_hcas: tuple[int, ...], n_ranks: int, said: str
) -> None:
    network = network_of(*n_hcas)
    with pytest.raises(InputError, match=said):
        ranks_of_nodes(network.nodes, n_ranks, network, share_hcas=True)


def test_one_rank_a_node_and_ranks_without_a_fabric_are_always_reported() -> None:
    network = network_of(8, 8)
    assert len(ranks_of_nodes(network.nodes, 1, network)) == 2
    assert len(ranks_of_nodes(("a", "b"), 3, None)) == 6
