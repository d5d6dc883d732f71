"""What a finding says, besides being right."""

import pytest

from weft.diagnose.verdict import judge_pairs, pairs_to_retest


@pytest.fixture
def verdict_of(make_fabric):
    def judge(tree, *slow, fabric_known=True, noise=0.0, retest=True):
        known = tree if fabric_known else None
        fabric = make_fabric(tree, slow, noise=noise)
        samples = fabric.all_pairs()
        alone = fabric.alone(pairs_to_retest(samples, known)) if retest else ()
        return judge_pairs(samples, known, isolated=alone)

    return judge


def test_the_sentence_has_the_value_the_expected_value_and_the_class(
    verdict_of, make_tree, make_slow
):
    tree = make_tree(4, 4, 4)
    slow = make_slow(0.25, frozenset(tree.cable_of("leaf-02[6]")), metrics=("bandwidth",))
    sentence = verdict_of(tree, slow).findings[0].sentence
    assert sentence == (
        "Cable leaf-02[6] - spine-02[2] is slow: bandwidth 6000 MB/s where 24000 MB/s is normal"
        " (4 links apart, all alike)."
    )


def test_the_evidence_counts_both_sides_and_the_second_look(verdict_of, make_tree, make_slow):
    tree = make_tree(4, 4, 4)
    slow = make_slow(0.25, frozenset(tree.cable_of("leaf-02[6]")), metrics=("bandwidth",))
    evidence = verdict_of(tree, slow).findings[0].evidence
    # 4 senders below leaf-02, 3 receivers elsewhere behind spine-02, and the same way back.
    assert "bandwidth: all 24 slow readings cross it, none of the 216 normal ones does" in evidence
    assert any("still slow, all 24 readings" in line for line in evidence)


def test_without_a_second_look_the_evidence_says_so(verdict_of, make_tree, make_slow):
    verdict = verdict_of(make_tree(4, 4, 4), make_slow(0.5, node="n007"), retest=False)
    assert "not measured again alone" in verdict.findings[0].evidence


def test_a_healthy_verdict_gives_the_figure_of_each_class(verdict_of, make_tree):
    evidence = verdict_of(make_tree(4, 4, 4)).findings[0].evidence
    assert "bandwidth, 4 links apart: 24000 MB/s (all alike, 192 readings)" in evidence
    assert "latency, 2 links apart: 1.200 us (all alike, 24 readings)" in evidence


def test_slow_pairs_nobody_explains_are_listed(verdict_of, make_tree, make_slow):
    tree = make_tree(4, 4, 4)
    slow = make_slow(0.25, frozenset(tree.cable_of("leaf-02[6]")), metrics=("bandwidth",))
    finding = verdict_of(tree, slow, fabric_known=False).findings[0]
    assert finding.sentence.startswith("21 pairs are slow and which cable is not known: ")
    assert finding.evidence[0].endswith("and 15 more")


def test_caveats_say_what_cannot_be_known(verdict_of, make_tree):
    caveats = verdict_of(make_tree(2, 2, 2), fabric_known=False).caveats
    assert any("4 nodes no node or cable is named" in caveat for caveat in caveats)
    assert any("without a fabric" in caveat for caveat in caveats)
