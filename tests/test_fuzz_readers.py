"""Damaged samples of every reader: nothing raises, hangs, or becomes a figure by accident.

`make fuzz` feeds a million each; here a fixed few, and the proof that they exercise the readers.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from weft.doctor.job import JobKind
from weft.results.registry import JSON_READERS, LINE_READERS

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
N_INPUTS = 1500
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
EVERYTHING = fuzzer.readers()


def test_every_reader_has_a_sample_that_it_recognises() -> None:
    """A reader nobody feeds survives anything."""
    lines = {reader.tool for reader in EVERYTHING if not reader.is_json}
    documents = {reader.tool for reader in EVERYTHING if reader.is_json}
    assert set(LINE_READERS) <= lines
    assert set(JSON_READERS) <= documents
    assert {kind.value for kind in JobKind} <= lines


@pytest.mark.parametrize("reader", EVERYTHING, ids=lambda reader: reader.name)
def test_damaged_samples_neither_raise_nor_hang_nor_lie(reader: Any) -> None:
    others = [piece.split("\n") for other in EVERYTHING for piece in other.pieces]
    tally = fuzzer.run_range((reader, others, SEED, 0, N_INPUTS))
    assert tally.failures == []
    assert tally.n_inputs == N_INPUTS
    # One damaged character makes a whole document of TOML or YAML something else.
    share = 6 if reader.tool in ("EDF", "Kubernetes") else 4
    assert tally.n_with_rows > N_INPUTS / share, "the damage leaves nothing for the reader to read"


def test_an_input_depends_on_its_number_alone() -> None:
    """So that a failure can be repeated."""
    others = [piece.split("\n") for other in EVERYTHING for piece in other.pieces]
    reader = EVERYTHING[0]
    first = fuzzer.input_of(reader, others, SEED, 7)
    fuzzer.input_of(reader, others, SEED, 8)
    assert fuzzer.input_of(reader, others, SEED, 7) == first
    assert fuzzer.input_of(reader, others, SEED + 1, 7) != first
