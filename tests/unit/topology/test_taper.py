"""A twin whose leaves are oversubscribed as asked."""

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.topology.fabric_spec import fabric_spec, tapered


@pytest.mark.parametrize(("ratio", "gb_s"), [("11:9", 200), ("1:1", 44 / 18 * 100), ("2:1", 122.2)])
def test_up_links_carry_what_the_ratio_says(ratio: str, gb_s: float) -> None:
    """Frontera: 44 nodes at 100 Gb/s and 18 cables a leaf; at 200 Gb/s that is 11:9."""
    spec = fabric_spec(platform("frontera"), 128)
    assert tapered(spec, spec, ratio)["switch_bits_per_s"] == pytest.approx(gb_s * 1e9, rel=1e-3)
    whole = TwinBackend(platform("frontera"), 128).fabric_document
    links = tapered(spec, dict(whole), ratio)["links"]
    rates = {"/" in link["a"] + link["b"]: link["bits_per_s"] for link in links}
    assert rates[True] == 100_000_000_000
    assert rates[False] == pytest.approx(gb_s * 1e9, rel=1e-3)


def test_a_leaf_that_sends_all_it_can_gets_its_share() -> None:
    """All 44 nodes of a leaf exchange with another leaf's, by tables that use every cable."""
    twin = TwinBackend(platform("frontera"), 88)
    rates = {}
    for ratio in ("1:1", "2:1"):
        options = {
            "iterations": 1,
            "warmup": 0,
            "window": 16,
            "oversubscription": ratio,
            "adaptive_routing": "on",
            "phases": ["bandwidth"],
            "rounds": [[[k, 44 + k] for k in range(44)]],
        }
        trial = Trial("t", "pairs", (1 << 20,), twin.nodes, 1, options=options)
        samples = list(twin.measure(Launch(trial, 0, 0)))
        rates[ratio] = sum(sample.metrics["bandwidth_mb_s"] for sample in samples)
    assert rates["2:1"] / rates["1:1"] == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(
    ("name", "n_nodes", "ratio", "words"),
    [
        ("frontera", 128, "2", "option 'oversubscription' is '2'"),
        ("frontera", 128, "0:1", "option 'oversubscription' is '0:1'"),
        ("azure-ndv4", 128, "2:1", "on fabric 'azure-ndv4-128'"),
        ("alps-a100", 16, "2:1", "on fabric 'alps-a100-16'"),
    ],
)
def test_other_ratios_and_other_fabrics_are_refused(
    name: str, n_nodes: int, ratio: str, words: str
) -> None:
    spec = fabric_spec(platform(name), n_nodes)
    with pytest.raises(InputError, match=words):
        tapered(spec, spec, ratio)
