"""Which backend has which option of a benchmark."""

import pytest

from weft.bench.live.kernel_argv import _OPTIONS, kernel_argv
from weft.bench.model import Trial
from weft.bench.options import KERNEL_OPTIONS, TWIN_OPTIONS, WAYS_TO_LAUNCH, refuse_unknown
from weft.core.errors import InputError


def trial(**options: object) -> Trial:
    return Trial("t000", "latency", (8,), ("n1", "n2"), 1, options=options)


def test_the_measuring_program_has_what_is_listed() -> None:
    assert set(KERNEL_OPTIONS) == {*_OPTIONS, "rounds"}
    assert not set(KERNEL_OPTIONS) & set(TWIN_OPTIONS)


def test_a_twin_refuses_what_it_does_not_have() -> None:
    refuse_unknown(trial(window=2, memory="host", aggressors=[], model="m"), ["model"])
    with pytest.raises(InputError, match="a twin has no option 'adaptive_ruoting'") as caught:
        refuse_unknown(trial(adaptive_ruoting="on"), [])
    assert "adaptive_routing" in str(caught.value.hint)


@pytest.mark.parametrize("option", WAYS_TO_LAUNCH)
def test_a_machine_says_what_makes_the_arms(option: str) -> None:
    with pytest.raises(InputError) as caught:
        kernel_argv(trial(**{option: "x"}), (), None)
    assert WAYS_TO_LAUNCH[option] in str(caught.value.hint)
