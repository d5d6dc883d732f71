"""The selection is searched as MPICH's sources say; tests/oracle has the real library search it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.tuning.tunings import Chosen, expected_arm, tuned

from weft.core.errors import InputError
from weft.study.tuning.algorithm import TunedAlgorithm
from weft.study.tuning.mpich_selection import (
    COMPOSITIONS,
    SELECTION,
    mpich_selection,
    read_mpich_library,
)

OWN: dict[str, Any] = {
    "collective=allreduce": {
        "comm_type=intra": {
            "avg_msg_size<=8": {"algorithm=MPIR_Allreduce_intra_small": {}},
            "avg_msg_size=any": {"algorithm=MPIR_Allreduce_intra_large": {}},
        },
        "comm_type=inter": {"algorithm=MPIR_Allreduce_inter_own": {}},
    },
    "collective=allgather": {"algorithm=MPIR_Allgather_allcomm_own": {"k=2": {}}},
    "collective=barrier": {"algorithm=MPIR_Barrier_intra_own": {}},
    "collective=scan": {"algorithm=MPIR_Scan_intra_own": {}},
}
DEVICE: dict[str, Any] = {
    "collective=allreduce": {
        "comm_type=intra": {
            "comm_hierarchy=parent": {"composition=levels": {}},
            "comm_hierarchy=any": {"composition=whole": {}},
        }
    },
    "collective=allgather": {"comm_type=intra": {"composition=only": {}}},
}
SHARED: dict[str, Any] = {
    "collective=bcast": {"algorithm=MPIDI_POSIX_mpi_bcast_release_gather": {}}
}
KNOWN = (
    *("Allreduce_intra_ring", "Allreduce_intra_reduce_scatter_allgather", "Allreduce_intra_tree"),
    *("Allgather_intra_recursive_doubling", "Barrier_intra_dissemination"),
)
ALGORITHMS = {
    "ring": TunedAlgorithm("ring"),
    "rabenseifner": TunedAlgorithm("reduce_scatter_allgather"),
    "tree": TunedAlgorithm("tree"),
    "unknown": TunedAlgorithm("unknown"),
}
CHOSEN: Chosen = {
    (4, 8): "",
    (4, 4096): "ring",
    (4, 65536): "rabenseifner",
    (8, 8): "ring",
    (8, 65536): "",
    (8, 1 << 20): "",
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Strings as a compiler puts them, each with a zero byte after it."""
    strings = [json.dumps(one, separators=(",", ":")) for one in (SHARED, DEVICE, OWN)]
    strings += [f"algorithm=MPIR_{name}" for name in KNOWN]
    file = tmp_path / "libmpi.so.12"
    file.write_bytes(b"\x7fELF\0" + b"\0".join(map(str.encode, strings)) + b"\0")
    return file


Call = dict[str, Any]


def call(n_ranks: int, n_bytes: int, **more: Any) -> Call:
    """A collective of floats by an operation of MPI on a communicator with levels."""
    usual = {"intra": True, "levels": True, "built_in": True, "in_place": False}
    return {"ranks": n_ranks, "bytes": n_bytes, "total": n_bytes * n_ranks, **usual, **more}


def holds(condition: str, of: Call) -> bool:
    """SOURCE: pmodels/mpich, src/mpi/coll/src/csel.c, MPIR_Csel_search."""
    if condition.endswith("=any"):
        return True
    figures = {"comm_size": of["ranks"], "avg_msg_size": of["bytes"], "total_msg_size": of["total"]}
    for word, figure in figures.items():
        rest = condition.removeprefix(word)
        if rest.startswith("<="):
            return bool(figure <= int(rest[2:]))
        if rest.startswith("<"):
            return bool(figure < int(rest[1:]))
    power = 1 << (of["ranks"].bit_length() - 1)
    known = {
        "comm_type=intra": of["intra"],
        "comm_type=inter": not of["intra"],
        "comm_hierarchy=parent": of["levels"],
        "is_op_built_in=yes": of["built_in"],
        "is_op_built_in=no": not of["built_in"],
        "comm_size=pow2": power == of["ranks"],
        "count<pow2": of["bytes"] // 4 < power,
    }
    return bool(known[condition])


def search(tree: dict[str, Any], of: Call) -> str:
    """The first condition that holds counts, and there is no way back from inside it."""
    for key, inner in tree.items():
        if key.startswith(("algorithm=", "composition=")):
            return key.partition("=")[2]
        if holds(key, of):
            return search(inner, of)
    raise AssertionError("no condition holds: MPICH would end")


def selections(library: Path, chosen: Chosen = CHOSEN) -> tuple[dict[str, Any], dict[str, Any]]:
    one = tuned("allreduce", "allreduce", ALGORITHMS, chosen)
    texts = mpich_selection([one], read_mpich_library(library)).texts
    return json.loads(texts[SELECTION]), json.loads(texts[COMPOSITIONS])


NAMES = {"ring": "MPIR_Allreduce_intra_ring"}
NAMES["rabenseifner"] = "MPIR_Allreduce_intra_reduce_scatter_allgather"


def test_each_call_takes_what_was_chosen_or_the_librarys_own(library: Path) -> None:
    selection, compositions = selections(library)
    key = "collective=allreduce"
    for n_ranks in (2, 3, 4, 6, 8, 9, 64):
        for size in (0, 4, 8, 12, 4092, 4096, 65532, 65536, 65540, 1 << 20, 1 << 21):
            of = call(n_ranks, size)
            arm = expected_arm(CHOSEN, n_ranks, size)
            assert search(selection[key], of) == NAMES.get(arm, search(OWN[key], of)), of
            whole = "whole" if arm else "levels"
            assert search(compositions[key], of) == whole, of


@pytest.mark.parametrize(
    "of",
    [
        call(4, 65536, built_in=False),
        call(4, 65536, intra=False),
        call(4, 4096, built_in=False, levels=False),
    ],
)
def test_calls_unlike_the_studys_keep_the_librarys_own(library: Path, of: Call) -> None:
    selection, _ = selections(library)
    key = "collective=allreduce"
    assert search(selection[key], of) == search(OWN[key], of)


def test_rabenseifner_needs_as_many_elements_as_ranks(library: Path) -> None:
    selection, compositions = selections(library, {(4, 8): "rabenseifner"})
    of = call(4, 8)
    key = "collective=allreduce"
    assert search(selection[key], of) == "MPIR_Allreduce_intra_small"
    assert search(compositions[key], of) == "levels"


def test_all_other_collectives_are_as_in_the_library(library: Path) -> None:
    selection, compositions = selections(library)
    changed = "collective=allreduce"
    assert {k: v for k, v in selection.items() if k != changed} == {
        k: v for k, v in OWN.items() if k != changed
    }
    assert compositions["collective=allgather"] == DEVICE["collective=allgather"]


def test_an_allgather_compares_the_blocks_of_all_ranks(library: Path) -> None:
    one = tuned(
        "allgather",
        "allgather",
        {"doubling": TunedAlgorithm("recursive_doubling")},
        {(4, 64): "doubling", (8, 64): "doubling"},
    )
    texts = mpich_selection([one], read_mpich_library(library)).texts
    tree = json.loads(texts[SELECTION])["collective=allgather"]
    taken = "MPIR_Allgather_intra_recursive_doubling"
    own = "MPIR_Allgather_allcomm_own"
    assert search(tree, call(4, 64)) == taken
    assert search(tree, call(4, 65)) == own
    assert search(tree, call(4, 63)) == own
    # Five ranks are between four and eight, and no power of two.
    assert search(tree, call(5, 4 * 64 // 5)) == own
    assert search(tree, call(4, 64, intra=False)) == own
    only = json.loads(texts[COMPOSITIONS])["collective=allgather"]
    assert search(only, call(4, 64)) == "only"


def test_a_barrier_has_no_bytes(library: Path) -> None:
    one = tuned(
        "barrier", "barrier", {"d": TunedAlgorithm("dissemination")}, {(4, 0): "d", (8, 0): ""}
    )
    texts = mpich_selection([one], read_mpich_library(library)).texts
    tree = json.loads(texts[SELECTION])["collective=barrier"]
    names = [search(tree, call(n, 0)).rpartition("_")[2] for n in (2, 4, 7, 8, 9)]
    assert names == ["own", "dissemination", "dissemination", "own", "own"]


@pytest.mark.parametrize("arm", ["unknown", "tree"])
def test_an_algorithm_that_no_file_can_name_alone_is_refused(library: Path, arm: str) -> None:
    with pytest.raises(InputError) as error:
        selections(library, {(4, 8): arm})
    text = error.value.describe()
    assert f"this MPICH cannot select '{arm}' of allreduce by its name alone" in text
    assert "one of reduce_scatter_allgather, ring" in text
    assert "--library FILE" in text


def test_a_size_beyond_an_int_is_refused(library: Path) -> None:
    with pytest.raises(InputError, match="4294967297 bytes of allreduce"):
        selections(library, {(4, 8): "", (4, 1 << 32): "ring"})


def test_a_library_without_a_selection_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "libmpi.so.40"
    file.write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(InputError, match="no selection of algorithms in this library"):
        read_mpich_library(file)
