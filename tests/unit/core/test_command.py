"""A short command on this machine."""

import pytest

from weft.core.command import CommandError, Ran, run_command


def test_what_it_said_and_how_it_ended() -> None:
    ran = run_command(["sh", "-c", "echo out; echo first >&2; echo last >&2; exit 3"], timeout_s=9)
    assert ran == Ran(3, "out\n", "first\nlast\n")
    assert ran.complaint == "last"


@pytest.mark.parametrize(("script", "complaint"), [("echo a; echo b", "b"), (":", "no message")])
def test_without_errors_it_complains_on_its_output(script: str, complaint: str) -> None:
    assert run_command(["sh", "-c", script], timeout_s=9).complaint == complaint


def test_it_has_no_input_and_only_the_environment_it_is_given() -> None:
    ran = run_command(["/bin/sh", "-c", "cat; echo $ONE$HOME"], timeout_s=9, env={"ONE": "1"})
    assert ran.out == "1\n"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert run_command(["printf", r"\377"], timeout_s=9).out == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("argv", [["/no/such/command"], ["sleep", "60"]])
def test_one_that_does_not_start_or_end_is_an_error(argv: list[str]) -> None:
    with pytest.raises(CommandError):
        run_command(argv, timeout_s=0.2)
