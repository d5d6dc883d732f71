"""Damaged samples of every reader: nothing raises, hangs, or becomes a figure by accident.

`make fuzz` feeds a million each; here a fixed few, and the proof that they exercise the readers.
"""

import importlib.util
import mmap
import os
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from weft.core.documents.document_text import json_value
from weft.doctor.job import JobKind
from weft.results.registry import JSON_READERS, LINE_READERS

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
N_INPUTS = 1500
N_OF_DOCUMENTS = 60
SEED = 20


def load_fuzzer() -> ModuleType:
    sys.path.insert(0, str(SCRIPTS))
    try:
        spec = importlib.util.spec_from_file_location("fuzz_readers", SCRIPTS / "fuzz_readers.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["fuzz_readers"] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(SCRIPTS))
    return module


fuzzer = load_fuzzer()
READERS = fuzzer.text_readers()
DOCUMENTS = fuzzer.confined_readers()
OTHERS = [piece.split("\n") for other in READERS for piece in other.pieces]


def test_every_reader_has_a_sample_that_it_recognises() -> None:
    """A reader nobody feeds survives anything."""
    names = {reader.name for reader in READERS}
    assert set(LINE_READERS) <= names
    assert {f"{tool} (JSON)" for tool in JSON_READERS} <= names
    assert {f"settings: {kind}" for kind in JobKind} <= names


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_damaged_samples_neither_raise_nor_hang_nor_lie(reader: Any) -> None:
    tally = fuzzer.run_range((reader, OTHERS, SEED, 0, N_INPUTS))
    assert tally.failures == []
    assert tally.n_inputs == N_INPUTS
    # One damaged character makes a whole document of TOML or YAML something else.
    share = 6 if reader.tool in ("EDF", "Kubernetes") else 4
    assert tally.n_with_rows > N_INPUTS / share, "the damage leaves nothing for the reader to read"


@pytest.mark.parametrize("reader", DOCUMENTS, ids=lambda reader: reader.name)
def test_damaged_documents_end_in_an_error_of_their_own(reader: Any) -> None:
    """Under 1 GB of memory more and 20 s of CPU time."""
    tally = fuzzer.run_confined((reader, OTHERS, SEED, 0, N_OF_DOCUMENTS))
    assert tally.failures == []
    assert tally.n_inputs == N_OF_DOCUMENTS


def test_an_input_that_kills_its_reader_is_named() -> None:
    def outcome(_data: bytes, i: int) -> tuple[bool, str]:
        if i == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return (True, "") if i != 3 else (bool(bytearray(2 << 30)), "")

    reader = fuzzer.Reader("mortal", ("a",), lambda *_: b"a", outcome)
    tally = fuzzer.run_confined((reader, OTHERS, SEED, 0, 5))
    assert [i for i, _ in tally.failures] == [1, 3]
    assert tally.n_inputs == 5


def test_a_large_process_leaves_its_readers_their_memory() -> None:
    """Deep lists need a stack that grows."""
    deep = b'{"a": ' + b"[" * 2000

    def outcome(data: bytes, _i: int) -> tuple[bool, str]:
        json_value(data, "deep", "a document")
        return True, ""

    reader = fuzzer.Reader("deep", ("a",), lambda *_: deep, outcome)
    with mmap.mmap(-1, 2 * fuzzer.MEMORY_LIMIT_BYTES):
        assert fuzzer.run_confined((reader, OTHERS, SEED, 0, 2)).failures == []


def test_an_input_depends_on_its_number_alone() -> None:
    """So that a failure can be repeated."""
    others = OTHERS
    reader = READERS[0]
    first = fuzzer.input_of(reader, others, SEED, 7)
    fuzzer.input_of(reader, others, SEED, 8)
    assert fuzzer.input_of(reader, others, SEED, 7) == first
    assert fuzzer.input_of(reader, others, SEED + 1, 7) != first
