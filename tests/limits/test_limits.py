"""The limits: those of the engine are its own, and each is held before it costs."""

import re
from pathlib import Path

import pytest
from tests.limits.confined_calls import calls_in
from tests.limits.places import TWIN
from tests.process_calls import Call

from weft.cli.limits.limits import ENGINE_ROWS, LIMITS, limits_text
from weft.core.documents.document_text import MOST_DOCUMENT_BYTES
from weft.core.errors import ExitCode

CRATES = Path(__file__).resolve().parents[2] / "crates"
_CONSTANT = re.compile(r"const (MAX_\w+): \w+ = ([\d_ <]+);")
DIGITS = "9" * 400
TABLE = (
    "# Benchmarking Allreduce \n# #processes = 999999999 \n"
    "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    "            4         1000         1.1         1.9         1.5\n"
)
HOSTILE: dict[str, tuple[str, tuple[str, ...]]] = {
    "a thousand million ranks": (TABLE, ("import", "@", "-o", "NEW")),
    "a hundred million hosts": ("", ("check", "--hosts", "n[1-99999999]")),
    "deep JSON": ("[" * 100_000, ("check", *TWIN[:2], "--fabric", "@", "--dry-run")),
    "deep JSON of ours": (
        '{"schema": ' + "[" * 900 + "]" * 900 + "}",
        ("check", *TWIN[:2], "--fabric", "@", "--dry-run"),
    ),
    "deep TOML": ("a = " + "[" * 100_000, ("expect", "@", "latency")),
    "a key of a million parts": (".".join("a" * 1_000_000) + " = 1", ("study", "show", "@")),
    "a number of 400 digits": (f"seed = {DIGITS}\n", ("study", "plan", "@", *TWIN)),
    "a number of 5000 digits": (f"seed = {'9' * 5000}\n", ("study", "plan", "@", *TWIN)),
    "no number": ("warmup = nan\n", ("study", "plan", "@", *TWIN)),
    "a document too large": ("#" * (MOST_DOCUMENT_BYTES + 1), ("platform", "show", "@")),
    "a cut fabric": (
        '{"schema": "weft.fabric/1", "nodes": [',
        ("check", *TWIN[:2], "--fabric", "@", "--dry-run"),
    ),
}


def constants() -> dict[str, set[int]]:
    """Limits in the engine's sources, by name."""
    found: dict[str, set[int]] = {}
    for path in CRATES.glob("*/src/**/*.rs"):
        for name, value in _CONSTANT.findall(path.read_text()):
            base, _, shift = value.replace("_", "").partition("<<")
            found.setdefault(name, set()).add(int(base) << int(shift or 0))
    return found


def test_limits_of_the_engine_are_those_of_its_sources() -> None:
    known = constants()
    for of, most, _, _, name in ENGINE_ROWS:
        assert most in known[name], of


def test_the_program_prints_every_limit(capsys: pytest.CaptureFixture[str]) -> None:
    from weft.cli import run

    assert run(["--limits"]) == ExitCode.GOOD
    assert capsys.readouterr().out.rstrip("\n") == limits_text()
    assert all(limit.most in limits_text() for limit in LIMITS)


def test_too_little_memory_is_no_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from weft.cli import run

    def greedy() -> str:
        raise MemoryError

    monkeypatch.setattr("weft.cli.limits.limits.limits_text", greedy)
    assert run(["--limits"]) == ExitCode.MISSING
    assert "memory is too small" in capsys.readouterr().err


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    """How each hostile input ends."""
    folder = tmp_path_factory.mktemp("hostile")
    commands = []
    for number, (text, words) in enumerate(HOSTILE.values()):
        name = f"{number}.toml"
        (folder / name).write_text(text)
        commands.append([word.replace("@", name).replace("NEW", f"new{number}") for word in words])
    return dict(zip(HOSTILE, calls_in(folder, commands), strict=True))


@pytest.mark.parametrize("title", HOSTILE)
def test_a_hostile_input_is_refused_before_it_costs(title: str, ended: dict[str, Call]) -> None:
    call = ended[title]
    assert call.code == ExitCode.INPUT, call
    assert "expected:" in call.err, call
    assert call.seconds < 10, call
    assert call.most_bytes < 512 << 20, call
