"""Real libraries take the algorithms that weft's tuning files name, and their own elsewhere.

Open MPI: a library loaded in front prints the function of each algorithm that coll/tuned calls.
MPICH keeps its functions to itself: the messages that it hands to UCX show the algorithm.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from tests.needs import need, need_mpi
from tests.unit.study.tuning.tunings import Chosen, expected_arm, tuned

from weft.study.tuning.algorithm import TunedAlgorithm
from weft.study.tuning.mpich_selection import SELECTION, mpich_selection, read_mpich_library
from weft.study.tuning.openmpi_rules import RULES, openmpi_rules
from weft.study.tuning.tuning_files import TunedCollective, TuningFiles

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HERE = Path(__file__).parent
OPT = Path(sys.prefix) / "opt"
N_RANKS = 4
OPENMPIS = {4: "mpicc.openmpi", 5: str(OPT / "openmpi/bin/mpicc")}
MPICHS = {
    "debian": ("mpicc.mpich", "mpirun.mpich", Path("/usr/lib")),
    "embedded": (
        str(Path(sys.prefix) / "bin/mpicc"),
        str(Path(sys.prefix) / "bin/mpiexec"),
        Path(sys.prefix) / "lib",
    ),
}
AS_ROOT = {
    f"{one}_ALLOW_RUN_AS_ROOT{end}": "1" for one in ("OMPI", "PRTE") for end in ("", "_CONFIRM")
}

Call = tuple[str, int]
Seen = dict[Call, list[str]]
"""By call what the library in front printed until it was done."""


def compiled(tmp_path: Path, mpicc: str, in_front: str) -> tuple[Path, Path]:
    """The program that calls, and the library to load in front."""
    need("cc", package="gcc")
    program, library = tmp_path / "called", tmp_path / "front.so"
    for argv in (
        [mpicc, "-o", program, HERE / "called_collectives.c"],
        ["cc", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", library, HERE / in_front, "-ldl"],
    ):
        subprocess.run(list(map(str, argv)), check=True, timeout=120)
    return program, library


def launched(argv: Sequence[object], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, argv)),
        env={**os.environ, **AS_ROOT, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def seen_by(ran: subprocess.CompletedProcess[str], n_calls: int) -> Seen:
    assert ran.returncode == 0, ran.stderr
    found: Seen = {}
    inside: list[str] = []
    for line in ran.stdout.splitlines():
        word, _, rest = line.partition(" ")
        if word == "call":
            name, _, size = rest.partition(" ")
            inside = found.setdefault((name, int(size)), [])
        elif word == "done":
            inside = []
        elif word in ("took", "sent"):
            inside.append(rest)
    assert len(found) == n_calls
    return found


def put(files: TuningFiles, folder: Path) -> dict[str, str]:
    """Write the files, and return the variables that load them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.texts.items():
        (folder / name).write_text(text)
    return {
        name: str(folder / value) if value in files.texts else value
        for name, value in files.variables.items()
    }


def words_of(calls: Sequence[Call]) -> list[str]:
    return [word for name, size in calls for word in (name, str(size))]


# Open MPI

OF_OPENMPI: dict[str, tuple[str, dict[str, tuple[str, str]], dict[int, str]]] = {
    "allreduce": (
        "allreduce",
        {
            "doubling": ("3", "allreduce_intra_recursivedoubling"),
            "ring": ("4", "allreduce_intra_ring"),
            "nonoverlapping": ("2", "allreduce_intra_nonoverlapping"),
        },
        {64: "", 1024: "ring", 16384: "ring", 65536: "doubling", 262144: "nonoverlapping"},
    ),
    "allgather": (
        "allgather",
        {
            "ring": ("4", "allgather_intra_ring"),
            "bruck": ("2", "allgather_intra_bruck"),
            "neighbor": ("5", "allgather_intra_neighborexchange"),
        },
        {64: "ring", 1024: "", 16384: "bruck", 65536: "neighbor"},
    ),
    "alltoall": (
        "alltoall",
        {
            "pairwise": ("2", "alltoall_intra_pairwise"),
            "linear": ("1", "alltoall_intra_basic_linear"),
        },
        {64: "pairwise", 1024: "linear", 65536: "linear"},
    ),
    "broadcast": (
        "bcast",
        {
            "linear": ("1", "bcast_intra_basic_linear"),
            "scatter": ("8", "bcast_intra_scatter_allgather"),
        },
        {64: "linear", 1024: "", 65536: "scatter"},
    ),
}
"""By benchmark: the collective, its algorithms (number, function), the choice by size."""


def openmpi_tuned(algorithm_of: Mapping[str, str] = {}) -> list[TunedCollective]:
    """The collectives; `algorithm_of` puts a number in place of an arm's own."""
    return [
        tuned(
            benchmark,
            collective,
            {arm: TunedAlgorithm(algorithm_of.get(arm, n)) for arm, (n, _) in algorithms.items()},
            {(N_RANKS, size): arm for size, arm in choice.items()},
        )
        for benchmark, (collective, algorithms, choice) in OF_OPENMPI.items()
    ]


def openmpi_calls() -> list[Call]:
    """The measured sizes, one between each two, and one below and above them."""
    found = []
    for benchmark, (_, _, choice) in OF_OPENMPI.items():
        sizes = sorted(choice)
        between = [a + (b - a) // 8 * 4 for a, b in pairwise(sizes)]
        sizes = sorted({sizes[0] - 4, *sizes, *between, sizes[-1] + 4})
        found += [(benchmark, size) for size in sizes]
    return found


def openmpi_launched(
    built: tuple[Path, Path], mpicc: str, n: int, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    program, library = built
    mpirun = mpicc.replace("mpicc", "mpirun")
    argv = [mpirun, "--oversubscribe", "-n", n, "-x", f"LD_PRELOAD={library}", program]
    return launched([*argv, *words_of(openmpi_calls())], env)


def openmpi_seen(built: tuple[Path, Path], mpicc: str, n: int, env: Mapping[str, str]) -> Seen:
    return seen_by(openmpi_launched(built, mpicc, n, env), len(openmpi_calls()))


def openmpi_misses(seen: Seen, own: Seen, n_ranks: int) -> list[str]:
    """Calls that did not take the function chosen for them, or else the library's own."""
    missed = []
    for (benchmark, size), functions in seen.items():
        _, algorithms, choice = OF_OPENMPI[benchmark]
        chosen: Chosen = {(N_RANKS, one): arm for one, arm in choice.items()}
        arm = expected_arm(chosen, n_ranks, size)
        expected = [algorithms[arm][1]] if arm else own[benchmark, size][:1]
        if functions[:1] != expected:
            missed.append(f"{benchmark} {size}: {functions}, not {expected}")
    return missed


@pytest.fixture(params=OPENMPIS, ids=lambda version: f"version {version}")
def openmpi(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[int, str, tuple[Path, Path]]:
    version = int(request.param)
    mpicc = OPENMPIS[version]
    need_mpi(mpicc)
    return version, mpicc, compiled(tmp_path, mpicc, "taken_functions.c")


def test_open_mpi_takes_each_chosen_algorithm_and_its_own_elsewhere(
    openmpi: tuple[int, str, tuple[Path, Path]], tmp_path: Path
) -> None:
    version, mpicc, built = openmpi
    env = put(openmpi_rules(openmpi_tuned(), version), tmp_path / "files")
    for n_ranks in (2, N_RANKS, 5):
        own = openmpi_seen(built, mpicc, n_ranks, {})
        seen = openmpi_seen(built, mpicc, n_ranks, env)
        assert openmpi_misses(seen, own, n_ranks) == []
        if n_ranks == N_RANKS:
            assert len(openmpi_misses(own, own, n_ranks)) > 5, "its own choices differ from these"


def test_the_proof_fails_where_rules_are_of_a_wrong_form_or_of_other_numbers(
    openmpi: tuple[int, str, tuple[Path, Path]], tmp_path: Path
) -> None:
    """Open MPI says nothing about a file that it cannot read: it takes its own choices, and a rank
    of 4.1.4 has been seen to end instead."""
    version, mpicc, built = openmpi
    own = openmpi_seen(built, mpicc, N_RANKS, {})
    env = put(openmpi_rules(openmpi_tuned(), version), tmp_path / "files")
    rules = tmp_path / "files" / RULES
    # Every list of rules has to begin at 0 bytes.
    rules.write_text(rules.read_text().replace("\n0 0 0 0\n", "\n1 0 0 0\n"))
    ran = openmpi_launched(built, mpicc, N_RANKS, env)
    assert ran.returncode != 0 or seen_by(ran, len(openmpi_calls())) == own
    assert openmpi_misses(own, own, N_RANKS)
    swapped = openmpi_rules(openmpi_tuned({"ring": "3", "doubling": "4"}), version)
    seen = openmpi_seen(built, mpicc, N_RANKS, put(swapped, tmp_path / "files"))
    missed = " ".join(openmpi_misses(seen, own, N_RANKS))
    assert "allreduce 1024" in missed
    assert "allreduce 65536" in missed
    assert "alltoall" not in missed


# MPICH

OF_MPICH: dict[str, tuple[str, dict[str, str], dict[int, str]]] = {
    "allreduce": (
        "allreduce",
        {"doubling": "recursive_doubling", "rabenseifner": "reduce_scatter_allgather"},
        {64: "rabenseifner", 4096: "doubling", 16384: "doubling", 65536: ""},
    ),
    "allgather": (
        "allgather",
        {"ring": "ring", "bruck": "brucks"},
        {64: "ring", 4096: "bruck", 65536: ""},
    ),
    "alltoall": (
        "alltoall",
        {"bruck": "brucks", "pairwise": "pairwise"},
        {64: "", 4096: "bruck", 65536: ""},
    ),
    "broadcast": (
        "bcast",
        {"scatter": "scatter_ring_allgather"},
        {64: "", 4096: "scatter", 65536: ""},
    ),
}
RING = {"ring": "ring"}
"""Embedded MPICH alone can select it by a file."""

WAYS = {
    "one level": {"MPIR_CVAR_NOLOCAL": "1"},
    "levels": {"MPIR_CVAR_NUM_CLIQUES": "2"},
}
"""Ranks as if each had a node of its own, or as if two nodes shared them: then device collectives
make levels, which the chosen algorithms have to go around."""


def mpich_calls() -> list[Call]:
    return [
        (benchmark, size)
        for benchmark, (_, _, choice) in OF_MPICH.items()
        for size in sorted({*choice, *(size * 2 for size in choice)})
    ]


def mpich_seen(
    built: tuple[Path, Path], mpirun: str, n: int, calls: Sequence[Call], env: Mapping[str, str]
) -> Seen:
    program, library = built
    argv = [mpirun, "-n", n, "-env", "LD_PRELOAD", library, program, *words_of(calls)]
    return seen_by(launched(argv, env), len(calls))


def forced(benchmark: str, name: str) -> dict[str, str]:
    """The variables of an arm of a study."""
    collective = OF_MPICH[benchmark][0]
    return {
        f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM": name,
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
    }


@pytest.fixture(params=MPICHS)
def mpich(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, tuple[Path, Path]]:
    mpicc, mpirun, folder = MPICHS[request.param]
    need_mpi(mpicc)
    found = [*folder.rglob("libmpich.so.12"), *folder.glob("libmpi.so.12")]
    return mpirun, found[0], compiled(tmp_path, mpicc, "sent_bytes.c")


@pytest.mark.parametrize("way", WAYS)
def test_mpich_takes_each_chosen_algorithm_and_its_own_elsewhere(
    mpich: tuple[str, Path, tuple[Path, Path]], tmp_path: Path, way: str
) -> None:
    mpirun, library, built = mpich
    known = read_mpich_library(library)
    table = dict(OF_MPICH)
    if "MPIR_Allreduce_intra_ring" in known.algorithms:
        table["allreduce"] = ("allreduce", table["allreduce"][1] | RING, {64: "", 4096: "ring"})
    collectives = [
        tuned(
            benchmark,
            collective,
            {arm: TunedAlgorithm(name) for arm, name in algorithms.items()},
            {(N_RANKS, size): arm for size, arm in choice.items()},
        )
        for benchmark, (collective, algorithms, choice) in table.items()
    ]
    variables = put(mpich_selection(collectives, known), tmp_path / "files")
    calls = mpich_calls()
    for n_ranks in (2, N_RANKS):
        own = mpich_seen(built, mpirun, n_ranks, calls, WAYS[way])
        seen = mpich_seen(built, mpirun, n_ranks, calls, {**WAYS[way], **variables})
        for benchmark, size in calls:
            _, algorithms, choice = table[benchmark]
            chosen: Chosen = {(N_RANKS, one): arm for one, arm in choice.items()}
            arm = expected_arm(chosen, n_ranks, size)
            expected = own[benchmark, size]
            if arm:
                env = {**WAYS[way], **forced(benchmark, algorithms[arm])}
                expected = mpich_seen(built, mpirun, n_ranks, [(benchmark, size)], env)[
                    benchmark, size
                ]
                if way == "one level" and benchmark == "allreduce":
                    assert expected == messages_of(arm, size)
            assert seen[benchmark, size] == expected, (benchmark, size, n_ranks, arm)
        assert (seen != own) is (n_ranks == N_RANKS)


def messages_of(arm: str, size: int) -> list[str]:
    """Of rank 0 in an allreduce of `size` bytes on four ranks, by the algorithms themselves: a ring
    passes a quarter on in each of 2 * 3 steps, doubling all of it in 2, Rabenseifner halves it."""
    half, quarter = size // 2, size // 4
    by_arm = {
        "ring": [quarter] * 6,
        "doubling": [size, size],
        "rabenseifner": [half, quarter, quarter, half],
    }
    return list(map(str, by_arm[arm]))


def test_the_proof_fails_where_a_selection_names_what_mpich_does_not_know(
    mpich: tuple[str, Path, tuple[Path, Path]], tmp_path: Path
) -> None:
    mpirun, library, built = mpich
    one = tuned(
        "allreduce", "allreduce", {"d": TunedAlgorithm("recursive_doubling")}, {(4, 4096): "d"}
    )
    variables = put(mpich_selection([one], read_mpich_library(library)), tmp_path / "files")
    file = tmp_path / "files" / SELECTION
    document = json.loads(file.read_text())
    calls = [("allreduce", 4096)]
    good = mpich_seen(built, mpirun, N_RANKS, calls, {**WAYS["one level"], **variables})
    assert good[calls[0]] == messages_of("doubling", 4096)
    text = json.dumps(document).replace("_recursive_doubling", "_recursive_doublin")
    file.write_text(text)
    program, front = built
    argv = [mpirun, "-n", N_RANKS, "-env", "LD_PRELOAD", front, program, *words_of(calls)]
    ran = launched(argv, {**WAYS["one level"], **variables})
    assert ran.returncode != 0 or f"sent {4096}\nsent {4096}" not in ran.stdout
