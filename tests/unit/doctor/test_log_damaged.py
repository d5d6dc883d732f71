"""Damaged logs: what the engine makes of them is judged, shown and kept without a traceback."""

import json
import random

from tests.unit.doctor.nccl_log import LoggedJob

from weft.bench.logs.evidence import log_evidence
from weft.bench.logs.log_facts import log_facts_of_bytes
from weft.bench.logs.ranks import job_log
from weft.catalog.load import variable_lists
from weft.doctor.log.aspects import aspects
from weft.doctor.log.judge import judge
from weft.doctor.log.settings import judge_settings
from weft.doctor.readers.shell import read_script

N_INPUTS = 400
LINES = (
    *LoggedJob(n_nodes=2, tasks_per_node=2).lines(),
    *LoggedJob(network="Socket", direct=False, complete=False, tasks_per_node=1).lines(),
    "h:1:2 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.",
    "h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/RoCE; OOB eth0:1.1.1.1<0>",
    "h:1:2 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{0..1}",
    "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0",
    "h:1:2 [0] net.cc:626 NCCL WARN Error: network X not found.",
    "[1.2] [h:1:0] ucp_worker.c:1 UCX  INFO  ep_cfg[1]: tag(tcp/lo rc_mlx5/mlx5_0:1)",
    "[a:0:588 - comm.c:392] INFO [group#:0] tree_type:LLT group size:4 quota",
    "[h:0001] select: component ob1 selected",
    "libfabric:1:2::core:core:fi_fabric_():1819<info> Using tcp provider 2.1, path:x",
)


def damaged(rng: random.Random) -> bytes:
    """Some of the lines, with digits, bytes and ends of lines changed."""
    text = bytearray("\n".join(rng.choices(LINES, k=rng.randint(1, 30))).encode())
    for _ in range(rng.randint(0, 8)):
        at = rng.randrange(len(text))
        change = rng.randrange(4)
        if change == 0:
            text[at] = rng.randrange(256)
        elif change == 1:
            text[at:at] = b"9" * rng.choice((1, 5, 25, 6000))
        elif change == 2:
            del text[at : at + rng.randrange(40)]
        else:
            text[at:at] = rng.choice((b"-", b"\n", b"\x1b[2J", b" ", b"/", b"["))
        if not text:
            text = bytearray(b"\n")
    return bytes(text)


def test_damaged_logs_are_judged_and_shown() -> None:
    rng = random.Random(7)
    job = read_script("job.sh", "export NCCL_IB_TIMEOUT=22 NCCL_FOO=1 UCX_TLS=rc\n")
    n_findings = 0
    for _ in range(N_INPUTS):
        said = log_facts_of_bytes("x", damaged(rng))
        log = job_log(said)
        found = [*judge(log), *judge_settings(log, job, variable_lists())]
        record = [finding.to_record() for finding in found]
        json.dumps([record, [aspect.values for aspect in aspects(log)], log_evidence(said)])
        assert all(len(finding.sentence) < 2000 for finding in found)
        n_findings += len(found)
    assert n_findings > N_INPUTS
