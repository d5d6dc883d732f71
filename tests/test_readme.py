"""What the README shows is what the program prints today."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/start.md")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sessions() -> list[tuple[str, str, str]]:
    """(page, command, expected output) of every `$ weft ...` in a console block."""
    found = []
    for page in PAGES:
        for block in BLOCK.findall((ROOT / page).read_text()):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                if command.startswith("weft"):
                    found.append((page, command, expected))
    return found


@pytest.mark.parametrize(("page", "command", "expected"), sessions())
def test_a_shown_command_prints_what_is_shown(
    page: str, command: str, expected: str, tmp_path: Path
) -> None:
    """`...` stands for what differs between runs and machines, as in a doctest."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    argv = [sys.executable, "-c", "from weft.cli import main; main()", *shlex.split(command)[1:]]
    result = subprocess.run(
        argv, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    matches = doctest.OutputChecker().check_output(expected, result.stdout, flags)
    assert matches, f"{page}: $ {command}\nshown:\n{expected}\nprinted:\n{result.stdout}"


def test_the_readme_shows_verdicts_first() -> None:
    first_screen = (ROOT / "README.md").read_text().splitlines()[:30]
    for verb in ("judge", "check"):
        assert any(line.startswith(f"$ weft {verb}") for line in first_screen), verb


def test_every_page_linked_from_the_readme_exists() -> None:
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / target).exists(), f"README.md links to {target}, which does not exist"
