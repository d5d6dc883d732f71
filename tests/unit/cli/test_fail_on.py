"""`--fail-on`: the verdicts that end a verb with a code other than 0."""

import click
import pytest
from click.testing import CliRunner
from tests.unit.doctor.machine_trees import ndr

from weft.cli import run
from weft.cli.fail_on import exit_code_of, fail_on_option, verdict_exit_code
from weft.core.errors import ExitCode
from weft.core.finding import Finding, FindingKind, Severity

CODES = {
    "unknown": {"bad": 1, "unknown": 5, "warning": 0, "note": 0, "good": 0},
    "bad": {"bad": 1, "unknown": 0, "warning": 0, "note": 0, "good": 0},
    "warning": {"bad": 1, "unknown": 5, "warning": 1, "note": 0, "good": 0},
    "never": {"bad": 0, "unknown": 0, "warning": 0, "note": 0, "good": 0},
}


@click.command()
@click.argument("severity")
@fail_on_option
def verb(severity: str) -> None:
    raise SystemExit(exit_code_of(Severity(severity)))


@pytest.mark.parametrize("severity", list(Severity))
@pytest.mark.parametrize("level", [None, *CODES])
def test_each_level_ends_with_its_codes(level: str | None, severity: Severity) -> None:
    options = [] if level is None else ["--fail-on", level]
    ended = CliRunner().invoke(verb, [severity.value, *options])
    assert ended.exit_code == CODES[level or "unknown"][severity.value]


@pytest.mark.parametrize("code", [ExitCode.BENCHMARK, ExitCode.INPUT, ExitCode.MISSING])
def test_an_error_keeps_its_code(code: ExitCode) -> None:
    @click.command()
    @fail_on_option
    def failing() -> None:
        raise SystemExit(verdict_exit_code(code, ()))

    assert CliRunner().invoke(failing, ["--fail-on", "never"]).exit_code == code


def test_a_verdict_of_its_own_counts_warnings() -> None:
    warning = Finding(FindingKind.ANOMALY, Severity.WARNING, "a pair is slow")

    @click.command()
    @fail_on_option
    def warned() -> None:
        raise SystemExit(verdict_exit_code(ExitCode.GOOD, [warning]))

    assert CliRunner().invoke(warned, []).exit_code == 0
    assert CliRunner().invoke(warned, ["--fail-on", "warning"]).exit_code == 1


VERBS = (
    "bisect", "check", "compare", "doctor", "doctor env", "doctor log", "doctor topo", "judge",
    "fabric show", "fabric trace", "fabric audit", "cluster status", "platform detect",
    "bench rdma-pairs",
)  # fmt: skip


@pytest.mark.parametrize("words", VERBS)
def test_every_verb_with_a_verdict_has_the_option(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words.split(), "--help"]) == 0
    assert "--fail-on [bad|unknown|warning|never]" in capsys.readouterr().out


def test_an_option_before_a_verb_of_doctor_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--fail-on", "bad", "env"]) == 2
    assert "put them behind it" in capsys.readouterr().err


def test_a_bad_machine_is_0_where_nothing_fails(tmp_path) -> None:  # type: ignore[no-untyped-def]
    tree = ndr(tmp_path)
    tree.machine(locked="65536", locked_hard="65536")
    assert run(["doctor", "--sysroot", str(tree.root)]) == 1
    assert run(["doctor", "--sysroot", str(tree.root), "--fail-on", "never"]) == 0
