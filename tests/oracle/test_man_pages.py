"""The man pages of weft, set by groff; completions, as the shells ask for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.calls import commands
from tests.needs import need

ROOT = Path(__file__).resolve().parents[2]
WEFT = "from weft.cli import main; main()"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    script = ROOT / "scripts" / "man_pages.py"
    subprocess.run([sys.executable, str(script), str(folder)], check=True, timeout=100)
    return folder


@pytest.mark.slow
def test_each_command_has_a_page_that_groff_sets_without_a_warning(pages: Path) -> None:
    need("groff")
    wanted = {"weft.1", *(f"weft-{path.replace(' ', '-')}.1" for path, _ in commands())}
    names = {page.name for page in pages.iterdir()}
    assert wanted <= names
    for name in sorted(names):
        argv = ["groff", "-man", "-ww", "-Tascii", "-P-cbou", str(pages / name)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), name
        for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS"):
            assert f"\n{heading}\n" in done.stdout, f"{name} lacks {heading}"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("weft ju", "judge"),
        ("weft check --ada", "--adaptive"),
        ("weft study ru", "run"),
        ("weft fabric ch", "channels"),
    ],
)
def test_a_shell_is_told_how_a_word_may_go_on(words: str, wanted: str) -> None:
    parts = words.split()
    env = {**os.environ, "COMP_WORDS": words, "COMP_CWORD": str(len(parts) - 1)}
    env["_WEFT_COMPLETE"] = "bash_complete"
    argv = [sys.executable, "-c", f"import sys; sys.argv[0] = 'weft'; {WEFT}"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert wanted in done.stdout, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_is_one_that_its_shell_takes(shell: str, tmp_path: Path) -> None:
    argv = [sys.executable, "-c", f"import sys; sys.argv[0] = 'weft'; {WEFT}"]
    env = {**os.environ, "_WEFT_COMPLETE": f"{shell}_source"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert f"_WEFT_COMPLETE={shell}_complete" in done.stdout, done.stderr
    script = tmp_path / "weft"
    script.write_text(done.stdout)
    if shell == "zsh":
        pytest.skip("zsh is not installed by .ci/run; its text is compared above")
    need(shell)
    subprocess.run([shell, "-n", str(script)], check=True)
