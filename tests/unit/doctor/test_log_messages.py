"""Messages that end jobs: each is bad with its cause and remedy, and nothing makes it good."""

import random
from pathlib import Path

import pytest
from tests.unit.doctor.nccl_log import LoggedJob

from weft.bench.logs.log_facts import log_facts_of_bytes
from weft.bench.logs.ranks import JobLog, job_log
from weft.catalog.libraries.log_messages import LogMessage, log_messages, message_of
from weft.core.finding import Finding
from weft.doctor.log.account import would_show
from weft.doctor.log.adapters import adapter_use
from weft.doctor.log.aspects import aspects
from weft.doctor.log.judge import judge, log_verdict

MESSAGES = log_messages()
FATAL = [one for one in MESSAGES if one.severity == "fatal"]
HARMLESS = [one for one in MESSAGES if one.severity == "harmless"]
JOB = LoggedJob(tasks_per_node=2)


def line_of(message: LogMessage) -> str:
    """Its example as it stands in a log."""
    if "NCCL" not in message.writers:
        return message.example
    place = f"misc/{message.place}utils.cc:103" if message.place else "x.cc:10"
    return f"node1:1001:2001 [1] {place} NCCL WARN {message.example}"


def read(lines: list[str]) -> JobLog:
    return job_log(log_facts_of_bytes("job.log", ("\n".join(lines) + "\n").encode()))


def judged(lines: list[str]) -> list[Finding]:
    return judge(read(lines))


def named(messages: list[LogMessage]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("message", messages, ids=[one.name for one in messages])


def test_the_catalogue_has_messages_of_every_kind() -> None:
    assert len(MESSAGES) >= 40
    assert len(FATAL) >= 30
    assert HARMLESS
    assert all(one.source and one.class_ for one in MESSAGES)


@named(list(MESSAGES))
def test_an_example_is_its_own_message(message: LogMessage) -> None:
    (fact,) = [fact for fact in read([line_of(message)]).facts.facts if fact.kind == "warning"]
    found = message_of(*fact.words)
    assert found is not None, fact.words
    assert found[0].name == message.name
    assert "{" not in message.sentence(found[1])


@named(FATAL)
def test_a_fatal_message_is_bad_with_cause_and_remedy(message: LogMessage) -> None:
    first = judged([*JOB.lines(), line_of(message)])[0]
    assert first.severity.value == "bad", first.sentence
    assert f"cause: {message.cause}" in first.evidence
    assert f"do: {message.remedy}" in first.evidence


@named(FATAL)
def test_removed_evidence_never_makes_it_good(message: LogMessage) -> None:
    """A fatal message during start-up; then lines before it, after it, or it, are lost."""
    rng = random.Random(message.name)
    whole = JOB.lines()
    last = max(n for n, line in enumerate(whole) if "START" in line)
    at = rng.randrange(1, last + 1)
    planted = [*whole[:at], line_of(message), *(one for one in whole[at:] if "COMPLETE" not in one)]
    cuts = [planted[:n] for n in (at + 1, at, at - 1)] + [planted[n:] for n in (at, at + 1)]
    cuts += [[one for one in planted if word not in one] for word in ("WARN", "START", "via", "Us")]
    cuts += [rng.sample(planted, rng.randrange(1, len(planted))) for _ in range(12)]
    for lines in cuts:
        if log_facts_of_bytes("x", "\n".join(lines).encode()).facts:
            assert log_verdict(judged(lines)).value != "good", lines


@named(HARMLESS)
def test_a_harmless_message_is_called_so_and_changes_no_verdict(message: LogMessage) -> None:
    findings = judged([*JOB.lines(), line_of(message)])
    assert log_verdict(findings).value == "good"
    (note,) = [one for one in findings if one.severity.value == "note"]
    assert "harmless" in note.sentence


def test_first_causes_come_before_what_follows_from_them() -> None:
    by_name = {one.name: one for one in MESSAGES}
    names = ("watchdog", "remote-error", "peer-closed", "status-12")
    first = judged([*JOB.lines(), *(line_of(by_name[name]) for name in names)])[0]
    assert "status 12, vendor err 129" in first.sentence


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "NET/IB: Got completion from peer 10.0.0.2<40554> with status=IBV_WC_RETRY_EXC_ERR(12) "
            "opcode=IBV_WC_RECV(129) vendor_err=129 localGid ::1 hca mlx5_1",
            "status-12",
        ),
        ("NET/IB : Got completion with error 12, opcode 0, len 32633, vendor err 129", "status-12"),
        (
            "NET/IB : mlx5_0:1 async fatal event on QP (0x7f): local access violation work "
            "queue error",
            "device-fatal-event",
        ),
        ("NET/IB : mlx5_0:1 Got async event : client reregistration", "subnet-manager-event"),
        (
            "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, local "
            "GID index 3, local GID ::ffff:10.0.0.1",
            "modify-qp-timeout",
        ),
        (
            "Error while creating shared memory segment /dev/shm/nccl-x (size 9637888), error: No "
            "space left on device (28)",
            "shm-full",
        ),
        (
            "socketPollConnect: connect to 10.0.0.2<40000> returned No route to host, exceeded "
            "error retry count after 35 attempts",
            "no-route-to-host",
        ),
        (
            "NET/OFI Request 0x7f completed with error. RC: 103. Error: 4126 (Unresponsive)",
            "completion-of-ofi",
        ),
        (
            "Error while attaching to shared memory segment /dev/shm/nccl-x (size 192814336), "
            "error: No such file or directory (2)",
            "shm-attach",
        ),
        ("Cuda failure 'system not yet initialized'", "nvswitch-not-ready"),
        ("Cuda failure 'no CUDA-capable device is detected'", "gpu-not-visible"),
        ("failed to open CUDA IPC handle : 201 invalid device context", "memory-handle"),
        ("HIP failure 'unspecified launch failure'", "cuda-failure"),
    ],
)
def test_other_forms_of_a_message(text: str, name: str) -> None:
    found = message_of("NCCL", "x.cc:1", text)
    assert found is not None
    assert found[0].name == name


def test_a_failed_call_without_a_known_message_is_bad() -> None:
    trace = ["init.cc:1358 -> 3", "group.cc:65 -> 3 [Async thread]"]
    lines = [f"node1:1001:2001 [1] NCCL INFO {one}" for one in trace]
    first = judged([*JOB.lines(), *lines])[0]
    assert first.severity.value == "bad"
    assert first.sentence == (
        "a call of NCCL failed with internal error in init.cc:1358 - 1 of 4 ranks"
    )


def test_a_network_that_did_not_start_is_no_failed_call() -> None:
    """NCCL 2.28 without libibverbs: its IB fails, and one host needs no network."""
    texts = ("transport/net_ib.cc:852 -> 3", "Failed to initialize NET plugin IB")
    lines = [f"node0:1000:2000 [0] NCCL INFO {text}" for text in texts]
    healthy = LoggedJob(n_nodes=1, network="Socket").lines()
    assert log_verdict(judged([*healthy, *lines])).value == "good"
    assert "net_ib.cc:852" in judged([*healthy, lines[0]])[0].sentence


def test_rccl_names_the_whole_path_of_a_failed_call() -> None:
    place = "/usr/src/debug/rccl/build/hipify/src/init.cc:2241"
    first = judged([*JOB.lines(), f"node1:1001:2001 [1] NCCL INFO {place} -> 1"])[0]
    assert first.severity.value == "bad"
    assert "unhandled CUDA error in init.cc:2241" in first.sentence


def test_an_unknown_warning_alone_is_no_verdict() -> None:
    """NCCL_DEBUG=WARN: no line shows whether the ranks went on after it."""
    warned = "node1:1001:2001 [1] x.cc:256 NCCL WARN a new thing went wrong"
    assert log_verdict(judged([warned])).value == "unknown"
    assert log_verdict(judged([*JOB.lines(), warned])).value == "warning"


def test_different_texts_of_one_message_are_not_counted_as_one() -> None:
    asks = ("amd_iommu=on", "iommu=pt", "iommu=pt")
    lines = [
        f'node1:1001:2001 [1] init.cpp:{n} NCCL WARN Missing "{one}" from kernel command line'
        for n, one in enumerate(asks, 120)
    ]
    (known,) = [one for one in judged([*JOB.lines(), *lines]) if "RCCL asks" in one.sentence]
    assert 'the first of 3: Missing "amd_iommu=on"' in known.evidence[-1]


def test_adapters_that_were_not_found_are_said() -> None:
    lines = ["h:1:2 [0] NCCL INFO NET/IB : No device found."]
    (nics,) = [one for one in aspects(read(lines)) if one.name == "NICs"]
    assert nics.text == "NET/IB found no device"


def test_ranks_that_call_a_collective_less_often_are_late() -> None:
    call = "node{}:100{}:200{} [{}] NCCL INFO AllReduce: opCount {} sendbuff 0x1 count 1"
    lines = [
        call.format(node, device, device, device, n)
        for node in range(2)
        for device in range(2)
        for n in range(3 - (node == 1 and device == 1))
    ]
    first = judged([*JOB.lines(), *lines])[0]
    assert first.sentence.startswith("1 of 4 ranks called AllReduce 2 times, the others 3")
    assert "rank 3" in first.evidence[0]


@pytest.mark.parametrize(("value", "verdict"), [("300", "bad"), ("22", "good")])
def test_a_value_that_is_out_of_range_is_refused_as_by_doctor_env(value: str, verdict: str) -> None:
    job = LoggedJob(before=(f"NCCL_IB_TIMEOUT set by environment to {value}.",))
    first = judged(job.lines())[0]
    assert first.severity.value == verdict
    assert ("NCCL_IB_TIMEOUT takes 1 to 31, not 300" in first.sentence) == (verdict == "bad")


def test_adapters_that_carried_nothing_are_named() -> None:
    using = "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB [RO]; OOB x"
    log = read(
        [
            *LoggedJob(before=(using,)).lines(),
            "node0:1000:2000 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/2/GDRDMA",
        ]
    )
    use = adapter_use(log)
    assert use is not None
    assert use.sentence == (
        "2 of 4 adapters carried channels: mlx5_0:1, mlx5_2:1; none over mlx5_1:1, mlx5_3:1"
    )
    assert use.sentence in [one.sentence for one in judge(log)]


@pytest.mark.parametrize(
    ("lines", "n"),
    [
        (["h:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>"], None),
        (
            [
                "h:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>",
                "h:9:9 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.2<0>",
            ],
            2,
        ),
        (
            [
                "#  Rank  0 Group  0 Pid  1 on h device  0 [0x61] NVIDIA L40",
                "#  Rank  1 Group  0 Pid  2 on h device  1 [0x62] NVIDIA L40",
                "h:1:2 [0] NCCL INFO Using network Socket",
            ],
            1,
        ),
        (["h:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 4 nNodes 4 localRanks 1 localRank 0"], 4),
        (
            [
                "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 busId 1 commId 0x1 - Init START",
                "h:3:4 [1] NCCL INFO Using network Socket",
            ],
            1,
        ),
    ],
)
def test_hosts_are_counted_by_evidence(lines: list[str], n: int | None) -> None:
    hosts = read(lines).host_count
    assert hosts.n == n
    assert hosts.evidence


def test_one_host_never_used_sockets(tmp_path: Path) -> None:
    """Chosen, and no channel: on one host the choice has no effect, whatever is missing."""
    lines = LoggedJob(n_nodes=1, network="Socket").lines()
    for kept in (lines, [one for one in lines if "COMPLETE" not in one], lines[:6], lines[3:]):
        assert not any("used NET/Socket" in one.sentence for one in judged(kept))


@pytest.mark.parametrize(("n_nodes", "shows"), [(1, "a rank"), (2, "TCP between nodes and a rank")])
def test_tcp_between_nodes_would_show_only_where_there_are_several(
    n_nodes: int, shows: str
) -> None:
    first, _ = would_show(read(LoggedJob(n_nodes=n_nodes).lines()))
    assert first.startswith(f"{shows} that did not come up, in {8 * n_nodes} ranks")


def test_before_2_7_a_process_without_a_device_has_sockets_left() -> None:
    lines = [f"h{n}:1:2 [0] NCCL INFO NET/IB : No device found." for n in range(2)]
    lines += [f"h{n}:1:2 [0] NCCL INFO NET/Socket : Using [0]ens3:10.0.0.{n}<0>" for n in range(2)]
    first = judged(lines)[0]
    assert first.sentence == (
        "2 of 2 processes used NET/Socket: no InfiniBand or RoCE device was found"
    )
    assert any("interface ens3" in one for one in first.evidence)


def test_sockets_of_start_up_are_no_network() -> None:
    """NCCL 2.4 names them first, and its adapters after them."""
    lines = [
        f"h{n}:1:2 [0] NCCL INFO {text}"
        for n in range(2)
        for text in (
            "NET/Socket : Using [0]ib0:10.0.0.1<0>",
            "NET/IB : Using [0]mlx5_0:1/IB ; OOB x",
        )
    ]
    assert list(read(lines).networks) == ["NET/IB"]
