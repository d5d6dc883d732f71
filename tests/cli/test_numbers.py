"""Numbers that are not finite, huge, negative or none, in every option that takes a value."""

import json
import re
from pathlib import Path

import click
import pytest
from tests.cli.calls import CALLS, argv_of, commands, make_folder
from tests.process_calls import call

VALUES = (
    "nan",
    "inf",
    "-inf",
    "1e400",
    "9" * 400,
    "-0",
    "-1",
    str(10**18),
    "",
    "n[1-1000000000]",
    "x" * 3000,
)
MOST_SECONDS = 2
"""Of a call that ends with an error, on a machine that does nothing else; tests give it 5 times."""
MOST_BYTES = 500 << 20
"""Beyond the memory of the test process."""
PATHS = ("choice", "path", "file", "directory")
HOSTS = ("--hosts", "--cluster")
"""Not together with --twin."""


def options() -> list[tuple[str, str]]:
    return [
        (name, option.opts[0])
        for name, command in commands()
        for option in command.params
        if isinstance(option, click.Option) and not option.is_flag and option.type.name not in PATHS
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("numbers")
    make_folder(made)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), options(), ids=" ".join)
def test_a_value_that_is_no_number_is_an_error_and_no_fault(
    name: str, option: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    _ends_well(name, option, VALUES, folder)


@pytest.mark.parametrize("name", CALLS)
def test_one_option_of_every_verb(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The quick part of the test above: three values for each option that takes a number."""
    monkeypatch.chdir(tmp_path)
    command = dict(commands())[name]
    for option in command.params:
        if isinstance(option, click.Option) and option.type.name.startswith(("integer", "float")):
            _ends_well(name, option.opts[0], ("nan", "9" * 400, str(10**18)), folder)


@pytest.mark.parametrize(
    "argv",
    [
        ["check", "--twin", "fat-tree", "--dry-run", "--small", "9" * 400],
        ["check", "--twin", "fat-tree", "--dry-run", "--budget", "9" * 400],
        ["bench", "latency", "--twin", "fat-tree", "--dry-run", "--sizes", "9" * 400],
        ["bench", "rdma-pairs", "a.invalid", "b.invalid", "--size", "9" * 400],
        ["expect", "generic-hdr", "latency", "--size", "9" * 400],
        ["bench", "alltoallv", "--twin", "fat-tree", "--dry-run", "--skew", "nan"],
        ["study", "submit", "smoke", "--dry-run", "--nodes-per", str(10**18)],
        ["check", "--hosts", "n[1-1000000000]", "--dry-run"],
        ["platform", "detect", "--hosts", "n[1-1000000000]"],
        ["cluster", "up", "n[1-1000000000]", "--dry-run"],
    ],
    ids=lambda argv: " ".join(argv)[:50],
)
def test_what_once_was_a_traceback_is_exit_2(argv: list[str]) -> None:
    end = call(argv)
    assert end.code == 2, end.err
    assert len(end.err) < 2000


def _ends_well(name: str, option: str, values: tuple[str, ...], folder: Path) -> None:
    argv = argv_of(name, folder)
    if option in HOSTS and "--twin" in argv:
        at = argv.index("--twin")
        argv = [*argv[:at], *argv[at + 4 :]]
    for value in values:
        words = [f"{option}={value}"] if option.startswith("--") else [option, value]
        end = call([*argv, *words])
        assert end.code in (0, 1, 2, 3, 4, 5), (value[:40], end.err[:500])
        assert "Traceback" not in end.out + end.err
        if end.code == 2:
            assert end.seconds < 5 * MOST_SECONDS, value[:40]
            assert end.most_bytes < MOST_BYTES, value[:40]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e400", "9" * 400, "[" * 3000 + "]" * 3000])
@pytest.mark.parametrize("key", ["nodes", "host_bits_per_s", "levels"])
def test_a_fabric_document_with_such_a_number_is_exit_2(
    key: str, value: str, tmp_path: Path
) -> None:
    made = json.loads(call(["fabric", "generate", "fat-tree", "--nodes", "4"]).out)
    file = tmp_path / "fabric.json"
    file.write_text(json.dumps(made | {key: "HERE"}).replace('"HERE"', value))
    end = call(["check", "--twin", "fat-tree", "--fabric", str(file), "--dry-run"])
    assert end.code == 2, end.err
    assert "Traceback" not in end.err


@pytest.mark.parametrize("value", ["NaN", "1e400", "9" * 400, "[" * 3000 + "]" * 3000, "{"])
@pytest.mark.parametrize("name", ["run.toml", "plan.jsonl", "fabric.json", "samples"])
def test_a_damaged_run_is_exit_2(name: str, value: str, folder: Path) -> None:
    run = folder / "RUN"
    path = next(iter((run / name).glob("*.jsonl"))) if name == "samples" else run / name
    whole = path.read_text()
    number = re.search(r"(?<=[:=])\s*\d+(?:\.\d+)?(?=[,}\n])", whole)
    assert number is not None
    word = {"NaN": "nan"}.get(value, value) if name == "run.toml" else value
    path.write_text(f"{whole[: number.start()]} {word}{whole[number.end() :]}")
    try:
        end = call(["compare", str(run), str(run)])
    finally:
        path.write_text(whole)
    assert end.code == 2, (end.code, end.err)
    assert path.name in end.err
