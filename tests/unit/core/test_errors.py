from weft.core.errors import (
    BenchmarkError,
    ExitCode,
    InputError,
    MissingError,
    WeftError,
    did_you_mean,
)


def test_an_error_says_what_where_expected_and_a_hint() -> None:
    error = InputError("zero rate", where="a.json:3", expected="a rate above 0", hint="see docs")
    assert str(error).splitlines() == [
        "a.json:3: zero rate",
        "  expected: a rate above 0",
        "  hint: see docs",
    ]


def test_each_error_has_its_exit_code() -> None:
    assert InputError("x").exit_code == ExitCode.INPUT == 2
    assert MissingError("x").exit_code == ExitCode.MISSING == 3
    assert BenchmarkError("x").exit_code == ExitCode.BENCHMARK == 4
    assert issubclass(BenchmarkError, WeftError)


def test_a_near_miss_gets_a_suggestion_and_nonsense_gets_none() -> None:
    assert did_you_mean("latencey", ["latency", "bandwidth"]) == "did you mean 'latency'?"
    assert did_you_mean("zzzz", ["latency"]) is None
