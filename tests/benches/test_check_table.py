"""The scoreboard's tables and promises, and its records."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import pytest
from benches.check import settings
from benches.check_figures import figures
from benches.check_record import Record, kept
from benches.check_score import FaultRecord
from benches.check_table import gates, tables


def record(
    *, number=0, healthy=False, named=True, identifiable=True, faint=False, wrong=(), **given
):
    errors = 2.5 if faint else 5.0
    fault = FaultRecord(
        *("nic-slow", "n1/h0[1] rate=0.9", errors, 4, 8, identifiable, named, False, "hca n1/h0"),
        is_faint=faint,
    )
    return Record(
        twin="frontera",
        routing="static",
        healthy=healthy,
        number=number,
        seed=1,
        only=None,
        schedule=None,
        sigma=0.02,
        faults=() if healthy else (fault,),
        wrong=wrong,
        notes=(),
        **{"analysis_s": 1.0, "fabric_s": 30.0, "seconds": 3.0, **given},
    )


def held(records):
    return [gate.held for gate in gates(records)]


def other(*, identifiable, kind, blamed=False, depth=1.0):
    """A case with a fault of another kind."""
    case = record(named=False, identifiable=identifiable)
    return replace(case, faults=(replace(case.faults[0], kind=kind, blamed=blamed, depth=depth),))


GOOD = [record(number=i) for i in range(97)] + [record(healthy=True)]


@pytest.mark.parametrize(
    ("added", "broken"),
    [
        ([], None),
        ([record(named=False)], None),  # 97 of 98
        ([record(named=False) for _ in range(2)], 0),  # 97 of 99
        ([record(named=False, identifiable=False) for _ in range(17)], None),  # 17 of 114
        ([record(named=False, identifiable=False) for _ in range(18)], 9),  # 18 of 115
        ([other(kind="aggressor", blamed=True, identifiable=False)], 8),
        ([other(kind="aggressor", identifiable=False)], None),
        ([other(kind="wrong-entry", identifiable=False)], 9),
        ([other(kind="uplink-slow", identifiable=False, depth=0.09)], None),
        ([other(kind="uplink-slow", identifiable=False, depth=0.1)], 9),
        ([record(named=False, identifiable=False, faint=True)], 2),
        ([record(named=True, identifiable=False, faint=True)], None),
        ([record(wrong=("node n1",))], 3),
        ([record(healthy=True, wrong=("node n1",))], 4),
        ([record(fabric_s=60.1)], 5),
        ([record(analysis_s=5.1)], 6),
        ([record(failure="it hung")], 7),
    ],
)
def test_a_gate_breaks_by_what_it_promises_against(added, broken):
    assert [i for i, good in enumerate(held(GOOD + added)) if not good] == (
        [] if broken is None else [broken]
    )


def test_tables_say_what_was_missed_and_which_case_repeats_it():
    text = tables([*GOOD, record(number=7, named=False, wrong=("node n9",))], of=200)
    assert "97 of 98 (99.0%)" in text
    assert "case 7 (frontera, static, seed 1): nic-slow n1/h0[1] rate=0.9" in text
    assert "node n9; planted n1/h0[1] rate=0.9" in text
    assert "interrupted" in text


def test_kept_records_come_back_but_for_those_of_other_code_and_a_line_cut_short(tmp_path):
    path = tmp_path / "kept.jsonl"
    record(number=3).keep(path)
    record(number=4, wrong=("node n9",)).keep(path)
    of_other_code = path.read_text("utf-8").splitlines()[0].replace('"code": "', '"code": "x')
    with path.open("a") as file:
        file.write(of_other_code + "\n" + '{"twin": "fron')
    assert list(kept(path)) == [record(number=3), record(number=4, wrong=("node n9",))]


def test_a_kind_of_which_one_in_ten_is_missed_breaks_its_promise():
    few = [record(named=number > 0) for number in range(10)]
    assert not held([*few, record(healthy=True)])[1]


def test_a_large_twin_has_one_case_where_others_have_six():
    turns = settings(["tree-16", "frontera"], ["static"])
    assert turns.count(("tree-16", "static")) == figures()["board"]["every"]
    assert turns.count(("frontera", "static")) == 1
    assert settings(["frontera"], ["static"]) == [("frontera", "static")]
    # Up-down tables have no other shortest paths to choose from.
    assert settings(["torus"], ["adaptive"]) == []
