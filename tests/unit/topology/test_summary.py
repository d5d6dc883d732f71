"""Summary: counts and words of generated trees."""

import pytest

from weft.topology.fabric import Fabric
from weft.topology.summary import summarise

RATES = {
    "host_bits_per_s": 100_000_000_000,
    "switch_bits_per_s": 200_000_000_000,
    "host_delay_ps": 0,
    "switch_delay_ps": 0,
}
TWO = {"generate": "fat_tree", "levels": 2, "nodes": 16, "nodes_per_leaf": 8, "spines": 2, **RATES}
THREE = {"generate": "fat_tree", "levels": 3, "nodes": 16, "radix": 4, **RATES}


def words(document: dict) -> str:
    return summarise(Fabric.from_document(document).document).in_words()


def test_a_tapered_tree_says_its_taper() -> None:
    # Per leaf: 8 x 100 Gb/s down, 2 x 200 Gb/s up.
    assert words(TWO) == "fat-tree-16: 16 nodes, 2 leaf + 2 spine switches, 20 links, taper 2:1"


def test_a_full_tree_is_non_blocking_and_names_its_three_levels() -> None:
    # k = 4: 8 leaves, 8 spines, 4 cores; 16 + 16 + 16 links.
    expected = "fat-tree-16: 16 nodes, 8 leaf + 8 spine + 4 core switches, 48 links, non-blocking"
    assert words(THREE) == expected


def test_hcas_are_counted_where_nodes_have_several() -> None:
    summary = summarise(Fabric.from_document({**TWO, "hcas_per_node": 4}).document)
    assert (summary.n_nodes, summary.n_hcas) == (16, 64)
    assert summary.taper == pytest.approx(8.0)
    assert "(64 HCAs)" in summary.in_words()


def test_one_switch_has_no_taper() -> None:
    document = {
        "schema": "weft.fabric/1",
        "name": "pair",
        "nodes": [{"name": "a", "hcas": ["a/0"]}, {"name": "b", "hcas": ["b/0"]}],
        "switches": [{"name": "s", "ports": 2}],
        "links": [
            {"a": "a/0[1]", "b": "s[1]", "bits_per_s": 1, "delay_ps": 0},
            {"a": "s[2]", "b": "b/0[1]", "bits_per_s": 1, "delay_ps": 0},
        ],
    }
    summary = summarise(Fabric.from_document(document).document)
    assert summary.taper is None
    assert summary.in_words() == "pair: 2 nodes, 1 switch, 2 links"
