"""Real applications, recorded: their messages are those that Open MPI counts, and their iterations
last as long on the twin of a cluster as on it."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.needs import need
from tests.oracle.virtual import Virtual, skip_without_namespaces

from weft.bench.twin.backend import simulate
from weft.cli import run
from weft.study.run.store import read_run
from weft.trace.iterations import iterations_of
from weft.trace.trace import SENDS, read_trace

Capture = pytest.CaptureFixture[str]
LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 10
run 200
"""
ATOM = """ &input
  title='H', zed=1., rel=0, config='1s1 2p-1', iswitch=3, dft='PZ'
 /
 &inputp
  lloc=0, pseudotype=1, file_pseudopw='H.UPF', tm=.true.
 /
1
1S 1 0 1.00 0.00 1.20 1.20 0.0
"""
PLANE_WAVES = """ &control
  calculation='scf', prefix='h', pseudo_dir='.', outdir='./out', disk_io='none'
 /
 &system
  ibrav=1, celldm(1)=12.0, nat=2, ntyp=1, ecutwfc=40.0, nbnd=8
 /
 &electrons
  conv_thr=1e-12
 /
ATOMIC_SPECIES
H 1.0 H.UPF
ATOMIC_POSITIONS bohr
H 0.0 0.0 0.0
H 1.4 0.0 0.0
K_POINTS gamma
"""
HPCC = """HPLinpack benchmark input file
weft
HPL.out output file name
8 device out
1 # of problems sizes (N)
600 Ns
1 # of NBs
40 NBs
0 PMAP
1 # of process grids (P x Q)
1 Ps
2 Qs
16.0 threshold
1 # of panel fact
2 PFACTs
1 # of recursive stopping criterium
4 NBMINs
1 # of panels in recursion
2 NDIVs
1 # of recursive panel fact.
1 RFACTs
1 # of broadcast
1 BCASTs
1 # of lookahead depth
1 DEPTHs
2 SWAP
64 swapping threshold
0 L1
0 U
1 Equilibration
8 memory alignment
##### (32)
0 additional problem sizes for PTRANS
1200
0 additional blocking sizes for PTRANS
40
"""
MBIT = 200
PAYLOAD = 1448 / 1514
"""Of an Ethernet frame of TCP with time stamps, as `tc` counts it."""
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


TOOLS = {"lammps": ("lmp",), "quantum-espresso": ("pw.x", "ld1.x"), "hpcc": ("hpcc",)}
"""By Debian's package."""


def need_applications(*packages: str) -> None:
    need("mpirun.openmpi", package="openmpi-bin")
    for package in packages:
        need(*TOOLS[package], package=package)


def inputs(folder: Path) -> None:
    """The inputs of all three; the pseudopotential is made by Quantum ESPRESSO itself, where it is
    there."""
    (folder / "in.lj").write_text(LAMMPS)
    (folder / "pw.in").write_text(PLANE_WAVES)
    (folder / "hpccinf.txt").write_text(HPCC)
    if shutil.which("ld1.x") is None:
        return
    done = subprocess.run(
        ["ld1.x"], input=ATOM, text=True, capture_output=True, check=False, cwd=folder, timeout=60
    )
    assert (folder / "H.UPF").exists(), done.stdout[-500:]


def messages_monitored(folder: Path) -> dict[tuple[int, int], tuple[int, int]]:
    """By the ranks of sender and receiver, messages and bytes by Open MPI's monitoring.

    SOURCE: Open MPI's pml/monitoring, level 2: a line 'E' for messages of the program alone. It
    counts the persistent requests of a linear alltoall there, too."""
    counted = {}
    for path in folder.glob("monitored.*.prof"):
        for line in path.read_text().splitlines():
            match = re.match(r"E\s+(\d+)\s+(\d+)\s+(\d+) bytes\s+(\d+) msgs sent", line)
            if match:
                src, dst, n_bytes, n = map(int, match.groups())
                counted[src, dst] = (n, n_bytes)
    return counted


def collectives_counted(folder: Path, rank: int) -> dict[str, tuple[int, int]]:
    """Calls and bytes by name, of counted_collectives.c."""
    lines = (folder / f"counted-{rank}.txt").read_text().splitlines()
    words = [line.split() for line in lines]
    return {name: (int(n), int(n_bytes)) for name, n, n_bytes in words}


@pytest.mark.parametrize(
    ("package", "n_ranks", "program"),
    [
        ("lammps", 4, "lmp -in in.lj -log none -screen none"),
        pytest.param("quantum-espresso", 4, "pw.x -in pw.in", marks=pytest.mark.slow),
        pytest.param("hpcc", 2, "hpcc", marks=pytest.mark.slow),
    ],
)
def test_messages_and_collectives_of_an_application_are_those_that_others_count(
    package: str, n_ranks: int, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one run: HPCC sends until a time is over."""
    need("mpicc.openmpi", package="libopenmpi-dev")
    need_applications(package)
    inputs(tmp_path)
    counter = str(tmp_path / "counter.so")
    source = str(Path(__file__).with_name("counted_collectives.c"))
    build = ["mpicc.openmpi", "-std=c11", "-shared", "-fPIC", "-o", counter, source, "-ldl"]
    subprocess.run(build, check=True)
    for name, value in {**AS_ROOT, "OMP_NUM_THREADS": "1", "LD_PRELOAD": counter}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    options = (
        "--oversubscribe --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 "
        "--mca pml_monitoring_filename monitored "
        # Pairwise: an alltoall without persistent requests.
        "--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_alltoall_algorithm 2"
    )
    launch = ["mpirun.openmpi", *options.split(), "-n", str(n_ranks), *program.split()]
    assert run(["record", "--dir", "trace", "--", *launch]) == 0
    trace = read_trace(tmp_path / "trace")
    n_of: Counter[tuple[int, int]] = Counter()
    bytes_of: Counter[tuple[int, int]] = Counter()
    n_collectives = 0
    for rank in trace.ranks:
        counted = collectives_counted(tmp_path, rank.rank)
        own = {name: [c.of("bytes") for c in rank.calls if c.name == name] for name in counted}
        assert {name: (len(sizes), sum(sizes)) for name, sizes in own.items()} == counted
        n_collectives += sum(map(len, own.values()))
        for call in rank.calls:
            if call.name in SENDS:
                pair = (rank.rank, call.of("peer") - 1)
                n_of[pair] += 1
                bytes_of[pair] += call.of("bytes")
    assert {pair: (n, bytes_of[pair]) for pair, n in n_of.items()} == messages_monitored(tmp_path)
    print(f"{package}: {n_of.total():,} messages, {bytes_of.total():,} B, {n_collectives} calls")
    assert n_of.total() > 5_000
    assert n_collectives > 100


@pytest.fixture
def hosts(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Virtual]:
    need_applications(*TOOLS)
    skip_without_namespaces()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Virtual(capsys, f"recorded-{os.getpid()}")
    try:
        rates = ("--rate", f"node[1-2]={MBIT}mbit/2kb")
        code, said = made.up(2, *rates, "--mpi", "mpicc.openmpi")
        assert code == 0, said
        yield made
    finally:
        made.end()


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that virtual hosts see; their /tmp and home are their own."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="weft-recorded-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_iterations_last_as_long_on_the_twin_as_on_the_cluster(
    hosts: Virtual, shared: Path, tmp_path: Path, capsys: Capture
) -> None:
    inputs(shared)
    sizes = "8,64,256,4K,8K,16K,32K,64K,128K,256K"
    asked = ("--sizes", sizes, "--iterations", "30", "--repeats", "3")
    base = str(tmp_path / "base")
    code, said = hosts.weft("bench", "latency", *asked, "--cluster", hosts.name, "--dir", base)
    assert code == 0, said
    platform = str(tmp_path / "cluster.toml")
    rate = f"{MBIT / 1000 * PAYLOAD:.4f} Gb/s"
    assert run(["platform", "fit", base, "--link", rate, "--name", "cluster", "-o", platform]) == 0
    weft = Path(sys.executable).with_name("weft")
    mpirun = (
        "mpiexec.openmpi --hostfile /tmp/hosts --mca plm ^slurm --mca ras ^slurm "
        f"--mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0 --wdir {shared} -n 2 "
        "--map-by slot --bind-to none -x OMP_NUM_THREADS"
    )
    env = " ".join(f"{name}={value}" for name, value in AS_ROOT.items())
    found, wholes = {}, {}
    for name, program, iteration, n_runs in (
        ("lammps", "lmp -in in.lj -log none -screen none", "", 3),
        ("quantum-espresso", "pw.x -in pw.in", "", 3),
        # Its loops over small alltoalls; its rings of 2 MB go both ways at once, which Open MPI
        # over TCP does one after the other. It runs for a minute.
        ("hpcc", "hpcc", "alltoall", 1),
    ):
        lives = {}
        for number in range(n_runs):
            trace = shared / f"{name}-{number}"
            line = (
                f"printf '%s\\n' 'node1 slots=1' 'node2 slots=1' >/tmp/hosts; cd {shared}; "
                f"export {env} OMP_NUM_THREADS=1 "
                f'OMPI_MCA_plm_rsh_agent="$HOME/.ssh/weft-{hosts.name}/ssh"; '
                f"{weft} record --dir {trace} -- {mpirun} {program}"
            )
            done = hosts.on("node1", "sh", "-c", line, timeout_s=300.0)
            assert (trace / "recording.json").exists(), done
            seconds = iterations_of(read_trace(trace), iteration or None).seconds
            lives[trace] = statistics.median(seconds)
        # Other work on this machine only makes a run slower.
        trace = min(lives, key=lambda one: lives[one])
        by = ["--iteration", iteration] if iteration else []
        where = str(tmp_path / f"run-{name}")
        words = ["replay", str(trace), "--twin", platform, "--nodes", "2", "--dir", where, *by]
        assert run(words) == 0
        capsys.readouterr()
        (sample,) = read_run(Path(where)).samples
        found[name] = sample.metrics["latency_us_p50"] / 1e6 / lives[trace]
        (recipe,) = (Path(where) / "recipes").glob("*.json")
        rows_ps = simulate(json.loads(recipe.read_text()))["duration_ps"]
        wholes[name] = float(rows_ps.sum()) / 1e12 / read_trace(trace).seconds
    print("iterations, simulated over recorded:", json.dumps(found))
    print("whole runs, simulated over recorded:", json.dumps(wholes))
    assert all(0.9 <= ratio <= 1.1 for ratio in found.values()), found
