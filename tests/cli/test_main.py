"""The command line as a whole: help, unknown verbs, exit codes, pipes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.cli import VERBS, run
from weft.cli.output import csv_text, fold_prose, table_text


def weft(*argv: str, **kwargs: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from weft.cli import main; main()", *argv],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **kwargs,  # type: ignore[call-overload]
    )


def test_help_lists_every_verb_with_one_line() -> None:
    result = weft("--help")
    assert result.returncode == 0
    for verb, line in VERBS.items():
        assert verb in result.stdout
        assert line.split()[0] in result.stdout


def test_help_imports_no_numerics() -> None:
    code = (
        "import sys; from weft.cli import run; run(['--help']);"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'scipy', 'pydantic', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_has_help(verb: str) -> None:
    assert run([verb, "--help"]) == 0


def test_an_unknown_verb_is_an_input_error_with_a_suggestion() -> None:
    result = weft("chekc")
    assert result.returncode == 2
    assert "did you mean 'check'?" in result.stderr
    assert result.stdout == ""


def test_a_verb_like_no_other_is_said_to_be_none() -> None:
    result = weft("quux")
    assert result.returncode == 2
    assert "no verb 'quux'; 'weft --help' lists them" in result.stderr


def test_a_shell_that_completes_behind_an_unknown_verb_gets_no_error() -> None:
    environment = {
        **os.environ,
        "_WEFT_COMPLETE": "bash_complete",
        "COMP_WORDS": "weft twin ",
        "COMP_CWORD": "2",
    }
    result = weft(env=environment)
    assert result.stderr == ""
    assert result.returncode in (0, 1)


def test_help_is_as_wide_as_its_reference() -> None:
    wide = weft("study", "run", "--help", env={**os.environ, "COLUMNS": "120"})
    lines = wide.stdout.splitlines()
    assert 80 < max(map(len, lines)) <= 100
    page = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text()
    assert wide.stdout.strip() in page


def test_an_unknown_option_is_an_input_error() -> None:
    assert weft("platform", "list", "--nonsense").returncode == 2


def test_a_reader_that_goes_away_is_success() -> None:
    producer = (
        "import sys; sys.argv=['weft','platform','list']\n"
        "from weft.cli import main\n"
        "import os; r, w = os.pipe(); os.close(r); os.dup2(w, 1); main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", producer], stderr=subprocess.PIPE, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr


def test_plant_without_a_twin_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--plant", "random"]) == 2
    assert "--plant needs a twin" in capsys.readouterr().err


def test_hosts_and_twin_contradict(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--twin", "fat-tree", "--hosts", "n[1-4]"]) == 2
    assert "--hosts and --twin contradict each other" in capsys.readouterr().err


def test_an_empty_hostfile_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostfile = tmp_path / "hosts"
    hostfile.write_text("# nobody\n")
    assert run(["check", "--hostfile", str(hostfile)]) == 2
    assert "no host in it" in capsys.readouterr().err


def test_csv_has_the_union_of_columns_in_order_of_appearance() -> None:
    assert csv_text([{"a": 1}, {"b": 2, "a": 3}]) == "a,b\n1,\n3,2\n"
    assert csv_text([]) == ""


def test_tables_align_figures_to_the_right() -> None:
    assert table_text(["size", "us"], [["8 B", "0.3"], ["1 MiB", "12.0"]]) == (
        "size     us\n8 B     0.3\n1 MiB  12.0"
    )


def test_the_command_line_reference_is_what_the_program_says() -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "make_docs.py"
    result = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_sentences_fold_between_words_and_tables_do_not() -> None:
    sentence = "BAD  Cable leaf-03[14] - spine-07[3] is slow: half of what is normal"
    table = "size (B)  " + "  ".join(["12.5"] * 12)
    folded = fold_prose(f"{sentence}\n{table}", 40).split("\n")
    assert folded[-1] == table
    assert all(len(line) <= 40 for line in folded[:-1])
    assert " ".join(line.strip() for line in folded[:-1]) == sentence
    assert fold_prose(sentence, None) == sentence


def test_a_next_command_folds_though_a_remark_stands_behind_a_gap() -> None:
    line = "next     weft judge results.txt --platform NAME   (weft platform list)"
    folded = fold_prose(line, 40).split("\n")
    assert all(len(part) <= 40 for part in folded)
    assert " ".join(" ".join(folded).split()) == " ".join(line.split())
