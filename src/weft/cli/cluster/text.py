"""A bring-up as text: a line a stage as it runs, then hosts by stages, then remedies."""

from collections.abc import Mapping
from typing import Any

from weft.cli.output import emit, table_text
from weft.cluster.bringup.model import Cluster, Outcome, StageState
from weft.cluster.bringup.run import BringupResult
from weft.cluster.hostfiles import written_hostfiles
from weft.cluster.local.layout import Layout, read_layout
from weft.cluster.local.start import has_layout
from weft.core.nodeset import fold
from weft.core.shell_line import quoted
from weft.core.words import counted

_SHORT = {
    StageState.RIGHT: "ok",
    StageState.MENDED: "mended",
    StageState.WOULD: "would",
    StageState.DOUBTFUL: "doubt",
    StageState.UNKNOWN: "unknown",
    StageState.FAILED: "FAILED",
    StageState.NOT_TRIED: "-",
}

_NAMED = (StageState.FAILED, StageState.DOUBTFUL, StageState.UNKNOWN)


def stage_line(stage: str, outcomes: Mapping[str, Outcome]) -> str:
    """'keys       4 mended' or 'reach      3 ok, 1 FAILED: node4'."""
    by_state: dict[StageState, list[str]] = {}
    for host, outcome in outcomes.items():
        by_state.setdefault(outcome.state, []).append(host)
    parts = []
    for state in StageState:
        hosts = by_state.get(state, [])
        if hosts and state is not StageState.NOT_TRIED:
            named = f": {fold(hosts)}" if state in _NAMED else ""
            parts.append(f"{len(hosts)} {_SHORT[state]}{named}")
    return f"{stage:<10} {', '.join(parts)}"


def up_text(cluster: Cluster, went: BringupResult) -> str:
    """The verdict, the hosts by stages, causes with remedies, and the next command."""
    good, n = went.good_hosts(), len(cluster.hosts)
    head = "UP  " if len(good) == n else "PART" if good else "DOWN"
    if went.would_mend():
        head = "WOULD bring up"
    elif head == "UP  " and went.is_unknown():
        head = "UNKNOWN"
    lines = [f"{head} {len(good)} of {counted(n, 'host')} of cluster '{cluster.name}'"]
    # Hosts on which all went alike stand in one row.
    alike: dict[tuple[str, ...], list[str]] = {}
    for host, of in went.outcomes.items():
        alike.setdefault(tuple(_SHORT[of[stage].state] for stage in went.stages), []).append(host)
    rows = [[fold(hosts), *states] for states, hosts in alike.items()]
    lines += ["", table_text(["hosts", *went.stages], rows), ""]
    lines += [
        f"{_SHORT[outcome.state]:<7} {hosts}  {stage}: {outcome.note}"
        + (f"\n        to mend: {outcome.remedy}" if outcome.remedy else "")
        for (stage, outcome), hosts in _unfinished(went)
    ]
    lines += _leaves_lines(_layout(cluster))
    if good:
        files = written_hostfiles(cluster.folder)
        lines += [f"{name:<18} {path}" for name, path in files.items()]
    if good and cluster.mend:
        lines.append(f"next: weft bench latency --cluster {quoted(cluster.name)}")
    return "\n".join(lines)


def _layout(cluster: Cluster) -> Layout | None:
    """Of a virtual cluster. Raises InputError for one that is damaged."""
    return read_layout(cluster.folder) if has_layout(cluster.folder) else None


def _leaves_lines(layout: Layout | None) -> list[str]:
    """Who is on which leaf; no line where all are on one switch."""
    if layout is None or not layout.leaves:
        return []
    of_leaf = " | ".join(fold(leaf) for leaf in _leaves(layout))
    return [f"{'leaves':<18} {of_leaf}, uplinks {layout.uplink or 'without a limit'}"]


def _leaves(layout: Layout) -> list[list[str]]:
    return [[host.name for host in of] for of in layout.leaves.values()]


def _unfinished(went: BringupResult) -> list[tuple[tuple[str, Outcome], str]]:
    found: dict[tuple[str, Outcome], list[str]] = {}
    for host, of in went.outcomes.items():
        for stage, outcome in of.items():
            if outcome.state in (*_NAMED, StageState.WOULD):
                found.setdefault((stage, outcome), []).append(host)
    return [(key, fold(hosts)) for key, hosts in found.items()]


def print_up(cluster: Cluster, went: BringupResult, format_: str) -> None:
    """Print a bring-up, in any format."""
    record = up_record(cluster, went)
    emit(format_, text=lambda: up_text(cluster, went), record=record)


def up_record(cluster: Cluster, went: BringupResult) -> dict[str, Any]:
    """The same as plain JSON values."""
    layout = _layout(cluster)
    return {
        "schema": "weft.cluster-up/1",
        "cluster": cluster.name,
        "folder": str(cluster.folder),
        "good": list(went.good_hosts()),
        "leaves": _leaves(layout) if layout else [],
        "uplink": layout.uplink if layout else None,
        "agreed": dict(cluster.agreed),
        "hostfiles": written_hostfiles(cluster.folder),
        "hosts": {
            host: {
                stage: {"state": o.state.value, "note": o.note, "remedy": o.remedy}
                for stage, o in of.items()
            }
            for host, of in went.outcomes.items()
        },
    }
