"""The table is read as the documentation of NCCL's example plug-in says."""

from tests.unit.study.tuning.tunings import Chosen, tuned

from weft.study.tuning.algorithm import TunedAlgorithm
from weft.study.tuning.nccl_table import TABLE, nccl_table

ALGORITHMS = {
    "ring": TunedAlgorithm("ring/simple"),
    "tree": TunedAlgorithm("tree/ll128", (("channels", 8),)),
}
CHOSEN: Chosen = {
    (8, 1024): "tree",
    (8, 65536): "",
    (8, 1 << 20): "ring",
    (8, 1 << 22): "ring",
    (16, 1024): "tree",
}
FIELDS = (
    *("collective_type", "min_bytes", "max_bytes", "algorithm", "protocol", "channels"),
    *("nNodes", "nRanks", "numPipeOps", "regBuff"),
)
ALGORITHM_WORDS = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")
PROTOCOL_WORDS = ("ll", "ll128", "simple")


def read(text: str) -> list[dict[str, str]]:
    """SOURCE: NVIDIA/nccl, ext-tuner/example/README.md: eight to ten fields, '#' for comments."""
    rows = []
    for line in text.splitlines():
        assert len(line) < 256, "the plug-in's buffer"
        if line and not line.startswith("#"):
            row = dict(zip(FIELDS, line.split(","), strict=True))
            assert row["algorithm"] in ALGORITHM_WORDS
            assert row["protocol"] in PROTOCOL_WORDS
            rows.append(row)
    return rows


def taken(rows: list[dict[str, str]], collective: str, n_ranks: int, n_bytes: int) -> str:
    """The first row that matches a call on any number of nodes; "" where none does."""
    for row in rows:
        in_range = int(row["min_bytes"]) <= n_bytes <= int(row["max_bytes"])
        fits = row["nNodes"] == "-1" and row["nRanks"] in ("-1", str(n_ranks))
        if row["collective_type"] == collective and in_range and fits:
            return f"{row['algorithm']}/{row['protocol']}/{row['channels']}"
    return ""


def test_each_call_takes_what_was_chosen_on_its_number_of_ranks() -> None:
    one = tuned("allreduce", "allreduce", ALGORITHMS, CHOSEN)
    rows = read(nccl_table([one]).texts[TABLE])
    tree, ring = "tree/ll128/8", "ring/simple/-1"
    expected = {
        (8, 1023): "",
        (8, 1024): tree,
        (8, 65535): tree,
        (8, 65536): "",
        (8, 1 << 20): ring,
        (8, 1 << 21): ring,
        (8, 1 << 22): ring,
        (8, (1 << 22) + 1): "",
        (12, 1024): "",
        (16, 1024): tree,
        (16, 1025): "",
    }
    assert {call: taken(rows, "allreduce", *call) for call in expected} == expected
    assert taken(rows, "broadcast", 8, 1024) == ""


def test_an_allgather_counts_the_blocks_of_all_ranks() -> None:
    one = tuned("allgather", "allgather", ALGORITHMS, {(8, 1024): "ring"})
    rows = read(nccl_table([one]).texts[TABLE])
    assert taken(rows, "allgather", 8, 8 * 1024) == "ring/simple/-1"
    assert taken(rows, "allgather", 8, 1024) == ""
