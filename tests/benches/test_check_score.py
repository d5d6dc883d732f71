"""The scoreboard itself: what it counts as named and as wrong."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

from benches.check_kinds import Planted, When
from benches.check_score import score
from benches.check_visibility import Seen
from tests.benches.check_wiring import NODE, OTHER, UP, UPLINK

PLAIN = Seen(errors=9.0, n_beyond=3, n_crossing=4, alike=frozenset())


def test_the_right_component_is_named():
    found = score([UPLINK], [PLAIN], [frozenset({UP})])
    assert (found.outcomes[0].named, found.outcomes[0].too_wide, found.wrong) == (True, False, ())


def test_a_faint_fault_is_recorded_as_one_only_if_it_can_be_located():
    faint = replace(PLAIN, errors=2.5)
    located = [faint, replace(faint, is_located=False), PLAIN]
    assert [score([UPLINK], [one], []).outcomes[0].is_faint for one in located] == [
        *(True, False, False)
    ]


def test_another_component_is_wrong_and_the_fault_missed():
    found = score([UPLINK], [PLAIN], [frozenset({OTHER})])
    assert not found.outcomes[0].named
    assert found.wrong == ("cable leaf-1[4] - spine-2[1]",)


def test_an_answer_wider_than_what_is_alike_does_not_name():
    found = score([UPLINK], [PLAIN], [frozenset({UP, OTHER})])
    assert (found.outcomes[0].named, found.outcomes[0].too_wide, found.wrong) == (False, True, ())


def test_what_no_reading_tells_apart_may_be_in_one_answer():
    seen = replace(PLAIN, alike=frozenset({UP, OTHER}))
    assert score([UPLINK], [seen], [frozenset({UP, OTHER})]).outcomes[0].named


def test_each_of_two_faults_is_scored_by_itself():
    found = score([UPLINK, NODE], [PLAIN, PLAIN], [frozenset({("node", ("n1",))})])
    assert [one.named for one in found.outcomes] == [False, True]
    assert found.wrong == ()


def test_whatever_is_accused_in_a_healthy_run_is_wrong():
    assert len(score([], [], [frozenset({UP}), frozenset({("pair", ("n1", "n2"))})]).wrong) == 2


SWITCH = ("switch", ("spine-1",))
CARD = Planted(
    "line-card", "spine-1", frozenset(), parts=frozenset({UP, OTHER}), around=frozenset({SWITCH})
)


def test_of_a_line_card_every_cable_that_shows_must_be_named():
    seen = replace(PLAIN, parts=CARD.parts)
    assert score([CARD], [seen], [frozenset({UP}), frozenset({OTHER})]).outcomes[0].named
    half = score([CARD], [seen], [frozenset({UP})]).outcomes[0]
    assert (half.named, half.too_wide) == (False, True)
    whole = score([CARD], [seen], [frozenset({SWITCH})])
    assert (whole.outcomes[0].named, whole.outcomes[0].too_wide, whole.wrong) == (False, True, ())


def test_pairs_that_a_fault_slows_are_no_wrong_accusation_and_no_name():
    slowed = frozenset({("pair", ("n1", "n3"))})
    found = score([UPLINK], [replace(PLAIN, pairs=slowed)], [slowed])
    assert (found.outcomes[0].named, found.outcomes[0].too_wide, found.wrong) == (False, True, ())
    assert score([UPLINK], [PLAIN], [slowed]).wrong == ("pair n1 - n3",)


def test_a_warning_names_what_comes_and_goes_and_nothing_else():
    flapping = replace(UPLINK, kind="cable-flapping", when=When.AT_TIMES, share=0.3)
    warned = [frozenset({UP})]
    assert score([flapping], [PLAIN], [], warned).outcomes[0].named
    assert not score([UPLINK], [PLAIN], [], warned).outcomes[0].named


def test_a_loaded_cable_called_faulty_is_wrong_and_its_pairs_are_not():
    load = replace(CARD, kind="aggressor", around=frozenset(), when=When.AT_TIMES, is_load=True)
    seen = replace(PLAIN, pairs=frozenset({("pair", ("n1", "n3"))}))
    found = score([load], [seen], [frozenset({UP})])
    assert found.outcomes[0].blamed
    assert not found.outcomes[0].identifiable
    assert len(found.wrong) == 1
    assert score([load], [seen], [seen.pairs]).wrong == ()
