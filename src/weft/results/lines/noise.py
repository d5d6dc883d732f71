"""What stands around tables in a log and is known to be none of the tools' own."""

import re

BULK_MARKS = (
    b" NCCL INFO ",
    b" NCCL WARN ",
    b" NCCL TRACE ",
    b" NCCL CALL ",
    b" UCX  ",
    b" no version information available",
)
"""Any line that holds one of these is thrown away before anything else is asked of it."""

NCCL_LOG = b" NCCL INFO "
FENCE = "-" * 74
"""What Open MPI prints before and after a message of its own."""

MAX_FENCED_LINES = 60
"""A longer message is none: what stands between is read as lines."""

_ENTRY = re.compile(rb"[A-Za-z][\w.-]{0,252}:\d{1,10}:\d{1,10} \[\d{1,4}\] NCCL INFO ")
_STARTS = re.compile(
    r"""\s*(?:
      \++[ ]\S                                   # bash -x
    | (?:srun|slurmstepd|salloc|sbatch|slurmd):[ ]
    | \[[\w.@-]{1,255}:\d{1,10}(?:[ ]?:\d{1,10})?\]         # Open MPI, PMIx, UCX: [host:pid]
    | \[(?:mpiexec|proxy|prterun|prted|prterun-)[:@-][^\]]{1,255}\]
    | \[\d{10}\.\d{1,9}\][ ]                     # UCX: [seconds since 1970]
    | \[\d{1,6},\d{1,6},\d{1,6}\](?:\[|:)             # Open MPI 1.x: [job,vpid,rank]
    | \[[\w.-]{1,255}\]\[\[\d{1,9},\d{1,9}\],\d{1,9}\]    # [host][[job,1],rank][file:line:function]
    | (?:\[\d{1,7}\][ ])?MPI[ ]startup\(\)
    | libfabric:\d
    | (?:Loading|Unloading)[ ](?:[\w.+-]+/[\w.+/-]+|requirement|module)
    | (?:Lmod[ ]|The[ ]following[ ]have[ ]been[ ]reloaded|Currently[ ]Loaded[ ]Module
       |Due[ ]to[ ]MODULEPATH[ ]changes|Inactive[ ]Modules|Activating[ ]Modules)
    | (?:WARNING|Warning):[ ](?:There|No|Open|Linux|a[ ]request|An[ ]invalid)
    | Warning:[ ]Permanently[ ]added[ ]
    | Conflicting[ ]CPU[ ]frequency
    | NCCL[ ]version[ ]
    | \#Using[ ][NR]CCL$
    | (?:real|user|sys)\t\d
    | Thread[ ]\d{1,6}[ ]started$
    )""",
    re.VERBOSE,
)
_HOLDS = (
    "CPU Frequency is not max",
    " NCCL INFO ",
    " NCCL WARN ",
    " NCCL ATTN ",
    " NCCL TRACE ",
    " UCX  ",
    "no version information available",
    "PMIX ERROR",
    "mca_base_component",
    "btl_openib",
    "btl_tcp",
    "OpenFabrics",
    "orte_base_help_aggregate",
    "help message",
    "orte-odls",
)


def is_noise(text: str) -> bool:
    """Whether a line (its prefixes gone) is known to be a log's, a loader's or a launcher's."""
    return _STARTS.match(text) is not None or any(mark in text for mark in _HOLDS)


def head_before_log(raw: bytes) -> bytes | None:
    """What a tool had begun to print when the NCCL log line of the same line came in between."""
    entry = _ENTRY.search(raw)
    if entry is None:
        return None
    head = raw[: entry.start()]
    return head if head and not head.isspace() else None
