"""What the README shows is what the program prints today."""

import doctest
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet
from tests.needs import absent, need

ROOT = Path(__file__).resolve().parent.parent
GUIDES = tuple(sorted(f"docs/guides/{path.name}" for path in ROOT.glob("docs/guides/*.md")))
PAGES = (
    "README.md",
    "docs/index.md",
    "docs/start.md",
    "docs/gallery.md",
    *GUIDES,
    "docs/reference/fabric_audit.md",
    "docs/reference/fabric_what_if.md",
    "docs/reference/scenario.md",
    "docs/reference/study.md",
)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WEFT = [sys.executable, "-c", "from weft.cli import main; main()"]
WEFT_SIM = "target/release/weft-sim"
DEBUG_SIM = ROOT / "target" / "debug" / "weft-sim"
"""Prints the same (tests/unit/test_engine_builds.py), and `cargo test` has built it."""


@dataclass(frozen=True, slots=True)
class Session:
    """The commands of one console block, which follow one another in one directory."""

    page: str
    commands: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        return f"{self.page}: {self.commands[0][0]}"


def sessions() -> list[Session]:
    """Every console block of the pages that has commands: (command, expected output)."""
    found = []
    for page in PAGES:
        for block in BLOCK.findall((ROOT / page).read_text()):
            parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
            commands = tuple(part.partition("\n")[::2] for part in parts)
            if commands:
                found.append(Session(page, commands))
    return found


def argv_of(command: str) -> list[str]:
    """What a shown command starts; skips where this build has no `weft-sim`."""
    program, *arguments = shlex.split(command)
    if program == WEFT_SIM:
        if not DEBUG_SIM.exists():
            absent("weft-sim is not built (cargo test builds it)")
        return [str(DEBUG_SIM), *arguments]
    assert program == "weft", f"$ {command}: a page shows what no test runs"
    if "--opensm" in arguments:
        need("opensm", "ibsim", package="opensm ibsim-utils")
    return [*WEFT, *arguments]


def quick_and_slow() -> list[ParameterSet]:
    """Each session, a slow test where it is none of the README."""
    return [
        pytest.param(
            session, id=session.title, marks=[pytest.mark.slow] * (session.page != "README.md")
        )
        for session in sessions()
    ]


@pytest.mark.parametrize("session", quick_and_slow())
def test_a_shown_command_prints_what_is_shown(session: Session, tmp_path: Path) -> None:
    """`...` stands for what differs between runs and machines, as in a doctest."""
    for folder in ("docs", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for command, expected in session.commands:
        result = subprocess.run(
            argv_of(command), cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
        )
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        matches = doctest.OutputChecker().check_output(expected, result.stdout, flags)
        assert matches, (
            f"{session.page}: $ {command}\nshown:\n{expected}\n"
            f"printed:\n{result.stdout}{result.stderr}"
        )


@pytest.mark.parametrize("program", ["weft judge", "weft study run", WEFT_SIM])
def test_a_newcomer_finds_each_part_on_the_first_pages(program: str) -> None:
    shown = [command for session in sessions() for command, _ in session.commands]
    assert any(command.startswith(program) for command in shown)


def test_the_readme_shows_verdicts_first() -> None:
    first_screen = (ROOT / "README.md").read_text().splitlines()[:30]
    for verb in ("judge", "check"):
        assert any(line.startswith(f"$ weft {verb}") for line in first_screen), verb


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


@pytest.mark.parametrize("page", ["docs/gallery.md", *GUIDES])
def test_a_guide_shows_no_command_that_is_not_run(page: str) -> None:
    text = (ROOT / page).read_text()
    fences = re.findall(r"^```(\w*)$", text, re.MULTILINE)
    assert set(fences[::2]) == {"console"}, f"{page}: a block whose commands no test runs"
    assert any(session.page == page for session in sessions())


def test_the_gallery_has_ten_cases_each_with_a_next_step() -> None:
    cases = (ROOT / "docs/gallery.md").read_text().split("\n## ")[1:]
    assert [case.partition(".")[0] for case in cases] == [str(one) for one in range(1, 11)]
    for case in cases:
        assert case.count("```console\n$ weft ") == 1, case
        assert case.count("**Next:**") == 1, case


def test_there_is_a_guide_for_each_role() -> None:
    roles = {Path(guide).stem for guide in GUIDES}
    assert roles >= {"administrator", "performance_engineer", "ml_engineer", "cloud_engineer"}


def test_every_page_linked_from_the_readme_exists() -> None:
    text = (ROOT / "README.md").read_text()
    inline = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    below = re.findall(r"^\[[^\]]+\]: (?!https?:)([^#\s]+)", text, re.MULTILINE)
    for target in inline + below:
        assert (ROOT / target).exists(), f"README.md links to {target}, which does not exist"
