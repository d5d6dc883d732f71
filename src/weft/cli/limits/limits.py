"""Every limit on what a user names: the table that `weft --limits` and the reference print."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.bench.live.kernel_argv import MAX_MESSAGE_BYTES
from weft.check.schedule.rounds_file import MOST_ROUNDS_BYTES
from weft.check.schedule.schedule import MOST_PAIRS
from weft.cli.options import GPU_COUNT, NODE_COUNT
from weft.core import jsonl
from weft.core.documents.document_text import MOST_DOCUMENT_BYTES, MOST_JSON_BYTES
from weft.core.nodeset import MOST_NODES
from weft.core.process import MAX_OUTPUT_BYTES
from weft.core.units import DEEPEST, LARGEST_FIGURE, LARGEST_WHOLE, format_size
from weft.doctor import libnccl
from weft.doctor.container.image import layer_files, layer_stream, layers
from weft.doctor.container.image.squashfs import inodes
from weft.doctor.container.launch import cdi, oci_hook
from weft.doctor.container.loader import closure
from weft.doctor.log import prediction
from weft.doctor.readers import file as settings_file
from weft.doctor.topo import xml
from weft.doctor.topo.source import facts
from weft.doctor.topo.source import file as machine_file
from weft.judge.files import MOST_FILES
from weft.judge.size_limit import MOST_ROWS
from weft.launch.hostfile import MOST_HOSTFILE_BYTES
from weft.results.result_file import MOST_RESULT_BYTES, MOST_UNPACKED_BYTES
from weft.study.import_run import MOST_IMPORTED_BYTES, MOST_IMPORTED_ROWS
from weft.study.plan.plan import MAX_LAUNCHES
from weft.study.tuning import mpich_selection
from weft.topology.subnet.traffic import MOST_PAIRS_BYTES
from weft.trace import rank_trace


@dataclass(frozen=True, slots=True)
class Limit:
    """What is counted, the most that weft takes, and the verbs and options that refuse more."""

    of: str
    most: str
    where: str


def _size(n_bytes: int) -> str:
    return format_size(n_bytes)


def _count(number: int) -> str:
    return f"{number:,}"


_EVERY = "every verb that reads one"
_ROWS: tuple[tuple[str, Any, Callable[[Any], str], str], ...] = (
    ("nodes of a node set", MOST_NODES, _count, "--hosts, --only, Slurm's lists, import"),
    ("nodes of a twin or a prediction", NODE_COUNT.max or 0, _count, "--nodes, --job-nodes"),
    ("GPUs of a prediction", GPU_COUNT.max or 0, _count, "expect --gpus"),
    ("launches of a study", MAX_LAUNCHES, _count, "study plan, study run, bench"),
    ("pairs of a check", MOST_PAIRS, _count, "check --schedule"),
    ("a message", MAX_MESSAGE_BYTES, _size, "bench, check and study on real hosts"),
    ("a document in TOML", MOST_DOCUMENT_BYTES, _size, "platform, study, recipe, run.toml"),
    ("a document in JSON", MOST_JSON_BYTES, _size, "--fabric, fabric.json, marks.json"),
    ("levels of nesting, parts of a key", DEEPEST, _count, _EVERY),
    ("a whole number of a document", LARGEST_WHOLE, str, _EVERY),
    ("a fraction; the least is its inverse", LARGEST_FIGURE, "{:g}".format, "platform, study"),
    ("a file of records of a run", jsonl.MOST_BYTES, _size, "report, compare, plan.jsonl, samples"),
    ("a result file", MOST_RESULT_BYTES, _size, "judge, platform fit"),
    ("a packed result file, unpacked", MOST_UNPACKED_BYTES, _size, "judge, import, platform fit"),
    ("rows of a file that are judged", MOST_ROWS, _count, "judge: the extremes of more"),
    ("files below a folder", MOST_FILES, _count, "judge"),
    ("files of an import together", MOST_IMPORTED_BYTES, _size, "import"),
    ("rows of an import together", MOST_IMPORTED_ROWS, _count, "import"),
    ("a file of hosts", MOST_HOSTFILE_BYTES, _size, "--hostfile"),
    ("a file of rounds", MOST_ROUNDS_BYTES, _size, "check --schedule"),
    ("the trace of a rank", rank_trace.MOST_BYTES, _size, "replay, record"),
    ("a file of pairs", MOST_PAIRS_BYTES, _size, "fabric show --load pairs:FILE"),
    (
        "a script, manifest or nccl.conf",
        settings_file.MOST_BYTES,
        _size,
        "doctor env, recipe --diff",
    ),
    ("variables or launches of a script", settings_file.MOST_SETTINGS, _count, "doctor env"),
    (
        "a libnccl.so",
        libnccl.MOST_BYTES,
        _size,
        "doctor env --libnccl, doctor nccl-plan, expect --libnccl",
    ),
    (
        "read-only data of a libnccl.so",
        libnccl.MOST_DATA_BYTES,
        _size,
        "doctor env --libnccl, doctor nccl-plan, expect --libnccl",
    ),
    ("a library of MPICH", mpich_selection.MOST_LIBRARY_BYTES, _size, "recipe --library"),
    ("a topology file", xml.MOST_BYTES, _size, "doctor topo"),
    ("output of lspci or lstopo", machine_file.MOST_BYTES, _size, "doctor topo --against"),
    ("devices of a machine", facts.MOST_DEVICES, _count, "doctor topo --against"),
    ("a CDI specification", cdi.MOST_BYTES, _size, "doctor container --cdi"),
    ("an OCI hook", oci_hook.MOST_BYTES, _size, "doctor container --hook"),
    ("members of an image's layers", layers.MOST_MEMBERS, _count, "doctor container"),
    ("folders, links, libraries in layers", layers.MOST_ENTRIES, _count, "doctor container"),
    ("a layer of an image, unpacked", layer_stream.MOST_LAYER_BYTES, _size, "doctor container"),
    ("a library in a packed layer", layer_files.MOST_FILE_BYTES, _size, "doctor container"),
    ("libraries unpacked of an image", layer_files.MOST_KEPT_BYTES, _size, "doctor container"),
    ("entries of a folder in squashfs", inodes.MOST_FOLDER_ENTRIES, _count, "doctor container"),
    ("libraries of a process", closure.MOST_LOADED, _count, "doctor container"),
    ("paths tried for them", closure.MOST_TRIED, _count, "doctor container"),
    ("predicted lines of a log", prediction.MOST_BYTES, _size, "doctor log --predicted"),
    ("output of a program on a host", MAX_OUTPUT_BYTES, _size, "bench, check, study, cluster"),
)

ENGINE_ROWS: tuple[tuple[str, int, Callable[[int], str], str, str], ...] = (
    ("a text file of a fabric's tools", 512 << 20, _size, "fabric", "MAX_TEXT_BYTES"),
    ("a dump of forwarding tables", 16 << 30, _size, "fabric", "MAX_TABLE_BYTES"),
    ("output of a host's tools", 64 << 20, _size, "fabric", "MAX_HOST_BYTES"),
    ("a line of a fabric's files", 1 << 20, _size, "fabric", "MAX_LINE_BYTES"),
    ("ports of a fabric document", 1 << 24, _count, "--fabric, scenarios", "MAX_PORTS"),
    ("entries of all tables", 1 << 32, _count, "--fabric, scenarios", "MAX_TABLE_ENTRIES"),
    ("routes from switches to leaves", 1 << 27, _count, "--fabric, scenarios", "MAX_LEAF_ENTRIES"),
    ("cables of a generated fabric", 2_000_000, _count, "--twin, scenarios", "MAX_LINKS"),
    ("ranks of a simulation", 1 << 22, _count, "--twin, scenarios", "MAX_RANKS"),
    ("a schedule in GOAL or MSCCL", 1 << 28, _size, "scenarios", "MAX_SCHEDULE_BYTES"),
    ("library logs", 64 << 30, _size, "doctor log", "MAX_BYTES"),
)
"""Those of the engine, each with its name there: tests hold them equal."""

LIMITS = (
    *(Limit(of, written(most), where) for of, most, written, where in _ROWS),
    *(Limit(of, written(most), where) for of, most, written, where, _ in ENGINE_ROWS),
)
"""In the order of the page: machines and plans, documents, results, other files, the engine."""


def limits_text() -> str:
    """The table for a terminal."""
    from weft.cli.output import table_text

    rows = [[limit.of, limit.most, limit.where] for limit in LIMITS]
    return table_text(["limit of", "most", "refused by"], rows, left=3)
