"""Channels of logs: what was drawn is what is read, or the reader says what is missing."""

import random
import re
from itertools import product
from pathlib import Path

import pytest
from tests.unit.audit.channels.job_logs import DrawnJob, Hop

from weft.audit.channels.job import NcclJob
from weft.audit.channels.nccl_lines import read_lines
from weft.audit.channels.nccl_log import job_of_log
from weft.core.errors import InputError

DEVICES = ["mlx5_0:1", "mlx5_1:1"]


def drawn(seed: int) -> DrawnJob:
    """A job of random size, its hosts in random order."""
    draw = random.Random(seed)
    hosts = [f"n{number}" for number in draw.sample(range(100), draw.randint(2, 9))]
    n_channels = draw.choice([1, 2, 4, 6])
    nets = [(draw.randrange(2), draw.randrange(2)) for _ in range(n_channels)]
    return DrawnJob(hosts, draw.randint(1, 4), nets, DEVICES)


def written(folder: Path, text: str) -> Path:
    log = folder / "nccl.log"
    log.write_text(text)
    return log


def hops_of(job: NcclJob) -> list[Hop]:
    return sorted(
        (hop.channel, job.hosts[hop.src], hop.src_net, job.hosts[hop.dst], hop.dst_net)
        for hop in job.hops
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "told", [told for told in product((True, False), repeat=3) if told[0] or told[2]]
)
def test_rings_are_read_from_any_lines_that_tell_them(
    told: tuple[bool, bool, bool], seed: int, tmp_path: Path
) -> None:
    orders, trees, connected = told
    job = drawn(seed)
    text = job.text(orders=orders, trees=trees, connected=connected)
    found = job_of_log([written(tmp_path, text)])
    untold = "no line tells the number of channels" in " ".join(found.gaps)
    assert untold is not (orders or trees)
    assert len(found.gaps) == untold
    assert hops_of(found) == sorted(job.ring_hops)
    assert found.hosts == tuple(job.hosts)
    assert (found.n_ranks, found.n_channels) == (job.n_ranks, len(job.nets))
    assert set(found.devices[0].items()) == set(enumerate(DEVICES))


@pytest.mark.parametrize(
    "counted", ["16 coll channels, 16 p2p channels", "Trees [0] 1/-1/-1->0->-1 [15] 1/-1/-1->0->-1"]
)
def test_rings_of_channels_that_no_line_connects_are_unknown(counted: str, tmp_path: Path) -> None:
    lines = [
        "a:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0",
        "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/1",
        f"a:1:2 [0] NCCL INFO {counted}",
        "b:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0",
        "b:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/1",
        "b:1:2 [0] NCCL INFO Ring 00 : 0 -> 1 -> 0",
    ]
    found = job_of_log([written(tmp_path, "\n".join(lines))])
    assert found.n_channels == 16
    assert [gap.partition(":")[0] for gap in found.gaps] == ["a", "b"]
    assert all("goes on (the first is 1)" in gap and "15 channels" in gap for gap in found.gaps)


@pytest.mark.parametrize("seed", range(8))
def test_lines_of_ranks_may_be_mixed_and_in_many_files(seed: int, tmp_path: Path) -> None:
    job, draw = drawn(seed), random.Random(seed)
    files = [tmp_path / f"{at}.log" for at in range(3)]
    queues = [job.lines_of(rank) for rank in range(job.n_ranks)]
    texts: dict[Path, list[str]] = {file: [] for file in files}
    file_of = [draw.choice(files) for _ in queues]
    while live := [at for at, queue in enumerate(queues) if queue]:
        at = draw.choice(live)
        texts[file_of[at]].append(f"[1,{at}]<stdout>:{queues[at].pop(0)}")
    for file in files:
        file.write_text("\n".join(texts[file]))
    found = job_of_log(files)
    assert (hops_of(found), found.gaps) == (sorted(job.ring_hops), ())


@pytest.mark.parametrize("seed", range(40))
def test_a_truncated_log_has_no_wrong_hop_and_says_what_it_lacks(seed: int, tmp_path: Path) -> None:
    job, draw = drawn(seed), random.Random(seed)
    told = {name: draw.random() < 0.5 for name in ("orders", "trees", "connected")}
    text = job.text(**told)
    kept = text[: draw.randrange(len(text))]
    log = written(tmp_path, kept)
    if " via NET" not in kept:
        with pytest.raises(InputError, match=r"no channel|no line of NCCL|crosses a network"):
            job_of_log([log])
        return
    found = job_of_log([log])
    assert set(hops_of(found)) <= set(job.ring_hops)
    if len(found.hops) < len(job.ring_hops):
        assert found.gaps


@pytest.mark.parametrize("seed", range(20))
def test_trees_of_a_truncated_log_say_what_they_lack(seed: int, tmp_path: Path) -> None:
    job, draw = drawn(seed), random.Random(seed)
    lines = job.text().splitlines()
    # The first rank keeps its line.
    for rank in range(1, job.n_ranks):
        if draw.random() < 0.5:
            (tree,) = [line for line in job.lines_of(rank) if "NCCL INFO Trees" in line]
            lines.remove(tree)
    found = job_of_log([written(tmp_path, "\n".join(lines))], "tree")
    n_whole = 2 * len(job.nets) * (len(job.hosts) - 1)
    assert len(found.hops) <= n_whole
    if len(found.hops) < n_whole:
        assert found.gaps


def test_two_jobs_in_one_log_that_no_line_tells_apart_are_refused(tmp_path: Path) -> None:
    """NCCL before 2.14 prints no commId."""
    texts = [DrawnJob(hosts, 1, [(0, 0)], DEVICES).text() for hosts in (["a", "b"], ["c", "d"])]
    text = re.sub(r"commId 0x\w+", "", "\n".join(texts))
    assert "commId" not in text
    with pytest.raises(InputError, match="rank 0 of 2 ranks is on a and on c"):
        job_of_log([written(tmp_path, text)])


@pytest.mark.parametrize("seed", range(12))
def test_trees_have_both_directions_of_every_edge_between_hosts(seed: int, tmp_path: Path) -> None:
    job = drawn(seed)
    found = job_of_log([written(tmp_path, job.text())], "tree")
    host = [job.hosts[rank // job.n_gpus] for rank in range(job.n_ranks)]
    edges = []
    for channel, child, parent in job.tree_edges:
        edges += [(channel, host[child], host[parent]), (channel, host[parent], host[child])]
    assert sorted((c, a, b) for c, a, _, b, _ in hops_of(found)) == sorted(edges)
    assert found.gaps == ()


def test_ranks_of_other_communicators_are_left_out(tmp_path: Path) -> None:
    """A group of two hosts starts in each process first, with ranks of its own."""
    job = DrawnJob(["a", "b", "c"], 2, [(0, 0), (1, 1)], DEVICES)
    pair = DrawnJob(["b", "c"], 2, [(1, 0)], DEVICES, comm_id="0x77")
    lines = []
    for rank in range(job.n_ranks):
        other = rank - job.n_gpus
        lines += pair.lines_of(other) if other >= 0 else []
        lines += job.lines_of(rank)
    log = written(tmp_path, "\n".join(lines))
    found = job_of_log([log])
    assert (hops_of(found), found.gaps) == (sorted(job.ring_hops), ())
    assert "1 other communicator" in found.notes[0]
    small = job_of_log([log], communicator="0x77")
    assert (hops_of(small), small.gaps) == (sorted(pair.ring_hops), ())
    with pytest.raises(InputError, match=r"id 0x9\n  expected: 0x5ab1e, 0x77"):
        job_of_log([log], communicator="0x9")


def test_channels_that_connect_after_the_start_belong_to_their_process(tmp_path: Path) -> None:
    """From 2.22 on they connect as the first collective asks for them, in another thread."""
    job = DrawnJob(["a", "b"], 2, [(0, 0), (1, 1)], DEVICES)
    early, late = [], []
    for rank in range(job.n_ranks):
        for line in job.lines_of(rank, orders=False):
            if " via NET" in line or "Connected" in line:
                host, pid, tail = line.split(":", 2)
                late.append(f"{host}:{pid}:9{tail}")
            else:
                early.append(line)
    found = job_of_log([written(tmp_path, "\n".join([*early, *late]))])
    assert (hops_of(found), found.gaps) == (sorted(job.ring_hops), ())


def test_lines_of_old_versions_and_of_proxies(tmp_path: Path) -> None:
    lines = [
        "a:1:2 [0] NCCL INFO Channel 00 : 1[7000] -> 0[1000] [receive] via NET/IB/3/GDRDMA",
        "a:1:2 [0] NCCL INFO Channel 00/0 : 0[1000] -> 1[7000] [send] via NET/IBext_v8/1(4)/GDRDMA",
        "b:1:2 [0] NCCL INFO Ring 00 : 0 -> 1 [receive] via NET/IB/2",
        "2026-01-02 12:00:00 b:1:2 [0] NCCL INFO Ring 00 : 1 -> 0 [send] via NET/IB/5",
        "b:1:2 [0] NCCL INFO Channel 00/1 : 1[0] -> 0[0] [send] via NET/IB/7",
        "b:1:2 [0] NCCL INFO Ring 00 : 0 -> 1 -> 0",
        "1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/6",
    ]
    found = job_of_log([written(tmp_path, "\n".join(lines))])
    assert hops_of(found) == [(0, "a", 1, "b", 2), (0, "b", 5, "a", 3)]
    assert found.hosts == ("a", "b")
    (gap,) = found.gaps
    assert "there may be more than the 1 of this log" in gap


def test_devices_on_which_processes_differ_are_refused_where_a_hop_takes_one(
    tmp_path: Path,
) -> None:
    """Each process has adapters of its own: a number of the host is no device."""
    using = "[1] NCCL INFO NET/IB : Using [0]mlx5_"
    other = DrawnJob(["a", "b"], 2, [(1, 1)], DEVICES).text().replace(f"{using}0", f"{using}9")
    assert job_of_log([written(tmp_path, other)]).devices == ({1: "mlx5_1:1"},) * 2
    job = DrawnJob(["a", "b"], 2, [(0, 0)], DEVICES)
    text = job.text().replace(f"{using}0", f"{using}9")
    with pytest.raises(
        InputError, match="processes of a call different devices NET/0: mlx5_0:1, m"
    ):
        job_of_log([written(tmp_path, text)])
    merged = job.text().replace("[0]mlx5_0:1/IB", "[0]={mlx5_0:1/IB,mlx5_2:1/IB}")
    assert job_of_log([written(tmp_path, merged)]).devices == ({}, {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello\n", "no line of NCCL is in this file"),
        ("a:1:2 [0] NCCL INFO cudaDriverVersion 12020\n", "no channel is in this log"),
        (
            "a:1:2 [0] NCCL INFO Channel 00/02 :    0   1\n"
            "a:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/CUMEM\n",
            "crosses a network",
        ),
        (
            "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n",
            "over TCP",
        ),
    ],
)
def test_a_log_without_channels_over_adapters_is_refused(
    text: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=says):
        job_of_log([written(tmp_path, text)])


def test_a_log_without_trees_is_refused_for_trees(tmp_path: Path) -> None:
    job = DrawnJob(["a", "b"], 2, [(0, 0)], DEVICES)
    with pytest.raises(InputError, match="tells its trees"):
        job_of_log([written(tmp_path, job.text(trees=False))], "tree")


def test_one_rank_without_its_peer_is_told(tmp_path: Path) -> None:
    job = DrawnJob(["a", "b", "c"], 1, [(0, 0)], DEVICES)
    lines = [line for rank in (0, 1) for line in job.lines_of(rank)]
    found = job_of_log([written(tmp_path, "\n".join(lines))])
    assert hops_of(found) == [(0, "a", 0, "b", 0)]
    assert "no line of rank 2" in found.gaps
    assert any("[receive] end (the first: channel 0, rank 1 -> 2)" in gap for gap in found.gaps)


def test_the_last_tree_of_a_line_that_nccl_cut_off_is_not_read(tmp_path: Path) -> None:
    """Of 60 channels the line has room for some 50; the last parent may be 85 of 850."""
    job = DrawnJob([f"n{number}" for number in range(18)], 50, [(0, 0)] * 60, DEVICES)
    lines = []
    for line in job.lines_of(800) + job.lines_of(850):
        head, mark, text = line.partition("NCCL INFO ")
        lines.append(head + mark + text[: 1023 if text.startswith("Trees") else None])
    (found,) = [
        one
        for one in read_lines([written(tmp_path, "\n".join(lines))]).utterances
        if one.speaker.host == "n16"
    ]
    drawn = {(child, parent) for _, child, parent in job.tree_edges}
    told = {edge for edges in found.tree.values() for edge in edges}
    assert told
    assert told <= drawn
    assert len(found.tree) < 60


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_log_is_read_or_refused(seed: int, tmp_path: Path) -> None:
    job, draw = drawn(seed), random.Random(seed)
    text = bytearray(job.text(orders=draw.random() < 0.5, trees=draw.random() < 0.5).encode())
    for _ in range(draw.randint(1, 30)):
        at = draw.randrange(len(text))
        text[at : at + draw.randrange(40)] = draw.choice(
            [b"", b"9", b"-1", b"9999999", b"\n", b" -> ", b"\x1b[3", b"\xff", b"NCCL INFO "]
        )
    log = tmp_path / "nccl.log"
    log.write_bytes(text)
    for pattern in ("ring", "tree"):
        try:
            found = job_of_log([log], pattern)
        except InputError:
            continue
        assert all(0 <= hop.src < len(found.hosts) for hop in found.hops)
        assert len(found.devices) == len(found.hosts)
