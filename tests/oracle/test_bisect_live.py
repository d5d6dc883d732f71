"""weft bisect names a planted setting of a real MPICH, UCX or Open MPI, among harmless variables.

Each trial draws a plant, 8 to 30 harmless variables that differ, and the order of launches.
WEFT_TRIALS says how many single causes there are (100 for the whole proof), and half as many pairs.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log2
from pathlib import Path
from random import Random

import pytest
from tests.needs import absent, need

from weft.cli import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
N_SINGLE = max(1, int(os.environ.get("WEFT_TRIALS") or 4))
N_PAIRS = max(1, N_SINGLE // 2)
SOURCE = Path(__file__).with_name("timed_messages.c")
BROADCAST = ("--figure", "broadcast of 64 KiB: {} us")

CVAR, TUNED = "MPIR_CVAR_", "OMPI_MCA_coll_tuned_"
NOLOCAL, TCP = {f"{CVAR}NOLOCAL": "1"}, {"UCX_TLS": "tcp,self"}
TREE = {f"{CVAR}BCAST_INTRA_ALGORITHM": "pipelined_tree"}
CHUNK = {f"{CVAR}BCAST_TREE_PIPELINE_CHUNK_SIZE": "64"}
NO_DEVICE = {f"{CVAR}DEVICE_COLLECTIVES": "none"}
DYNAMIC = {f"{TUNED}use_dynamic_rules": "1"}
BINOMIAL = {f"{TUNED}bcast_algorithm": "6"}
SEGMENT = {f"{TUNED}bcast_algorithm_segmentsize": "64"}
OPENMPI = {"OMPI_MCA_pml": "ob1", "PMIX_MCA_gds": "hash"}
"""Open MPI asks no other layer and starts in a second."""
VADER = {"OMPI_MCA_btl": "self,vader"}


@dataclass(frozen=True)
class Plant:
    """What BAD has and GOOD has not; both have `common`. `replaced` is what GOOD has instead."""

    mpi: str
    bad: Mapping[str, str]
    common: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()


SINGLES = (
    Plant("mpich", NOLOCAL, TCP),
    Plant("mpich", TCP, NOLOCAL),
    Plant("mpich", CHUNK, {**NO_DEVICE, **TREE}, options=BROADCAST),
    Plant("mpich", TREE, {**NO_DEVICE, **CHUNK}, options=BROADCAST),
    Plant("openmpi", {"OMPI_MCA_btl": "self,tcp"}, OPENMPI, VADER),
    Plant("openmpi", SEGMENT, {**OPENMPI, **VADER, **DYNAMIC, **BINOMIAL}, options=BROADCAST),
    Plant("openmpi", DYNAMIC, {**OPENMPI, **VADER, **BINOMIAL, **SEGMENT}, options=BROADCAST),
)
PAIRS = (
    Plant("mpich", {**NOLOCAL, **TCP}),
    Plant("mpich", {f"{CVAR}ODD_EVEN_CLIQUES": "1", **TCP}),
    Plant("mpich", {**TREE, **CHUNK}, NO_DEVICE, options=BROADCAST),
    Plant("openmpi", {**BINOMIAL, **SEGMENT}, {**OPENMPI, **VADER, **DYNAMIC}, options=BROADCAST),
    Plant("openmpi", {**DYNAMIC, **SEGMENT}, {**OPENMPI, **VADER, **BINOMIAL}, options=BROADCAST),
)
HARMLESS = (
    *("NCCL_DEBUG", "NCCL_IB_TIMEOUT", "NCCL_ALGO", "NCCL_SOCKET_IFNAME", "NCCL_NET_GDR_LEVEL"),
    *("FI_LOG_LEVEL", "FI_CXI_RX_MATCH_MODE", "I_MPI_DEBUG", "I_MPI_PIN_DOMAIN", "I_MPI_FABRICS"),
    *("MV2_USE_RDMA_CM", "MV2_SMP_EAGERSIZE", "KMP_AFFINITY", "KMP_BLOCKTIME", "GOMP_SPINCOUNT"),
    *("OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "CUDA_VISIBLE_DEVICES", "MKL_NUM_THREADS"),
    *("SHARP_COLL_LOG_LEVEL", "HCOLL_ENABLE_SHARP", "MXM_LOG_LEVEL", "PSM2_IDENTIFY", "TZ"),
    *("PYTHONUNBUFFERED", "OPENBLAS_NUM_THREADS", "LC_TIME", "APP_MODE", "EDITOR", "PAGER"),
    *("MANPATH", "MODULEPATH", "INFOPATH", "GSL_RNG_SEED", "PROJ_LIB", "JOB_NOTE"),
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[str, ...]]:
    """By MPI, the command line of two ranks."""
    need("cc", package="gcc")
    need("mpicc.openmpi", "mpirun.openmpi", package="openmpi-bin libopenmpi-dev")
    import sys

    folder, beside = tmp_path_factory.mktemp("programs"), Path(sys.executable).parent
    if not (beside / "mpicc").exists():
        absent("needs the mpich of PyPI beside python")
    launches = {
        "mpich": (str(beside / "mpicc"), (str(beside / "mpiexec"), "-bind-to", "core", "-n", "2")),
        "openmpi": (
            "mpicc.openmpi",
            ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2"),
        ),
    }
    words = {}
    for name, (compiler, launch) in launches.items():
        program = folder / f"timed_messages.{name}"
        subprocess.run([compiler, "-O2", str(SOURCE), "-o", str(program)], check=True, timeout=120)
        words[name] = (*launch, str(program))
    return words


def bisect(
    plant: Plant,
    seed: int,
    folder: Path,
    programs: Mapping[str, tuple[str, ...]],
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, dict[str, object]]:
    """The number of variables that differ, and the answer."""
    draw = Random(seed)
    names = draw.sample(HARMLESS, draw.randint(8, 30))
    good = {**plant.common, **plant.replaced, **dict.fromkeys(names[::2], "1")}
    bad = {**plant.common, **plant.bad, **dict.fromkeys(names, "2")}
    files = []
    for name, values in (("good", good), ("bad", bad)):
        files.append(folder / f"{name}.env")
        files[-1].write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    words = ["--format", "json", "--seed", str(seed), "--dir", str(folder / "run"), *plant.options]
    code = run(["bisect", *words, *map(str, files), "--", *programs[plant.mpi]])
    said = capsys.readouterr()
    assert code == 1, (plant, said)
    return len(names) + len(plant.bad), json.loads(said.out)


def assert_named(plant: Plant, answer: dict[str, object]) -> None:
    findings = answer["findings"]
    assert isinstance(findings, list)
    named = {one["name"]: one["bad"] for one in findings[0]["facts"]["variables"]}
    assert (len(findings), named) == (1, dict(plant.bad)), findings


@pytest.mark.parametrize("seed", range(N_SINGLE))
def test_a_planted_setting_is_named(
    seed: int,
    tmp_path: Path,
    programs: Mapping[str, tuple[str, ...]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    plant = SINGLES[seed % len(SINGLES)]
    n, answer = bisect(plant, seed, tmp_path, programs, capsys)
    with capsys.disabled():
        print(f"single {seed} n={n} {len(answer['environments'])} cells {answer['launches']}")
    assert_named(plant, answer)
    assert len(answer["environments"]) <= 2 * log2(n) + 4


@pytest.mark.parametrize("seed", range(N_PAIRS))
def test_a_planted_pair_is_named(
    seed: int,
    tmp_path: Path,
    programs: Mapping[str, tuple[str, ...]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    plant = PAIRS[seed % len(PAIRS)]
    n, answer = bisect(plant, 1000 + seed, tmp_path, programs, capsys)
    with capsys.disabled():
        print(f"pair {seed} n={n} {len(answer['environments'])} cells {answer['launches']}")
    assert_named(plant, answer)
