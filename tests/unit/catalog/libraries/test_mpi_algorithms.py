"""What MPI libraries choose: the documents are whole, and say what their sources say."""

import re
from pathlib import Path

import pytest

from weft.catalog.document import parse_document
from weft.catalog.libraries.mpi_algorithms import (
    MpiAlgorithms,
    mpi_algorithms,
    mpi_algorithms_names,
)
from weft.catalog.load import platform
from weft.core.errors import InputError

REFERENCE = Path(__file__).parents[4] / "docs" / "reference" / "scenario.md"


def engine_algorithms() -> dict[str, set[str]]:
    """By benchmark, what the reference lists as algorithms of the engine."""
    text = REFERENCE.read_text("utf-8")
    start = text.index('* `"algorithm"`, the first being the default:')
    listed = " ".join(text[start : text.index("`size_bytes` is the whole", start)].split())
    found: dict[str, set[str]] = {}
    for part in re.split(r"[;.]", listed.split("default:", 1)[1]):
        names, _, values = part.partition(": ")
        for name in re.findall(r"`(\w+)`", names):
            found[name] = set(re.findall(r"`(\w+)`", values))
    return found


@pytest.mark.parametrize("library", mpi_algorithms_names())
def test_every_choice_is_carried_out_by_an_algorithm_of_the_engine(library):
    known = engine_algorithms()
    for stand in mpi_algorithms(library).algorithms:
        assert stand.engine in known[stand.benchmark], stand


@pytest.mark.parametrize("library", mpi_algorithms_names())
def test_whatever_the_ranks_and_the_size_something_is_chosen(library):
    document = mpi_algorithms(library)
    for benchmark in {choice.benchmark for choice in document.choices}:
        for n_ranks in (2, 3, 5, 8, 13, 31, 64, 127, 256, 1000, 4096, 100_000):
            for size in (0, 1, 100, 8192, 1 << 20, 1 << 30):
                tasks = max(choice.tasks_per_node for choice in document.choices)
                found = document.choose(benchmark, n_ranks, size, tasks)
                assert found is not None, (benchmark, n_ranks)
    assert document.choose("scan", 8, 8) is None


@pytest.mark.parametrize(
    ("library", "benchmark", "n_ranks", "size_bytes", "name"),
    [
        # coll_tuned_decision_fixed.c: 512 to 2047 ranks: < 2048 nonoverlapping, < 16384 recursive
        # doubling, else Rabenseifner.
        ("openmpi", "allreduce", 512, 2047, "nonoverlapping"),
        ("openmpi", "allreduce", 2047, 16383, "recursive_doubling"),
        ("openmpi", "allreduce", 2047, 16384, "rabenseifner"),
        ("openmpi", "alltoall", 2, 3, "two_proc"),
        ("openmpi", "alltoall", 100, 1023, "modified_bruck"),
        ("openmpi", "barrier", 100, 0, "bruck"),
        ("openmpi", "allgather", 128, 131072, "ring"),
        # MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE: up to 2048 bytes.
        ("mpich", "allreduce", 100, 2048, "recursive_doubling"),
        ("mpich", "allreduce", 100, 2049, "reduce_scatter_allgather"),
        # MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE, of all blocks: 8 x 65536 = 524288.
        ("mpich", "allgather", 8, 65535, "recursive_doubling"),
        ("mpich", "allgather", 8, 65536, "ring"),
        ("mpich", "allgather", 9, 9102, "brucks"),
        ("mpich", "broadcast", 7, 1 << 20, "binomial"),
        ("mpich", "broadcast", 16, 12288, "scatter_recursive_doubling_allgather"),
        ("mpich", "broadcast", 17, 12288, "scatter_ring_allgather"),
    ],
)
def test_limits_are_those_of_the_source(library, benchmark, n_ranks, size_bytes, name):
    chosen = mpi_algorithms(library).choose(benchmark, n_ranks, size_bytes)
    assert chosen is not None
    assert chosen.name == name


def test_a_platform_takes_its_librarys_choice_before_what_is_assumed():
    alps = platform("alps-gh200")
    assumed = alps.algorithm("allreduce", 4096)
    assert assumed is not None
    assert assumed.algorithm == "recursive_doubling"
    found = {name: alps.choice(name, 4096, 64) for name in ("allreduce", "allgather", "alltoall")}
    assert {name: (one.engine, one.window) for name, one in found.items() if one is not None} == {
        "allreduce": ("rabenseifner", None),
        "allgather": ("recursive_doubling", None),
        "alltoall": ("linear", 32),
    }
    assert alps.choice("scan", 4096, 64) is None
    assert platform("fat-tree").choice("allreduce", 4096, 64) is None


@pytest.mark.parametrize(
    ("n_ranks", "tasks_per_node", "size_bytes", "name"),
    [
        # gen2_cma_FRONTERA_56ppn.h: is_two_level and the algorithm between leaders, by ranks.
        (112, 56, 1024, "pt2pt_rd"),
        (112, 56, 4096, "pt2pt_rs"),
        (224, 56, 4096, "two_level_rd"),
        (224, 56, 8192, "pt2pt_rs"),
        (1792, 56, 16384, "two_level_rs"),
        (3584, 56, 8, "two_level_rd"),
        (3584, 56, 8192, "two_level_rd"),
        (3584, 56, 32768, "pt2pt_rs"),
        # gen2_cma_FRONTERA_28ppn.h
        (56, 28, 2048, "two_level_rd"),
        (224, 28, 8192, "pt2pt_rs"),
        (896, 28, 16384, "two_level_rs"),
        # gen2_cma_FRONTERA_4ppn.h
        (16, 4, 64, "pt2pt_rd"),
        (64, 4, 512, "two_level_rd"),
        (64, 4, 8192, "pt2pt_rs"),
        # gen2_cma_FRONTERA_1ppn.h
        (64, 1, 4096, "pt2pt_rd"),
        (16, 1, 8192, "pt2pt_rs"),
    ],
)
def test_fronteras_allreduce_goes_node_by_node_where_its_table_does(
    n_ranks, tasks_per_node, size_bytes, name
):
    library = mpi_algorithms("mvapich2-frontera")
    chosen = library.choose("allreduce", n_ranks, size_bytes, tasks_per_node)
    assert chosen is not None
    assert chosen.name == name


HEAD = """schema = "weft.algorithms/1"
library = "L"
version = "1"
class = "assumed"
source = "a test"
[[algorithms]]
benchmark = "reduce"
name = "a"
engine = "binomial"
"""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[[choices]]\nbenchmark = "reduce"\nelse = "b"\n', "no algorithm 'b' of reduce"),
        (
            '[[choices]]\nbenchmark = "reduce"\nbelow = [[9, "a"], [8, "a"]]\nelse = "a"\n',
            "sizes rise",
        ),
        (
            '[[algorithms]]\nbenchmark = "reduce"\nname = "a"\nengine = "binomial"\n'
            '[[choices]]\nbenchmark = "reduce"\nelse = "a"\n',
            "each algorithm once",
        ),
        (
            '[[algorithms]]\nbenchmark = "reduce"\nname = "b"\nengine = "binomial"\nexact = false\n'
            '[[choices]]\nbenchmark = "reduce"\nelse = "a"\n',
            "a note where",
        ),
        (
            '[[algorithms]]\nbenchmark = "reduce"\nname = "b"\nengine = "binomial"\n'
            'between = "binomial"\n[[choices]]\nbenchmark = "reduce"\nelse = "a"\n',
            "'between' and 'leaders' belong to 'two_level'",
        ),
    ],
)
def test_a_document_that_contradicts_itself_is_refused(text, complaint):
    with pytest.raises(InputError, match=complaint):
        parse_document(MpiAlgorithms, HEAD + text, "test.toml", "list of algorithms")


def test_a_library_no_one_knows_is_an_error():
    with pytest.raises(InputError, match="no MPI library 'openmpy'") as error:
        mpi_algorithms("openmpy")
    assert "openmpi" in str(error.value.hint)
