"""Telling lines of a log, quoted with their number."""

from pathlib import Path

from weft.judge.log import EDGE_BYTES, NO_LOG, log_in, log_of

LOG = b"""+ mpirun -np 8 -x NCCL_P2P_DISABLE=1 -x NCCL_ALGO="Ring" all_reduce_perf
nothing here
node:1:2 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 1.
node:1:2 [0] NCCL INFO Using network Socket
node:3:4 [1] NCCL INFO Using network Socket
"""


def test_variables_are_read_from_command_lines_and_from_nccls_own_words() -> None:
    log = log_of(LOG)
    assert log.variable("NCCL_P2P_DISABLE") == "1"
    assert log.variable("NCCL_ALGO") == "Ring"
    assert log.variable("NCCL_SHM_DISABLE").startswith("1")
    assert log.variable("NCCL_PROTO") == ""


def test_lines_keep_their_numbers_and_ranks_do_not_repeat_them() -> None:
    numbers = [line.number for line in log_of(LOG).lines]
    assert numbers == [1, 3, 4]


def test_a_file_without_a_log_or_without_a_byte_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_bytes(b"")
    assert log_in(path) == NO_LOG
    assert log_of(b"# OSU MPI Latency Test\n").lines == ()


def test_a_log_of_one_line_without_end_is_cut() -> None:
    log = log_of(b"NCCL_DEBUG=INFO " + b"x" * 10_000)
    assert len(log.lines[0].text) <= 1000


def test_lines_of_the_kernel_and_of_mpis_command_are_telling() -> None:
    kernel = b"mlx5_core 0000:3b:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s"
    command = b"mpirun -np 2 --mca pml ob1 osu_bw"
    log = log_of(b"\n".join((command, b"4194304  1500.00", kernel)))
    assert [line.number for line in log.lines] == [1, 3]


def test_such_lines_are_looked_for_at_both_ends_of_a_long_file() -> None:
    rows = b"4194304  1500.00\n" * (EDGE_BYTES // 8)
    command = b"mpirun -np 2 osu_bw\n"
    found = log_of(command + rows + command.replace(b"2", b"-x A") + rows + b"srun -n 2 osu_bw\n")
    assert [line.text.split()[0] for line in found.lines] == ["mpirun", "srun"]
