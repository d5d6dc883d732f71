"""The first sentence of a study, and the range it is valid for."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.mock_backend import MockBackend
from tests.unit.study.comparison.conclusion.drawn_study import (
    cells_of_matrix,
    drawn_values,
    judged,
)

from weft.core.finding import FindingKind, Severity
from weft.study.comparison.cells import StudyCell
from weft.study.comparison.comparison import compare_arms
from weft.study.comparison.conclusion.answer import (
    AnswerFacts,
    _conditions,
    answer_findings,
    valid_for,
)
from weft.study.comparison.effects import effect_findings
from weft.study.comparison.rows import ComparisonRow
from weft.study.run.store import StudyRun

RunStudy = Callable[..., StudyRun]
CELLS = cells_of_matrix((8, 4096), (2, 32), (1, 4))


def _rows(effect: Callable[[StudyCell], float], spread: float = 0.01) -> list[ComparisonRow]:
    return judged(drawn_values(np.random.default_rng(2), CELLS, effect, spread=spread))


def _answer(rows: list[ComparisonRow]) -> tuple[str, Severity]:
    (found,) = answer_findings(rows, effect_findings(rows, 0.05), 0.05)
    assert found.kind is FindingKind.ANSWER
    return found.sentence, found.severity


def test_it_counts_cells_and_names_the_largest_gain_and_loss() -> None:
    def effect(cell: StudyCell) -> float:
        if cell.size_bytes == 8:
            return 0.5 if cell.n_nodes == 32 else 0.8
        return 1.5 if (cell.n_nodes, cell.tasks_per_node) == (2, 4) else 1.0

    sentence, severity = _answer(_rows(effect))
    assert severity is Severity.BAD
    assert sentence.startswith("allreduce with sharp=on is faster in 4 of 8 cells (up to ")
    assert "x: allreduce 8 B on 32 nodes x " in sentence
    assert ", slower in 1 (1.5" in sentence or ", slower in 1 (1.4" in sentence
    assert sentence.endswith("x: allreduce 4 KiB on 2 nodes x 4 ranks) and equal within 5 % in 3.")


def test_of_several_losses_the_largest_is_named() -> None:
    rows = _rows(lambda cell: 1.8 if cell.size_bytes == 8 and cell.n_nodes == 32 else 1.2)
    sentence, _ = _answer(rows)
    assert re.search(
        r"slower in all 8 cells \(up to 1\.[78]\dx: allreduce 8 B on 32 nodes", sentence
    )
    gains = _rows(lambda cell: 0.5 if cell.size_bytes == 8 and cell.n_nodes == 32 else 0.9)
    sentence, _ = _answer(gains)
    assert re.search(r"faster in all 8 cells \(up to [12]\.\d\dx: allreduce 8 B on 32", sentence)


def test_what_is_not_decided_is_counted_and_unknown() -> None:
    def effect(cell: StudyCell) -> float:
        return 0.5 if cell.size_bytes == 8 else 1.0

    sentence, severity = _answer(_rows(effect, 0.12))
    assert severity is Severity.UNKNOWN
    assert sentence.startswith("allreduce with sharp=on is faster in 4 of 8 cells (up to ")
    assert sentence.endswith("; 4 are not decided.")


def test_without_any_verdict_it_cannot_tell_and_says_what_would() -> None:
    sentence, severity = _answer(_rows(lambda _: 1.0, 0.3))
    assert severity is Severity.UNKNOWN
    assert sentence.startswith(
        "cannot tell: allreduce with sharp=on against sharp=off, none of 8 cells decided; what "
        "would tell: about "
    )


def test_of_one_verdict_everywhere_it_says_all() -> None:
    sentence, severity = _answer(_rows(lambda _: 0.5))
    assert severity is Severity.GOOD
    assert sentence.startswith("allreduce with sharp=on is faster in all 8 cells (up to 2.")


def test_a_single_effect_is_its_own_answer(run_study: RunStudy, two_arms: str) -> None:
    one = '[[benchmarks]]\nname = "latency"\nsizes = "8"\n'
    found = compare_arms(run_study(factors=two_arms, benchmarks=one))
    assert not any(isinstance(finding.facts, AnswerFacts) for finding in found.findings)


def test_of_too_few_launches_the_ratios_are_the_answer(run_study: RunStudy, two_arms: str) -> None:
    found = compare_arms(run_study(factors=two_arms, repeats=2, nodes=(2, 4)))
    assert not any(isinstance(finding.facts, AnswerFacts) for finding in found.findings)
    assert "worst ratio" in found.findings[0].sentence


def test_a_failure_of_an_arm_stands_before_the_answer_that_counts_its_cell(
    run_study: RunStudy, two_arms: str
) -> None:
    backend = MockBackend(effects={"routing=adaptive": 0.5}, failing=["t003-allreduce"])
    third = '[[benchmarks]]\nname = "barrier"\n'
    text = "".join(
        f'[[benchmarks]]\nname = "{name}"\nsizes = "8"\n' for name in ("latency", "allreduce")
    )
    found = compare_arms(run_study(factors=two_arms, backend=backend, benchmarks=text + third))
    kinds = [finding.kind for finding in found.findings[:2]]
    assert kinds == [FindingKind.FAILURE, FindingKind.ANSWER]
    assert "in 2 of 3 cells" in found.findings[1].sentence
    assert found.findings[1].sentence.endswith("; 1 is not decided.")
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("backend", "node_sets", "said"),
    [
        ({"name": "live"}, 1, "on 2 nodes x 1 rank, this node set only, on this machine as it was"),
        ({"name": "live"}, 3, "these 3 node sets only, on this machine"),
        (
            {"name": "twin", "facts": {"platform": "fat-tree", "n_nodes": 64}},
            6,
            "6 node sets and others like them, on a twin of 64 nodes (fat-tree), not a machine",
        ),
    ],
)
def test_the_range_names_sizes_scales_node_sets_and_place(
    run_study: RunStudy, two_arms: str, backend: dict[str, object], node_sets: int, said: str
) -> None:
    run = run_study(factors=two_arms, node_sets=node_sets, repeats=6)
    found = compare_arms(replace(run, meta={**run.meta, "backend": backend}))
    assert found.valid_for.startswith("Valid for allreduce and latency of 8 B to 64 KiB on 2 nodes")
    assert said in found.valid_for


def test_without_rows_there_is_no_range() -> None:
    assert valid_for((), ()) == ""


def test_of_many_conditions_the_range_names_settings_not_their_combinations() -> None:
    few = [f"routing={one},sharp=off" for one in ("a", "b")]
    assert _conditions(few) == "routing=a,sharp=off; routing=b,sharp=off"
    many = [f"routing={one},sharp={two}" for one in ("a", "b", "c") for two in ("off", "on")]
    assert _conditions(many) == "6 conditions (routing a, b, c; sharp off, on)"
