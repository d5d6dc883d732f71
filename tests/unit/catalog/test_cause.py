"""The catalogue of causes."""

import re

import pytest

from weft.catalog.cause import Cause, Causes, causes
from weft.catalog.document import parse_document
from weft.catalog.load import benchmark
from weft.core.errors import InputError

GOOD = """
schema = "weft.causes/1"
[[causes]]
name = "half"
title = "half"
sentence = "a half"
confirm = "look"
remedy = "mend"
source = "arithmetic"
[causes.share]
low = 0.5
high = 0.5
unit = "1"
class = "sourced"
source = "arithmetic"
"""


def test_every_cause_has_a_sentence_a_test_and_a_remedy() -> None:
    for cause in causes():
        for text in (cause.sentence, cause.confirm, cause.remedy, cause.source):
            assert len(text.split()) >= 2, (cause.name, text)


def test_every_pattern_compiles_and_every_benchmark_exists() -> None:
    for cause in causes():
        for evidence in cause.evidence:
            re.compile(evidence.pattern)
        for name in cause.benchmarks:
            assert benchmark(name).name == name


def test_a_cause_without_a_figure_needs_evidence_for_it() -> None:
    for cause in causes():
        if (cause.instead, cause.cap, cause.share, cause.adds) == (None,) * 4:
            assert any(one.speaks == "for" for one in cause.evidence), cause.name


@pytest.mark.parametrize(
    "name",
    [
        "sockets",
        "adapters-lost",
        "mpi-provider",
        "stalled-queue-pair",
        "virtual-switch",
        "wrong-gid",
        "pfc",
        "cpu-frequency",
        "pcie-gen3-x8",
        "pcie-gen4-x16",
        "gpudirect-off",
        "numa",
        "through-the-nic",
        "beyond-two-node-tree",
        "unit-slip-8",
        "beyond-unit-slip-8",
        "beyond-nvls",
    ],
)
def test_the_causes_people_meet_are_there(name: str) -> None:
    assert name in {cause.name for cause in causes()}


def test_pcie_caps_lie_below_what_the_line_code_leaves() -> None:
    caps = {cause.name: cause.cap for cause in causes() if cause.cap is not None}
    for name, gt_s, lanes in (
        ("pcie-gen3-x8", 8, 8),
        ("pcie-gen3-x16", 8, 16),
        ("pcie-gen4-x16", 16, 16),
    ):
        after_line_code = gt_s * lanes * 128 / 130 / 8
        assert caps[name].low == pytest.approx(0.80 * after_line_code, rel=0.01)
        assert caps[name].high == pytest.approx(0.96 * after_line_code, rel=0.01)


def parsed(text: str) -> tuple[Cause, ...]:
    return parse_document(Causes, text, "causes.toml", "catalogue of causes").causes


def test_a_document_is_read() -> None:
    assert parsed(GOOD)[0].name == "half"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GOOD
            + "[causes.adds]\nlow = 1\nhigh = 1\nunit = 'us'\nclass = 'sourced'\nsource = 'x'\n",
            "at most one of instead, cap, share and adds",
        ),
        (GOOD.replace("low = 0.5", "low = 0.6"), "low is not above high"),
        (GOOD + GOOD.split("\n", 2)[2], "each cause once: 'half' appears twice"),
        (GOOD.replace("remedy", "remedies"), "unknown key 'causes[0].remedies'"),
    ],
)
def test_a_wrong_document_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parsed(text)
    assert message in str(caught.value)
