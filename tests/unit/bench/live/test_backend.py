"""The live backend on real MPI processes of this machine, well-behaved and not."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.needs import need_mpi

from weft.bench.live.backend import LiveBackend, launch_spec
from weft.bench.live.failure import HangError
from weft.bench.live.launch_site import LocalSite, is_this_machine
from weft.bench.model import Launch, Sample, State, Trial
from weft.core.errors import BenchmarkError, ExitCode, InputError, MissingError
from weft.core.host import Host, this_host
from weft.launch.kernel import build_kernel
from weft.launch.mpi import Mpi, find_mpi

HOST = os.uname().nodename


@pytest.fixture
def mpich() -> Mpi:
    return find_mpi()


def trial(benchmark: str = "latency", sizes: tuple[int, ...] = (8,), **changes: Any) -> Trial:
    fields = {"options": {"iterations": 20, "warmup": 2}, "timeout_s": 60.0}
    return Trial("t001", benchmark, sizes, (HOST,), 2, **(fields | changes))


def measure(mpi: Mpi, run_dir: Path, given: Trial) -> list[Sample]:
    backend = LiveBackend(mpi, (HOST,))
    backend.prepare([given], run_dir)
    return list(backend.measure(Launch(given, repeat=1, order=0)))


def kernels_running() -> list[str]:
    """Live processes whose executable is a kernel of ours."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")[0].decode()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                tag = (entry / "environ").read_bytes()
            except OSError:
                continue
            mine = f"WEFT_TEST_OWNER={os.getpid()}".encode() in tag
            if "weft-kernel" in command and state not in "ZX" and mine:
                found.append(command)
    return found


@pytest.fixture(autouse=True)
def owner(monkeypatch):
    monkeypatch.setenv("WEFT_TEST_OWNER", str(os.getpid()))


@pytest.mark.parametrize(
    ("benchmark", "sizes", "metric"),
    [
        ("latency", (0, 8), "latency_us_p50"),
        ("bidirectional", (4096,), "bandwidth_mb_s"),
        ("message_rate", (8,), "msg_rate_mps"),
        ("barrier", (0,), "latency_us_p50"),
        ("alltoall", (8,), "busbw_gb_s"),
    ],
)
def test_real_ranks_give_a_sample_a_size(mpi: Mpi, tmp_path: Path, benchmark, sizes, metric):
    samples = measure(mpi, tmp_path, trial(benchmark, sizes))
    assert [(s.benchmark, s.size_bytes, s.state) for s in samples] == [
        (benchmark, size, State.OK) for size in sizes
    ]
    for sample in samples:
        assert sample.metrics[metric] > 0
        assert sample.iterations == len(sample.times_ns or ()) == 20
        assert (sample.trial, sample.repeat) == ("t001", 1)


def test_what_was_run_and_said_is_kept(mpi: Mpi, tmp_path: Path):
    measure(mpi, tmp_path, trial())
    recipe = (tmp_path / "recipes/t001.r01.txt").read_text()
    assert "--benchmark latency --sizes 8 --iterations 20 --warmup 2" in recipe
    assert str(mpi.launcher) in recipe
    assert '"record":"end"' in (tmp_path / "raw/t001.r01.out").read_text()
    assert (tmp_path / "raw/t001.r01.err").exists()


def test_a_machine_without_ssh_measures_itself(mpi: Mpi, tmp_path: Path, monkeypatch):
    kernel = build_kernel(mpi)
    monkeypatch.setenv("PATH", str(tmp_path))
    backend = LiveBackend(mpi, (HOST,), kernel=kernel)
    backend.prepare([trial()], tmp_path)
    assert len(list(backend.measure(Launch(trial(), 0, 0)))) == 1


def test_a_variable_of_the_arm_reaches_the_ranks(mpi: Mpi, tmp_path: Path):
    """The kernel flips one received byte when told so by environment, and notices it."""
    options = {"iterations": 5, "warmup": 1, "validate": True}
    given = trial(options=options, env={"WEFT_TEST_CORRUPT": "1"})
    (sample,) = measure(mpi, tmp_path, given)
    assert "invalid_data" in sample.flags
    (clean,) = measure(mpi, tmp_path, trial(options=options))
    assert "invalid_data" not in clean.flags


def test_a_crashed_rank_is_named_with_its_host_and_signal(mpi: Mpi, tmp_path: Path):
    with pytest.raises(BenchmarkError) as caught:
        measure(mpi, tmp_path, trial(env={"WEFT_TEST_CRASH_RANK": "1"}))
    assert caught.value.where == f"host {HOST}, rank 1"
    assert "was killed by signal 11 (SIGSEGV)" in caught.value.what
    assert caught.value.exit_code == ExitCode.BENCHMARK
    assert kernels_running() == []


def test_a_rank_that_hangs_is_named_and_nothing_survives(mpi: Mpi, tmp_path: Path):
    with pytest.raises(HangError) as caught:
        measure(mpi, tmp_path, trial(env={"WEFT_TEST_HANG_RANK": "1"}, timeout_s=5.0))
    assert caught.value.where == f"host {HOST}, rank 1"
    assert "no end after 5 s; last record: all 2 ranks had started" in caught.value.what
    assert kernels_running() == []


def test_lines_that_are_no_records_do_no_harm(mpi: Mpi, tmp_path: Path):
    (sample,) = measure(mpi, tmp_path, trial(env={"WEFT_TEST_GARBAGE": "1"}))
    assert sample.metrics["latency_us_p50"] > 0


def test_a_program_that_is_no_kernel_is_found_out(mpich: Mpi, tmp_path: Path):
    program = tmp_path / "weft-kernel"
    program.write_text("#!/bin/sh\necho Hello\n")
    program.chmod(0o755)
    backend = LiveBackend(mpich, (HOST,), kernel=program)
    backend.prepare([trial()], tmp_path)
    with pytest.raises(BenchmarkError, match="wrote no records") as caught:
        list(backend.measure(Launch(trial(), 0, 0)))
    assert f"rank 0 on {HOST}" in (caught.value.where or "")


def test_output_that_stops_in_the_middle_is_found_out(mpich: Mpi, tmp_path: Path):
    measure(mpich, tmp_path, trial())
    whole = (tmp_path / "raw/t001.r01.out").read_text().splitlines(keepends=True)
    (tmp_path / "half").write_text("".join(whole[:4]))
    program = tmp_path / "weft-kernel"
    # Only the rank that Hydra numbers 0 speaks.
    program.write_text(f'#!/bin/sh\n[ "$PMI_RANK" = 0 ] && cat {tmp_path}/half; exit 0\n')
    program.chmod(0o755)
    backend = LiveBackend(mpich, (HOST,), kernel=program)
    backend.prepare([trial()], tmp_path)
    with pytest.raises(BenchmarkError, match="the output stops after latency at 8 B") as caught:
        list(backend.measure(Launch(trial(), 0, 0)))
    assert f"rank 0 on {HOST}" in (caught.value.where or "")


def test_a_launcher_and_a_library_of_different_mpis_are_found_out(tmp_path: Path):
    need_mpi("mpicc.openmpi")
    open_mpi, embedded = find_mpi("mpicc.openmpi"), find_mpi()
    mixed = replace(open_mpi, launcher=embedded.launcher, launcher_kind="hydra")
    with pytest.raises(BenchmarkError, match="each sees a world of 1"):
        measure(mixed, tmp_path, trial())


def test_what_the_kernel_refuses_is_reported_in_its_words(mpich: Mpi, tmp_path: Path):
    with pytest.raises(BenchmarkError, match="is not a whole number from 1 to") as caught:
        measure(mpich, tmp_path, trial("bandwidth", (8,), options={"window": 10**6}))
    assert "rank 0" in (caught.value.where or "")


def test_a_launcher_that_is_gone_is_missing(mpich: Mpi, tmp_path: Path):
    gone = replace(mpich, launcher=tmp_path / "mpiexec")
    backend = LiveBackend(gone, (HOST,), kernel=Path("/bin/true"))
    backend.prepare([trial()], tmp_path)
    with pytest.raises(MissingError, match="cannot be started") as caught:
        list(backend.measure(Launch(trial(), 0, 0)))
    assert caught.value.exit_code == ExitCode.MISSING


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Trial("t1", "latency", (8,), ("nowhere",), 2), "node 'nowhere' is not one of"),
        (Trial("t1", "latency", (8,), (HOST,), 1), "with one rank measures no network"),
        (Trial("t1", "latency", (8,), (), 1), "a trial without ranks"),
        (Trial("t1", "latency", (8,), (HOST,), 2, options={"sped": 1}), "has no option 'sped'"),
    ],
)
def test_a_trial_that_cannot_run_is_refused_before_anything_is_written(
    mpich: Mpi, tmp_path: Path, given: Trial, message: str
):
    with pytest.raises(InputError, match=message):
        LiveBackend(mpich, (HOST,)).prepare([given], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_rail_that_this_host_does_not_have_is_refused(mpich: Mpi, tmp_path: Path):
    with pytest.raises(InputError, match="no network device 'mlx5_99:1'") as caught:
        LiveBackend(mpich, (HOST,), ("mlx5_99:1",)).prepare([trial()], tmp_path)
    assert caught.value.where == "--rails"


def test_a_recipe_is_reported_without_a_run_directory_or_a_kernel(mpich: Mpi):
    text = LiveBackend(mpich, (HOST,)).recipe(Launch(trial(), 0, 0))
    assert "weft-kernel --benchmark latency" in text


HOLD = (
    "import os, sys\nfrom pathlib import Path\nfrom weft.bench.live.backend import LiveBackend\n"
    "from weft.bench.model import Launch, Trial\nfrom weft.launch.mpi import find_mpi\n"
    "name, folder, host = sys.argv[1], Path(sys.argv[2]), os.uname().nodename\n"
    "trial = Trial('t', 'latency', (8,), (host,), 2, env={'WEFT_TEST_HANG_RANK': '1'})\n"
    "backend = LiveBackend(find_mpi(name), (host,))\nbackend.prepare([trial], folder)\n"
    "list(backend.measure(Launch(trial, 0, 0)))\n"
)


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_rank_outlives_weft(mpi: Mpi, tmp_path: Path, number: int):
    build_kernel(mpi)
    held = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(mpi.mpicc), str(tmp_path)], stderr=subprocess.DEVNULL
    )
    try:
        assert wait_until(lambda: len(kernels_running()) == 2)
        held.send_signal(number)
        assert held.wait(timeout=30) != 0
        assert wait_until(lambda: kernels_running() == [])
    finally:
        held.kill()


def on(hosts: tuple[str, ...], mpi: Mpi, run_dir: Path, **changes: Any) -> list[Sample]:
    fields = {"options": {"iterations": 5, "warmup": 1}, "timeout_s": 60.0}
    given = Trial("t001", "pairs", (8, 4096), hosts, 1, **(fields | changes))
    backend = LiveBackend(mpi, hosts)
    backend.prepare([given], run_dir)
    return list(backend.measure(Launch(given, 0, 0)))


def test_pairs_of_hosts_go_by_their_names(mpi: Mpi, tmp_path: Path, two_hosts):
    samples = on(two_hosts, mpi, tmp_path)
    assert {(s.pair.a, s.pair.b) for s in samples if s.pair} == {("alpha", "beta")}
    assert (tmp_path / "recipes/t001.r00.hosts").read_text().split()[0] == "alpha"


def test_hosts_that_share_a_machine_are_found_out_and_not_bound(
    mpi: Mpi, tmp_path: Path, two_hosts
):
    """Bound, both ranks sit on core 0; that is what the samples must not be taken from."""
    if this_host().n_cores < 2 or not this_host().all_cpus_allowed:
        pytest.skip("nothing is bound on a machine with one core to use")
    samples = on(two_hosts, mpi, tmp_path)
    assert all("oversubscribed" not in sample.flags for sample in samples)
    recipe = (tmp_path / "recipes/t001.r00.txt").read_text()
    assert "-bind-to none" in recipe


def test_a_rank_that_crashes_on_another_host_is_named_with_that_host(
    mpi: Mpi, tmp_path: Path, two_hosts
):
    with pytest.raises(BenchmarkError) as caught:
        on(two_hosts, mpi, tmp_path, env={"WEFT_TEST_CRASH_RANK": "1"})
    assert caught.value.where == "host beta, rank 1"


def test_hosts_that_cannot_be_reached_fail_before_the_first_trial(
    mpi: Mpi, tmp_path: Path, two_hosts
):
    Path(os.environ["HYDRA_LAUNCHER_EXEC"]).write_text(
        "#!/bin/sh\necho 'ssh: Could not resolve hostname beta' >&2\nexit 255\n"
    )
    with pytest.raises(BenchmarkError, match=r"barrier \(meeting\.r00\) crashed") as caught:
        on(two_hosts, mpi, tmp_path)
    assert caught.value.where == "alpha, beta"
    assert (caught.value.hint or "").startswith("check the names given to --hosts")


def machine(n_cores: int, n_cpus: int, *, whole: bool = True) -> Host:
    return replace(
        this_host(),
        name="login",
        cpus=tuple(range(n_cpus)),
        n_cores=n_cores,
        all_cpus_allowed=whole,
    )


@pytest.mark.parametrize(
    ("host", "nodes", "tasks", "may_bind", "expected"),
    [
        (machine(4, 8), ("login",), 4, True, (True, False)),
        (machine(4, 8), ("login",), 6, True, (False, False)),
        (machine(4, 8), ("login",), 9, True, (False, True)),
        (machine(4, 8), ("n1", "n2"), 4, True, (True, False)),
        (machine(4, 8), ("login", "localhost"), 4, True, (False, False)),
        (machine(4, 8), ("login",), 4, False, (False, False)),
        (machine(2, 2, whole=False), ("login",), 2, True, (False, False)),
    ],
    ids=[
        "a core each",
        "threads shared",
        "more ranks than CPUs",
        "on two hosts",
        "two names of one machine",
        "the kernel binds to its rail, or hosts share a machine",
        "a part of the machine",
    ],
)
def test_ranks_are_bound_only_where_each_can_have_a_core(
    mpich: Mpi, host: Host, nodes, tasks, may_bind, expected
):
    given = Trial("t1", "latency", (8,), nodes, tasks)
    site = LocalSite(host)
    spec = launch_spec(mpich, given, site, program=("k",), hostfile=Path("h"), may_bind=may_bind)
    assert (spec.bound, spec.oversubscribed) == expected


@pytest.mark.parametrize(
    ("node", "hostname", "same"),
    [
        ("localhost", "login1", True),
        ("login1", "login1.site.example", True),
        ("login1.site.example", "login1", True),
        ("login2", "login1", False),
        ("127.0.0.1", "login1", True),
    ],
)
def test_this_machine_is_known_by_its_names(node: str, hostname: str, same: bool):
    assert is_this_machine(node, hostname) is same
