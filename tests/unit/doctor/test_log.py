"""What a job's log means: the verdict, why, and what cannot be told."""

import random
from pathlib import Path

import pytest
from tests.unit.doctor.nccl_log import LoggedJob

from weft.bench.logs.evidence import log_evidence
from weft.bench.logs.log_facts import read_logs
from weft.bench.logs.ranks import JobLog, job_log
from weft.bench.logs.verification import is_known
from weft.core.errors import InputError
from weft.core.finding import Finding
from weft.doctor.log.aspects import aspects
from weft.doctor.log.judge import judge

MISSING = (
    "NET/Plugin : Plugin load (libnccl-net-ofi.so) returned 2 : libnccl-net-ofi.so: cannot open "
    "shared object file: No such file or directory",
    "NET/Plugin : No plugin found, using internal implementation",
)


def read(tmp_path: Path, lines: list[str]) -> JobLog:
    path = tmp_path / "job.log"
    path.write_text("\n".join(lines) + "\n")
    return job_log(read_logs([str(path)]))


def judged(tmp_path: Path, job: LoggedJob, extra: tuple[str, ...] = ()) -> list[Finding]:
    return judge(read(tmp_path, [*job.lines(), *extra]))


def test_all_is_well(tmp_path: Path) -> None:
    (only,) = judged(tmp_path, LoggedJob())
    assert only.sentence == "16 of 16 ranks used NET/IB, every channel with GPUDirect RDMA"
    assert only.severity.value == "good"


def test_the_plug_in_that_was_asked_for_is_the_reason_for_sockets(tmp_path: Path) -> None:
    before = (*MISSING, "NET/IB : No device found.", "NET/Socket : Using [0]eth0:10.0.0.1<0>")
    (only,) = judged(tmp_path, LoggedJob(network="Socket", direct=False, before=before))
    assert only.sentence == "16 of 16 ranks used NET/Socket: plug-in not found (libnccl-net-ofi.so)"
    assert only.severity.value == "bad"
    assert any("cannot open shared object file" in one for one in only.evidence)


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (("NET/IB : No device found.",), "no InfiniBand or RoCE device was found"),
        (("Failed to open libibverbs.so[.1]",), "libibverbs could not be opened"),
        (
            ("NCCL_IB_DISABLE set by environment to 1.", "NET/IB : No device found."),
            "NCCL_IB_DISABLE=1 turns InfiniBand off",
        ),
        (
            ("External network plugin libnccl-net.so is unsupported",),
            "plug-in libnccl-net.so is unsupported by this NCCL",
        ),
        (
            (
                "Failed to initialize NET plugin AWS Libfabric",
                "NET/IB : No device found.",
                "Failed to initialize NET plugin IB",
            ),
            "plug-in AWS Libfabric could not be initialised",
        ),
        (
            (
                "NET/Plugin: Failed to find ncclNetPlugin_v6 symbol.",
                "NET/Plugin: Failed to find ncclNetPlugin symbol (v4 or v5).",
            ),
            "the plug-in has none of the interfaces that NCCL looks for "
            "(ncclNetPlugin_v6, ncclNetPlugin)",
        ),
        ((), "the log does not say why"),
    ],
)
def test_reasons_for_sockets(tmp_path: Path, before: tuple[str, ...], reason: str) -> None:
    (only,) = judged(tmp_path, LoggedJob(network="Socket", direct=False, before=before))
    assert only.sentence == f"16 of 16 ranks used NET/Socket: {reason}"


def test_one_node_needs_no_network(tmp_path: Path) -> None:
    (only,) = judged(tmp_path, LoggedJob(n_nodes=1, network="Socket"))
    assert only.sentence == (
        "8 of 8 ranks on one host: no network is needed (channels through P2P/IPC)"
    )


def test_nvlink_between_nodes_needs_no_network(tmp_path: Path) -> None:
    """A rack of GB200: every rank chooses sockets, and every channel is NVLink."""
    lines = LoggedJob(network="Socket", direct=False).lines()
    inside = [line.replace("[send] via NET/Socket/0", "via P2P/MNNVL") for line in lines]
    log = read(tmp_path, [line for line in inside if "[receive]" not in line])
    (only,) = judge(log)
    assert only.sentence == "2 of 16 ranks used NVLink between nodes: no network was used"
    # Between racks there is a network, and it is sockets.
    assert judge(read(tmp_path, [*inside, *lines]))[0].severity.value == "bad"


@pytest.mark.parametrize("says_nodes", [False, True])
def test_communicators_inside_nodes_need_no_network(tmp_path: Path, *, says_nodes: bool) -> None:
    """Two nodes, each with a copy of a model of its own: sockets are chosen and nobody uses them.
    From 2.19 on NCCL says how many nodes a communicator has; before, its ranks' hosts tell."""
    lines = LoggedJob(n_nodes=1, network="Socket", direct=False).lines()
    other = [line.replace("node0", "node1").replace("0x9a", "0x9b") for line in lines]
    nodes = "comm 0x7f rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0"
    extra = [f"node0:1000:2000 [0] NCCL INFO {nodes}"] if says_nodes else []
    verdict, several = judge(read(tmp_path, [*lines, *other, *extra]))
    assert verdict.sentence == (
        "no communicator of 16 of 16 ranks spans nodes: no network was used"
    )
    assert several.sentence.startswith("16 processes report 8 rank numbers")


def test_one_bad_node_is_named(tmp_path: Path) -> None:
    good, bad = LoggedJob().lines(), LoggedJob(network="Socket", direct=False).lines()
    lines = [line for line in good if "node1" not in line]
    lines += [line for line in bad if "node1" in line]
    worst = judge(read(tmp_path, lines))[0]
    assert worst.sentence.startswith("8 of 16 ranks used NET/Socket")
    assert worst.facts.hosts == ["node1"]


def test_channels_through_host_memory(tmp_path: Path) -> None:
    why = "GPU Direct RDMA Disabled for GPU 7000 / HCA 0 (distance 4 > 3)"
    (only,) = judged(tmp_path, LoggedJob(direct=False, before=(why,)))
    assert only.severity.value == "warning"
    # Each of two nodes sends and receives on one channel.
    assert only.sentence == (
        "4 of 4 network channels of 4 of 16 ranks go through host memory: GPUDirect RDMA is off"
    )
    assert "distance 4 > 3 for network device 0" in only.evidence[0]


def test_gpudirect_of_each_adapter(tmp_path: Path) -> None:
    """What NCCL says of adapters is one thing, what channels use another."""
    before = (
        "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
        "NET/IB : GPU Direct RDMA Enabled for HCA 1 'mlx5_1'",
        "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>",
    )
    log = read(tmp_path, LoggedJob(direct=False, before=before).lines())
    only, idle = judge(log)
    assert idle.sentence == "1 of 2 adapters carried channels: mlx5_0:1; none over mlx5_1:1"
    assert only.evidence[0].startswith("neither nvidia_peermem nor DMA-BUF for mlx5_0 (")
    said = {aspect.name: aspect.text for aspect in aspects(log)}
    assert said["GPUDirect"] == "NET/IB/0 mlx5_0:1 0 of 4 channel ends"
    assert said["GPUDirect of adapters"] == "mlx5_0 off, mlx5_1 on"


@pytest.mark.parametrize(
    ("message", "severity", "sentence"),
    [
        (
            "Could not open XML topology file /opt/Microsoft/t.xml : No such file or directory",
            "bad",
            "16 of 16 ranks could not open the topology file /opt/Microsoft/t.xml "
            "(No such file or directory) and went on without it",
        ),
        (
            "NCCL_COLLNET_ENABLE set by environment to 1.",
            "warning",
            "16 of 16 ranks asked for CollNet and none uses it: the log names no CollNet channel",
        ),
        (
            "Invalid value 2M for NCCL_BUFFSIZE, using default -2.",
            "warning",
            "NCCL_BUFFSIZE=2M was refused by 16 of 16 ranks; its default is in force",
        ),
        (
            "NET/OFI Selected Provider is tcp (found 1 nics)",
            "bad",
            "16 of 16 ranks used libfabric's provider tcp, which is TCP",
        ),
        (
            "NET/Plugin: Failed to find ncclNetPlugin symbol (v4 or v5).",
            "warning",
            "16 of 16 ranks opened a network plug-in that has none of the interfaces that this "
            "NCCL looks for, and went on without it",
        ),
        (
            "External network plugin /opt/libnccl-net-ofi.so is unsupported",
            "warning",
            "16 of 16 ranks refused plug-in /opt/libnccl-net-ofi.so and used NCCL's own network",
        ),
        (
            "Failed to initialize NET plugin AWS Libfabric",
            "warning",
            "16 of 16 ranks could not initialise plug-in AWS Libfabric and used NCCL's own network",
        ),
        (
            MISSING[0],
            "warning",
            "16 of 16 ranks did not find plug-in libnccl-net-ofi.so and used NCCL's own network",
        ),
    ],
)
def test_what_else_is_wrong(tmp_path: Path, message: str, severity: str, sentence: str) -> None:
    (only,) = judged(tmp_path, LoggedJob(before=(message,)))
    assert (only.severity.value, only.sentence) == (severity, sentence)


ASKED = "NCCL_COLLNET_ENABLE set by environment to 1."
VIA_SHARP = "CollNet 00/1 : 0 [send] via COLLNET/SHARP/0/GDRDMA"
GAVE_UP = "Cannot initialize CollNet, using point-to-point network instead"
NO_LOCK = "SHARP group create: Streaming Tree lock failed (-18)"


@pytest.mark.parametrize(
    ("messages", "verdict", "sharp"),
    [
        ((ASKED, VIA_SHARP), "16 of 16 ranks used COLLNET/SHARP", "triggered"),
        (
            (ASKED, VIA_SHARP, NO_LOCK, GAVE_UP),
            f"16 of 16 ranks asked for CollNet and none uses it: {NO_LOCK}",
            "not triggered",
        ),
        (
            (VIA_SHARP, GAVE_UP),
            f"16 of 16 ranks asked for CollNet and none uses it: {GAVE_UP}",
            "not triggered",
        ),
        # One communicator gives it up, another has it.
        (
            (ASKED, VIA_SHARP, GAVE_UP, "rank 0 Connected CollNet"),
            "16 of 16 ranks used COLLNET/SHARP",
            "triggered",
        ),
    ],
)
def test_channels_of_collnet_that_was_given_up_are_none(
    tmp_path: Path, messages: tuple[str, ...], verdict: str, sharp: str
) -> None:
    """One rank of a node says that all of it give it up."""
    one = [f"node0:1000:2000 [0] NCCL INFO {text}" for text in messages if text == GAVE_UP]
    before = tuple(text for text in messages if text != GAVE_UP)
    log = read(tmp_path, [*LoggedJob(before=before).lines(), *one])
    assert judge(log)[0].sentence.startswith(verdict)
    assert log_evidence(log.facts)["sharp"] == sharp
    assert ("COLLNET/SHARP" in log.networks) == (sharp == "triggered")


def test_ranks_that_never_finish_are_counted(tmp_path: Path) -> None:
    (only,) = judged(tmp_path, LoggedJob(complete=False))
    assert only.severity.value == "bad"
    assert only.sentence.startswith(
        "16 of 16 ranks began a communicator of 16 ranks on 2 hosts over NET/IB and did not "
        "complete it"
    )


def test_a_second_communicator_that_hangs_is_counted(tmp_path: Path) -> None:
    """The first one of every rank is complete; that of ranks 0 and 8 is not."""
    second = "comm 0x80 rank {} nranks 2 cudaDev 0 nvmlDev 0 busId 0000 commId 0x9b - Init START"
    lines = [
        f"node{node}:1000:2000 [0] NCCL INFO {second.format(node)}" for node, _ in enumerate("ab")
    ]
    (only,) = judged(tmp_path, LoggedJob(), tuple(lines))
    assert only.sentence.startswith("2 of 16 ranks began a communicator")
    done = [line.replace("START", "COMPLETE") for line in lines]
    (only,) = judged(tmp_path, LoggedJob(), (*lines, *done))
    assert only.severity.value == "good"


def test_warnings_are_the_librarys_own_words(tmp_path: Path) -> None:
    line = "node0:1000:2000 [0] net.cc:626 NCCL WARN The moon is full"
    (only,) = judged(tmp_path, LoggedJob(), (line, line))
    assert only.sentence == "NCCL of 1 of 16 ranks warned: The moon is full"
    assert only.evidence[0].endswith("(from net.cc:626), 2 times")


def test_an_excerpt_without_names_is_judged_too(tmp_path: Path) -> None:
    lines = ["NCCL INFO NET/IB : No device found.", "NCCL INFO Using network Socket"]
    (only,) = judge(read(tmp_path, lines))
    assert only.severity.value == "unknown"
    assert only.sentence.startswith(
        "1 of 1 process chose NET/Socket because no InfiniBand or RoCE device was found"
    )


def test_part_of_a_job_is_called_part(tmp_path: Path) -> None:
    lines = [line for line in LoggedJob().lines() if "node1" not in line]
    notes = [one.sentence for one in judge(read(tmp_path, lines)) if one.severity.value == "note"]
    assert notes == ["the logs cover 8 of 16 ranks"]


def test_versions_outside_the_known_say_so(tmp_path: Path) -> None:
    notes = [one.sentence for one in judged(tmp_path, LoggedJob(version="2.31.2+cuda13.0"))]
    assert notes[-1].startswith("unverified: NCCL 2.31.2+cuda13.0; it is none of 2.14 to 2.30")
    assert [is_known(v) for v in ("2.13.4", "2.14.3", "2.30.7+cuda12.9", "2.31.2", "x")] == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_rccl_is_known_from_posted_logs_only(tmp_path: Path) -> None:
    """Its numbers are those of the NCCL that it follows; its lines are not."""
    lines = [*LoggedJob().lines()[1:], "RCCL version : 2.27.7-HEAD:0d2c4fd"]
    warning = "node0:1000:2000 [0] init.cc:140 NCCL WARN The moon is full"
    (first, *_) = judge(read(tmp_path, [*lines, warning]))
    assert first.sentence == "RCCL of 1 of 16 ranks warned: The moon is full"
    log = read(tmp_path, lines)
    assert [one.sentence for one in judge(log)][1:] == [
        "unverified: RCCL; its lines are known from logs that users posted, not from its "
        "sources; they are read as NCCL's"
    ]
    (version,) = [aspect for aspect in aspects(log) if aspect.name == "version"]
    assert version.text == "RCCL 2.27.7-HEAD:0d2c4fd (unverified)"
    assert [row["is_verified"] for row in version.values] == [False]


def test_one_rank_says_what_it_says(tmp_path: Path) -> None:
    """Rank 7 sends to the other node over one channel and to nobody on its own; rank 0 receives
    from there and sends to rank 1."""
    log = read(tmp_path, LoggedJob().lines())
    seen = {
        number: {aspect.name: aspect.text for aspect in aspects(log.of_rank(log.ranks[number]))}
        for number in (0, 3, 7)
    }
    assert [seen[number]["channels"] for number in seen] == ["P2P/IPC 1", "P2P/IPC 1", "NET/IB 1"]
    assert seen[0]["GPUDirect"] == seen[7]["GPUDirect"] == "NET/IB/0 1 of 1 channel ends"
    assert "GPUDirect" not in seen[3]
    assert seen[7]["version"] == "NCCL 2.18.3+cuda12.2"


def test_in_which_order_ranks_write_makes_no_difference(tmp_path: Path) -> None:
    """A merged log is the same facts however the scheduler interleaved it."""
    lines = LoggedJob(network="Socket", direct=False, before=MISSING).lines()
    whole = read(tmp_path, lines)
    random.Random(7).shuffle(lines)
    mixed = read(tmp_path, lines)
    assert mixed.networks == whole.networks
    assert [rank.number for rank in mixed.ranks] == list(range(16))
    assert values_of(mixed) == values_of(whole)


def values_of(log: JobLog) -> dict[str, object]:
    """What the aspects say, lists in one order."""
    return {
        aspect.name: sorted(aspect.values, key=repr)
        if isinstance(aspect.values, list)
        else aspect.values
        for aspect in aspects(log)
    }


def test_a_file_per_rank_is_the_same_job(tmp_path: Path) -> None:
    job = LoggedJob(network="Socket", direct=False, before=MISSING)
    paths = []
    for rank in job.ranks:
        path = tmp_path / f"nccl.{rank}.log"
        path.write_text("\n".join(job.of(rank)) + "\n")
        paths.append(str(path))
    found = judge(job_log(read_logs(paths)))
    whole = judge(read(tmp_path, job.lines()))
    assert [one.sentence for one in found] == [one.sentence for one in whole]


@pytest.mark.parametrize("content", ["", "hello\n", "\0" * 100_000, "\x1f\x8b\x08\x00"])
def test_what_is_no_log_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(InputError):
        read_logs([str(path)])


@pytest.mark.parametrize("name", ["/dev/zero", "/", "/nowhere", "a\0b"])
def test_what_is_no_file_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_logs([name])
