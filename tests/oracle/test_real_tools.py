"""What HPCC and NetPIPE print here and now, read, and held to their own second account of it."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.needs import need

from weft.results.model import Table
from weft.results.result_file import read_results

OPEN_MPI = ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2")
MPICH = ("mpirun.mpich", "-np", "2")

HPCC_INPUT = """\
HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
64           Ns
1            # of NBs
16           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


def run_here(argv: Sequence[str], folder: Path, package: str) -> str:
    """Run a tool in a folder; all it prints. Skips where the tool or its launcher is absent."""
    need(argv[0], next(a for a in argv if a.startswith(("NP", "hpcc"))), package=package)
    env = {**os.environ, "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    done = subprocess.run(
        argv,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{argv}\n{done.stdout}"
    return done.stdout


def summary_of(text: str) -> dict[str, float]:
    """The figures of an hpccoutf.txt as `grep =` shows them."""
    summary = text.partition("Begin of Summary section.")[2].partition("End of Summary")[0]
    pairs = dict(line.split("=", 1) for line in summary.split() if "=" in line)
    return {key: float(value) for key, value in pairs.items() if "Ring" in key or "Ping" in key}


def test_hpcc_s_figures_are_read_from_a_run_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "hpccinf.txt").write_text(HPCC_INPUT)
    run_here((*OPEN_MPI, "hpcc"), tmp_path, "hpcc")
    out = tmp_path / "hpccoutf.txt"
    results = read_results(out)
    tables = {table.test: table for table in results.tables}
    figures = summary_of(out.read_text())
    assert len(figures) == 10
    latency, bandwidth = tables["PingPongLatency"].rows[0], tables["PingPongBandwidth"].rows[0]
    assert latency.metrics["latency_us_max"] == figures["MaxPingPongLatency_usec"]
    assert bandwidth.metrics["bandwidth_mb_s_min"] == pytest.approx(
        1e3 * figures["MinPingPongBandwidth_GBytes"]
    )
    ring = tables["RandomlyOrderedRingLatency"].rows[0].metrics
    assert ring == {"latency_us": figures["RandomlyOrderedRingLatency_usec"]}
    assert results.tables[0].n_ranks == 2
    # The ping-pong bandwidth is of messages of one size, as the latency that it implies shows.
    assert bandwidth.size_bytes == 2_000_000
    _, _, after = out.read_text().rpartition("Message Length: 2000000")
    slowest_ms = float(after.splitlines()[1].split("/")[-1].split()[0])
    assert 2_000_000 / bandwidth.metrics["bandwidth_mb_s_min"] == pytest.approx(
        1e3 * slowest_ms, rel=1e-3
    )


def consistent(table: Table, half_digit_mbps: float) -> None:
    """Size over time is the rate, to the last digits of both that were printed."""
    off = half_digit_mbps * 2**20 / 8e6
    for row in table.rows:
        assert row.size_bytes
        time_us = row.metrics["latency_us"]
        low = row.size_bytes / (time_us + 0.0051)
        high = row.size_bytes / max(time_us - 0.0051, 1e-6)
        assert low - off <= row.metrics["bandwidth_mb_s"] <= high + off


@pytest.mark.parametrize(
    ("launcher", "program", "package"),
    [(OPEN_MPI, "NPopenmpi", "netpipe-openmpi"), (MPICH, "NPmpich2", "netpipe-mpich2")],
    ids=["openmpi", "mpich"],
)
def test_netpipe_is_read_from_screen_and_file_alike(
    launcher: tuple[str, ...], program: str, package: str, tmp_path: Path
) -> None:
    argv = (*launcher, program, "-n", "300", "-l", "256", "-u", "4096")
    (tmp_path / "screen.txt").write_text(run_here(argv, tmp_path, package))
    (file,) = read_results(tmp_path / "np.out").tables
    (screen,) = read_results(tmp_path / "screen.txt").tables
    sizes = [row.size_bytes for row in file.rows]
    # Both ranks print to the screen: the other's greeting may come in the middle of a line.
    printed = (tmp_path / "screen.txt").read_text().splitlines()
    torn = [line for line in printed if re.search(r"--> \d+: \S+$", line)]
    assert len(torn) <= 1
    lost = {int(line.split(":")[1].split()[0]) for line in torn}
    assert [size for size in sizes if size not in lost] == [row.size_bytes for row in screen.rows]
    assert {256, 512, 1024, 2048, 4096} <= set(sizes)
    assert "directions" not in file.conditions
    consistent(file, half_digit_mbps=0.00000051)
    consistent(screen, half_digit_mbps=0.0051)


def test_netpipe_in_both_directions_is_reported_by_its_file_alone(tmp_path: Path) -> None:
    argv = (*OPEN_MPI, "NPopenmpi", "-2", "-a", "-n", "300", "-l", "256", "-u", "1024")
    run_here(argv, tmp_path, "netpipe-openmpi")
    (file,) = read_results(tmp_path / "np.out").tables
    assert file.conditions["directions"] == "2"
    assert {256, 512, 1024} <= {row.size_bytes for row in file.rows}
