"""The table of NCCL's example tuner plug-in (NCCL_TUNER_CONFIG_FILE).

SOURCE: NVIDIA/nccl, ext-tuner/example/README.md and plugin.c: ten fields with commas, both ends of
a size range included, the first row that matches holds, -1 for any. A row that does not match
leaves NCCL's choice. A line has at most 255 characters.
"""

from collections.abc import Sequence

from weft.study.tuning.ranges import RankRange
from weft.study.tuning.tuning_files import TunedCollective, TuningFiles, bytes_scale

TABLE = "nccl_tuner.conf"
_HEADING = (
    "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
    "regBuff"
)


def nccl_table(tuned: Sequence[TunedCollective]) -> TuningFiles:
    """A row a range of sizes and number of ranks that were measured: the table knows no ranges of
    ranks, so that numbers in between keep NCCL's choice."""
    lines = [_HEADING]
    for one in tuned:
        for ranks in one.ranges:
            lines += _rows(one, ranks)
    variables = {"NCCL_TUNER_PLUGIN": "libnccl-tuner-example.so", "NCCL_TUNER_CONFIG_FILE": TABLE}
    notes = (
        "NCCL takes a row only if its plug-in libnccl-tuner-example.so is built and found.",
        "A row holds for this number of ranks on any number of nodes.",
    )
    return TuningFiles({TABLE: "\n".join(lines) + "\n"}, variables, notes)


def _rows(one: TunedCollective, ranks: RankRange) -> list[str]:
    collective = one.arms.collective
    scale = bytes_scale(one, ranks)
    rows = []
    for sizes in ranks.chosen:
        algorithm = one.arms.algorithms[sizes.arm]
        name, protocol = algorithm.name.split("/")
        first, end = sizes.bytes_compared(scale)
        channels = algorithm.parameter("channels", -1)
        words = [collective, first, end - 1, name, protocol, channels]
        rows.append(",".join(map(str, [*words, -1, ranks.first, -1, -1])))
    return rows
