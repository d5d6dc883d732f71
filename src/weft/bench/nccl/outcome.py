"""What became of one launch of nccl-tests: its figures, or how far it came and why it ended."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from weft.bench.live.failure import blame, exit_text
from weft.bench.model import State
from weft.bench.nccl.program import NcclGroup, NcclTests
from weft.core.errors import InputError
from weft.core.process import CommandEnd, Ending
from weft.results.model import Row, Table
from weft.results.result_file import read_results_text

NCCL = "nccl"
"""The key of an outcome in a sample's evidence."""


class LaunchStage(StrEnum):
    """How far a launch came, by the lines that it printed."""

    NOTHING = "printed nothing"
    STARTED = "printed no line of nccl-tests"
    INIT = "stopped while NCCL was starting"
    RUNNING = "stopped before all sizes were measured"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class NcclOutcome:
    """`busbw_gb_s` by size in bytes, the out-of-place figure (GB/s, 1e9). `n_wrong`: elements that
    were wrong, None where nothing was checked. `tool_version` is that of nccl-tests, `version`
    that of the library, "" where not printed; `adapters` are those that NCCL's log lists. Of a
    failure: `reason` is one clause, `blamed` the host that the launcher or the program names;
    `is_missing`: it has no such program, or no pod started; `remedy` is the next step, "" where
    that is to install the program; `is_skipped`: the launch was not started, because a host had
    failed before."""

    group: NcclGroup
    state: State
    stage: LaunchStage
    busbw_gb_s: Mapping[int, float] = field(default_factory=dict)
    n_wrong: int | None = None
    tool_version: str = ""
    version: str = ""
    reason: str = ""
    blamed: str | None = None
    adapters: tuple[str, ...] = ()
    is_missing: bool = False
    is_skipped: bool = False
    remedy: str = ""

    def evidence(self, of: str) -> dict[str, Any]:
        """The outcome as plain JSON values; `of`: the pass that it belongs to."""
        record: dict[str, Any] = {
            "pass": of,
            "hosts": list(self.group.hosts),
            "adapter": self.group.adapter,
            "stage": self.stage.value,
            "n_wrong": self.n_wrong,
            "tool_version": self.tool_version,
            "version": self.version,
            "blamed": self.blamed,
            "adapters": list(self.adapters) or None,
            "missing": self.is_missing or None,
            "skipped": self.is_skipped or None,
            "remedy": self.remedy,
        }
        return {NCCL: {key: value for key, value in record.items() if value not in (None, "")}}


_STAGES = (
    (LaunchStage.RUNNING, re.compile(r"^#?\s*size\s+count\s+type\s", re.MULTILINE)),
    (LaunchStage.INIT, re.compile(r"^#?\s*(?:nThread \d|Using devices|Rank\s+\d+ )", re.MULTILINE)),
)
"""What stands above the rows; nccl-tests prints the column titles once NCCL is up.

SOURCE: NVIDIA/nccl-tests, src/common.cu, run().
"""
_FAILURE = re.compile(
    r"^(?:\[[^\]]*\]<?\w*>?:?\s*)?(?P<host>[\w.-]+): Test (?P<what>CUDA|NCCL|HIP|RCCL) failure \S+ "
    r"'(?P<text>.{0,120})'",
    re.MULTILINE,
)
"""SOURCE: NVIDIA/nccl-tests, src/common.h, CUDACHECK and NCCLCHECK."""
_REMOTE = ("remote process", "network error", "unhandled system error")
"""Messages of a rank whose partner failed: they name the host that noticed, not the cause."""
_NO_PROGRAM = re.compile(
    r"(?:execvp error on file|execve\(\)|unable to find the specified executable|"
    r"could not (?:find|access) (?:an|or execute an)? ?executable|command not found|"
    r"attempted to invoke a command that was not found|executable file [^\n]*not found|"
    r"Executable: )[^\n]*"
)
_NO_LIBRARY = re.compile(r"error while loading shared libraries: (\S+):")
_AT = (
    re.compile(r"\[proxy:\d+(?::\d+)?@([\w.-]+)\][^\n]*execvp error"),
    re.compile(r"^\s*Node:\s+([\w.-]+)", re.MULTILINE),
    re.compile(r"srun: error: ([\w.-]+): task"),
)
_USING = re.compile(r"NET/IB : Using ((?:\[\d{1,3}\][\w.:/-]{1,60} ?){1,64})")
_DEVICE = re.compile(r"\[\d{1,3}\]([\w.-]+:\d{1,3})")
"""SOURCE: NVIDIA/nccl, src/transport/net_ib.cc: [index]device:port/link layer."""
_VERSION = re.compile(r"\b[NR]CCL version[ :]+v?(\d+\.\d+(?:\.\d+)?)")


def outcome_of(
    tests: NcclTests, group: NcclGroup, ended: CommandEnd, texts: tuple[str, str], limit_s: float
) -> NcclOutcome:
    """The outcome of a launch whose two streams, output and errors, hold these texts."""
    out, err = texts
    table = _table(out)
    stage = _stage(out, table)
    known = NcclOutcome(group, State.OK, stage, version=_library_version(f"{out}\n{err}", table))
    known = replace(known, adapters=_adapters(out))
    if table is not None:
        known = replace(known, tool_version=table.version, n_wrong=_n_wrong(table))
    if ended.ending is Ending.TIMED_OUT:
        return replace(known, state=State.HUNG, reason=_hung(stage, limit_s))
    if ended.ending is Ending.STALLED:
        return replace(known, state=State.FAILED, reason=_STALLED.format(stage=stage))
    if ended.ending is not Ending.EXITED:
        return replace(known, state=State.FAILED, reason="wrote too much and was ended")
    if table is not None and table.conditions.get("separate_runs"):
        n_runs = table.conditions["separate_runs"]
        return replace(known, state=State.FAILED, reason=_APART.format(n=n_runs, tool=tests.tool))
    figures = {} if table is None else _busbw(table.rows)
    # A wrong result ends nccl-tests with an exit code of its own; its figures stand.
    if figures and (ended.exit_code == 0 or known.n_wrong):
        return replace(known, stage=LaunchStage.ENDED, busbw_gb_s=figures)
    return _failed(tests, known, ended, f"{out}\n{err}")


_STALLED = "lost a rank, and the containers of the others went on until weft ended them ({stage})"
_APART = (
    "started {n} separate runs instead of one: this {tool} was built without MPI, or for another"
    " MPI than its launcher"
)


def _failed(tests: NcclTests, known: NcclOutcome, ended: CommandEnd, text: str) -> NcclOutcome:
    group, failed = known.group, replace(known, state=State.FAILED)
    dead = blame(text, ())
    host = dead.host or (group.hosts[0] if len(group.hosts) == 1 else None)
    if known.stage in (LaunchStage.NOTHING, LaunchStage.STARTED) and _lacks(tests, text):
        host = next((m[1] for p in _AT if (m := p.search(text)) and m[1]), host)
        reason = f"{tests.path} is missing or cannot be executed"
        return replace(failed, reason=reason, blamed=host, is_missing=True)
    library = _NO_LIBRARY.search(text)
    if library is not None:
        reason = f"{tests.test} does not find {library[1]}"
        return replace(failed, reason=reason, blamed=host, is_missing=True)
    said = [m for m in _FAILURE.finditer(text) if not any(s in m["text"] for s in _REMOTE)]
    if said:
        first = said[0]
        reason = f"{first['what']} failure on {first['host']}: '{first['text'].strip(' /')}'"
        return replace(failed, reason=reason, blamed=first["host"])
    if ended.exit_code == 0:
        reason = f"ended with exit code 0 and {known.stage.value}"
        return replace(failed, reason=reason)
    how = dead.how or exit_text(ended.exit_code)
    return replace(failed, reason=f"{how} ({known.stage.value})", blamed=host)


def _lacks(tests: NcclTests, text: str) -> bool:
    """Whether a launcher says that the program is missing; a shell may miss other commands."""
    said = (match[0] for match in _NO_PROGRAM.finditer(text))
    lines = text.splitlines()
    return any(
        "command not found" not in one or any(one in line and tests.test in line for line in lines)
        for one in said
    )


def _hung(stage: LaunchStage, limit_s: float) -> str:
    return f"did not end in {limit_s:g} s ({stage.value})"


def _table(out: str) -> Table | None:
    """The first table of nccl-tests or rccl-tests that a stream holds."""
    try:
        found = read_results_text(out.encode(), "output")
    except InputError:
        return None
    return next((one for one in found.tables if one.tool in ("nccl-tests", "rccl-tests")), None)


def _stage(out: str, table: Table | None) -> LaunchStage:
    if table is not None and table.rows:
        return LaunchStage.RUNNING
    for stage, sign in _STAGES:
        if sign.search(out) is not None:
            return stage
    return LaunchStage.STARTED if out.strip() else LaunchStage.NOTHING


def _busbw(rows: tuple[Row, ...]) -> dict[int, float]:
    """By size the bus bandwidth out of place, in place where a test has no other."""
    found: dict[int, float] = {}
    for row in rows:
        value = row.metrics.get("busbw_gb_s", 0.0)
        if row.size_bytes is None or value <= 0:
            continue
        if row.labels.get("placement") != "in-place" or row.size_bytes not in found:
            found[row.size_bytes] = value
    return found


def _n_wrong(table: Table) -> int | None:
    """What the rows count; one at least where the line below them says that the check failed."""
    counts = [row.metrics["n_wrong"] for row in table.rows if "n_wrong" in row.metrics]
    n = int(sum(counts)) if counts else None
    return max(n or 0, 1) if "FAILED" in table.conditions.get("out_of_bounds", "") else n


def _adapters(out: str) -> tuple[str, ...]:
    """The devices of the first rank that lists them; each rank of a healthy pair lists its own."""
    match = _USING.search(out)
    return () if match is None else tuple(_DEVICE.findall(match[1]))


def _library_version(text: str, table: Table | None) -> str:
    match = _VERSION.search(text)
    if match is not None:
        return match[1]
    return "" if table is None else table.conditions.get("nccl_version", "")
