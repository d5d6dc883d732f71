"""Each limit that is stated, at the limit and one above it."""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from tests.limits.confined_calls import calls_in
from tests.limits.places import FABRIC, RESULT, TOPOLOGY, TWIN, command_at
from tests.process_calls import Call, call

from weft.bench.live.kernel_argv import MAX_MESSAGE_BYTES, kernel_argv
from weft.bench.model import Trial
from weft.check.schedule.rounds_file import MOST_ROUNDS_BYTES
from weft.cli.options import GPU_COUNT, NODE_COUNT
from weft.core import jsonl
from weft.core.documents.document_text import MOST_DOCUMENT_BYTES, MOST_JSON_BYTES
from weft.core.errors import ExitCode, InputError
from weft.core.nodeset import MOST_NODES, expand
from weft.core.units import LARGEST_FIGURE, LARGEST_WHOLE, format_size, refuse_unusable
from weft.doctor import libnccl
from weft.doctor.container.launch import cdi, oci_hook
from weft.doctor.readers import file as settings_file
from weft.doctor.topo import xml
from weft.doctor.topo.source import facts
from weft.doctor.topo.source import file as machine_file
from weft.judge.files import files_below
from weft.launch.hostfile import MOST_HOSTFILE_BYTES
from weft.results.result_file import MOST_RESULT_BYTES, unpacked
from weft.study.import_run import MOST_IMPORTED_BYTES
from weft.topology.subnet.traffic import MOST_PAIRS_BYTES

READ_BYTES = 64 << 20
"""A file of the largest size is read up to here; above, only the refusal is tried."""
FILES: dict[str, tuple[int, tuple[str, ...]]] = {
    "a document in TOML": (MOST_DOCUMENT_BYTES, ("platform", "show", "@")),
    "a document in JSON": (MOST_JSON_BYTES, ("report", "RUN/fabric.json")),
    "a fabric document": (MOST_JSON_BYTES, ("check", *TWIN[:2], "--fabric", "@", "--dry-run")),
    "a file of records of a run": (jsonl.MOST_BYTES, ("report", "RUN/samples/0.jsonl")),
    "a result file": (MOST_RESULT_BYTES, ("judge", "@")),
    "a result file of a fit": (MOST_RESULT_BYTES, ("platform", "fit", "@")),
    "files of an import together": (MOST_IMPORTED_BYTES, ("import", "@", "-o", "NEW")),
    "a file of hosts": (MOST_HOSTFILE_BYTES, ("check", "--hostfile", "@", "--dry-run")),
    "a file of rounds": (MOST_ROUNDS_BYTES, ("check", *TWIN, "--schedule", "./@", "--dry-run")),
    "a file of pairs": (
        MOST_PAIRS_BYTES,
        ("fabric", "show", FABRIC, "--engine", "minhop", "--load", "pairs:@"),
    ),
    "a script, manifest or nccl.conf": (settings_file.MOST_BYTES, ("doctor", "env", "@")),
    "a libnccl.so": (libnccl.MOST_BYTES, ("doctor", "env", RESULT, "--libnccl", "@")),
    "a CDI specification": (
        cdi.MOST_BYTES,
        ("doctor", "container", "/proc/self/root", "--cdi", "@"),
    ),
    "an OCI hook": (
        oci_hook.MOST_BYTES,
        ("doctor", "container", "/proc/self/root", "--hook", "@"),
    ),
    "a topology file": (xml.MOST_BYTES, ("doctor", "topo", "@")),
    "output of lspci or lstopo": (
        machine_file.MOST_BYTES,
        ("doctor", "topo", TOPOLOGY, "--against", "@"),
    ),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Call]:
    """How each verb ends with a file of the largest size, and of one byte more."""
    folder = tmp_path_factory.mktemp("borders")
    (made,) = calls_in(folder, [("bench", "barrier", *TWIN, "--repeats", "2", "--dir", "RUN")])
    assert made.code == 0, made
    asked: dict[tuple[str, int], list[str]] = {}
    for number, (title, (most, place)) in enumerate(FILES.items()):
        for above in (0, 1) if most <= READ_BYTES else (1,):
            suffix = "toml" if place[0] == "platform" else "txt"
            name = f"{number}-{above}.{suffix}"
            words = command_at(place, name, f"new-{number}")
            if place[1].startswith("RUN/"):
                name, words = f"{number}-{place[1]}", ["report", f"{number}-RUN"]
                shutil.copytree(folder / "RUN", folder / f"{number}-RUN")
            with (folder / name).open("wb") as file:
                file.write(b"{")
                file.truncate(most + above)
            asked[title, above] = words
    return dict(zip(asked, calls_in(folder, list(asked.values())), strict=True))


@pytest.mark.parametrize("title", FILES)
def test_a_file_of_one_byte_too_many_is_refused_for_its_size(
    title: str, ended: dict[tuple[str, int], Call]
) -> None:
    most, _ = FILES[title]
    above = ended[title, 1]
    assert above.code == ExitCode.INPUT, above
    said = (f"larger than {format_size(most)}", f"more than {format_size(most)}", "at most")
    assert any(words in above.err + above.out for words in said), above
    assert above.seconds < 10, above
    if (title, 0) in ended:
        at = ended[title, 0]
        assert "larger than" not in at.err + at.out, at


LINES: dict[str, tuple[int, Callable[[int], str], tuple[str, ...]]] = {
    "variables of a script": (
        settings_file.MOST_SETTINGS,
        "export NCCL_IB_HCA{}=mlx5_0\n".format,
        ("doctor", "env", "@"),
    ),
    "devices of a machine": (
        facts.MOST_DEVICES,
        "{:04x}:00:00.0 A device [0302]: Of somebody [10de:2330] (rev a1)\n\n".format,
        ("doctor", "topo", "--generate", "@"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("title", LINES)
def test_a_file_with_one_thing_too_many_is_refused(title: str, tmp_path: Path) -> None:
    most, line, place = LINES[title]
    for n, is_refused in ((most, False), (most + 1, True)):
        (tmp_path / "x.txt").write_text("".join(map(line, range(n))))
        (made,) = calls_in(tmp_path, [command_at(place, "x.txt", "NEW")])
        assert (made.code == ExitCode.INPUT) == is_refused, made
        assert not is_refused or any(f"than {n}" in made.err for n in (most, f"{most:,}")), made


def test_more_launches_than_a_study_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("study", "plan", "smoke", *TWIN, "--repeats", "10000", "--node-sets", "17")
    made = call(words)
    assert made.code == ExitCode.INPUT, made
    assert "expected: at most 1000000" in made.err
    monkeypatch.setattr("weft.study.plan.plan.MAX_LAUNCHES", 12)
    assert [call((*words[:-4], "--repeats", n)).code for n in ("2", "3")] == [0, ExitCode.INPUT]


def test_a_folder_of_one_file_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.judge.files.MOST_FILES", 3)
    for n in range(3):
        (tmp_path / f"{n}.txt").write_text("x")
    assert len(list(files_below([str(tmp_path)]))) == 3
    (tmp_path / "3.txt").write_text("x")
    with pytest.raises(InputError, match="more than 3 files"):
        list(files_below([str(tmp_path)]))


def test_a_packed_file_of_one_byte_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.results.result_file.MOST_UNPACKED_BYTES", 1024)
    assert unpacked(gzip.compress(b"0" * 1024), "x.gz")[0] == b"0" * 1024
    for content in (gzip.compress(b"0" * 1025), gzip.compress(b"") + bytes(1024)):
        with pytest.raises(InputError, match="unpacks to more than 1 KiB"):
            unpacked(content, "x.gz")


def test_counts_at_their_limits() -> None:
    assert len(expand(f"n[1-{MOST_NODES}]")) == MOST_NODES
    with pytest.raises(InputError, match=r"262,?144"):
        expand(f"n[1-{MOST_NODES + 1}]")
    for kind in (NODE_COUNT, GPU_COUNT):
        assert kind.max is not None
        assert kind.convert(str(kind.max), None, None) == kind.max
        with pytest.raises(click.BadParameter):
            kind.convert(str(kind.max + 1), None, None)


def test_a_message_of_1_gib() -> None:
    def words(size: int) -> tuple[str, ...]:
        return kernel_argv(Trial("t", "pairs", (8, size), ("a", "b"), 1), (), None)

    assert str(MAX_MESSAGE_BYTES) in ",".join(words(MAX_MESSAGE_BYTES))
    with pytest.raises(InputError):
        words(MAX_MESSAGE_BYTES + 1)


@pytest.mark.parametrize(
    ("most", "above"),
    [
        (LARGEST_WHOLE, LARGEST_WHOLE + 1),
        (-LARGEST_WHOLE, -LARGEST_WHOLE - 2),
        (LARGEST_FIGURE, LARGEST_FIGURE * 1.001),
        (1 / LARGEST_FIGURE, 0.999 / LARGEST_FIGURE),
    ],
)
def test_numbers_of_a_document(most: Any, above: Any) -> None:
    refuse_unusable({"a": most}, "x.toml", most=LARGEST_FIGURE)
    with pytest.raises(InputError, match="key 'a' is wrong"):
        refuse_unusable({"a": above}, "x.toml", most=LARGEST_FIGURE)
