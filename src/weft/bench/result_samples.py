"""From result files to launches and samples: a table is a launch, a row a sample.

Tables of one test at one scale are repeats of one trial. The difference between two tests of one
arm (tool, memory, redop...) goes into the trial's benchmark name behind a dot:
`allreduce.in-place`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from weft.bench.metrics import OF_BLOCKS
from weft.bench.model import Launch, Pair, Sample, Trial
from weft.bench.result_scale import ContradictionError, Scale, StatedScale, scale_of, test_name
from weft.catalog.tools import NCCL_TOOLS
from weft.core.errors import InputError
from weft.results.model import ResultFile, Row, Table

UNNAMED = "unnamed"
"""Nodes that no file names are unnamed1, unnamed2 ..."""
NOT_ASPECTS = frozenset(
    {"validation", "channels", "pair", "pair_min", "pair_max", "hosts", "placement"}
)
"""Labels that are results of a row or have a place of their own."""
IN_PLACE = "in-place"
WHOLE_BUFFER = "whole-buffer"
"""In the name of a test whose sizes count all ranks' blocks, where weft's and OSU's count one: the
two must not meet at equal sizes."""
CONDITION_ASPECTS = ("op", "datatype", "directions", "transport", "algorithm", "protocol", "state")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file to import: the arm it belongs to and what was read. `name` is its name in raw/,
    `log` what libraries say in it (weft.bench.logs.evidence)."""

    name: str
    arm: Mapping[str, str]
    results: ResultFile
    log: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedLaunch:
    """A table as a launch, and its rows as samples."""

    launch: Launch
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """All of them, in order of appearance. `left_out` counts rows by why they hold no sample."""

    launches: tuple[ImportedLaunch, ...]
    remarks: tuple[str, ...]
    left_out: Mapping[str, int]

    @property
    def n_samples(self) -> int:
        """Rows that were kept."""
        return sum(len(one.samples) for one in self.launches)


def launches_of(files: Sequence[SourceFile], asked: StatedScale) -> Imported:
    """Launches and samples of these files.

    Raises InputError where the scale of a table is not known or contradicted, or no row is left.
    """
    left_out: dict[str, int] = defaultdict(int)
    unlike: list[InputError] = []
    found = [part for file in files for part in _parts_of(file, asked, left_out, unlike)]
    if not found:
        raise InputError(
            "no row with a figure in " + ", ".join(file.name for file in files),
            expected="a result file with at least one measured row",
        )
    if len(unlike) == len({id(part.table) for part in found}):
        raise unlike[0]
    _name_apart(found)
    return Imported(
        launches=_numbered(found),
        remarks=tuple(dict.fromkeys(part.scale.assumed for part in found if part.scale.assumed)),
        left_out=dict(left_out),
    )


@dataclass(slots=True)
class _Part:
    """Rows of one table that differ in size only. `aspects` may tell it from others of its arm."""

    file: SourceFile
    table: Table
    scale: Scale
    rows: list[Row]
    aspects: dict[str, str]
    placement: str
    name: str = ""

    @property
    def benchmark(self) -> str:
        """Name without what tells it apart from others of its arm."""
        name = self.table.benchmark or slug(test_name(self.table))
        counts_all = self.table.tool in NCCL_TOOLS and name in OF_BLOCKS
        return f"{name}.{WHOLE_BUFFER}" if counts_all else name

    @property
    def arm(self) -> tuple[tuple[str, str], ...]:
        return tuple(self.file.arm.items())


def slug(text: str) -> str:
    """'PingPong (x)' -> 'pingpong-x': what a study document takes for a name."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-_")
    return plain or "unnamed"


def kind_of(benchmark: str) -> str:
    """The catalogue's kind of a benchmark, "collective" where it is not in there."""
    from weft.catalog.load import benchmark as benchmark_named
    from weft.catalog.load import readable_benchmark_names

    known = benchmark in readable_benchmark_names()
    return benchmark_named(benchmark).kind if known else "collective"


def _parts_of(
    file: SourceFile, asked: StatedScale, left_out: dict[str, int], unlike: list[InputError]
) -> Iterable[_Part]:
    for table in file.results.tables:
        rows = [row for row in table.rows if row.metrics]
        if len(rows) < len(table.rows):
            left_out[f"{test_name(table)}: no figure in the row"] += len(table.rows) - len(rows)
        if not rows:
            continue
        scale = _scale(table, rows, asked, file.results.path, unlike)
        labels = _telling_labels(rows)
        groups: dict[tuple[bool, tuple[tuple[str, str], ...]], list[Row]] = {}
        for row in rows:
            values = tuple((label, row.labels.get(label, "")) for label in labels)
            in_place = row.labels.get("placement") == IN_PLACE
            groups.setdefault((in_place, values), []).append(row)
        for (in_place, values), group in groups.items():
            aspects = {**_aspects(table), **dict(values)}
            yield _Part(file, table, scale, group, aspects, IN_PLACE if in_place else "")


def _scale(
    table: Table, rows: Sequence[Row], asked: StatedScale, path: str, unlike: list[InputError]
) -> Scale:
    """The scale in the file, where the user's does not fit one of its tables."""
    ends = _ends_of(rows)
    if ends:
        return Scale(len({end for pair in ends for end in pair}), 1)
    kind = kind_of(table.benchmark)
    try:
        return scale_of(table, kind, asked, path)
    except ContradictionError as error:
        unlike.append(error)
        believed = f"{error.what}: the file is believed"
    for part in (StatedScale(asked.n_nodes), StatedScale(None, asked.tasks_per_node)):
        with suppress(InputError):
            found = scale_of(table, kind, part, path)
            return Scale(found.n_nodes, found.tasks_per_node, believed)
    found = scale_of(table, kind, StatedScale(), path)
    return Scale(found.n_nodes, found.tasks_per_node, believed)


def _ends_of(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The ends of each row, named alike in all of them; [] for rows that are no pairs."""
    named = all(len(row.labels.get("hosts", "").split()) == 2 for row in rows)
    ends = [endpoints_of(row, named=named) for row in rows]
    return ends if any(ends) else []


def endpoints_of(row: Row, *, named: bool = True) -> tuple[str, ...]:
    """The two ends of a pair's row, or () where it has none: `hosts` 'n1 n2' where all rows of the
    table are `named`, else `pair` 'n1,n2', 'n1 - n2', or '0-1' for ranks."""
    hosts = row.labels.get("hosts", "").split()
    if named and len(hosts) == 2:
        return (hosts[0], hosts[1])
    pair = row.labels.get("pair", "")
    ranks = re.fullmatch(r"(\d+)-(\d+)", pair)
    if ranks:
        return (f"rank{ranks.group(1)}", f"rank{ranks.group(2)}")
    ends = [end for end in re.split(r"[,\s]+|<?->", pair) if end.strip("-")]
    return (ends[0], ends[1]) if len(ends) == 2 else ()


def _telling_labels(rows: Sequence[Row]) -> list[str]:
    """Labels of which rows of one size have different values."""
    seen: dict[tuple[str, int | None], set[str]] = defaultdict(set)
    for row in rows:
        for label, value in row.labels.items():
            if label not in NOT_ASPECTS:
                seen[label, row.size_bytes].add(value)
    return sorted({label for (label, _), values in seen.items() if len(values) > 1})


def _aspects(table: Table) -> dict[str, str]:
    conditions = {
        name: table.conditions[name] for name in CONDITION_ASPECTS if name in table.conditions
    }
    return {"test": test_name(table), "memory": table.memory, **conditions}


def _name_apart(parts: Sequence[_Part]) -> None:
    """Put into the names of a benchmark's parts what differs inside any arm; what differs between
    arms only is the arm's own doing."""
    by_benchmark: dict[str, list[_Part]] = defaultdict(list)
    for part in parts:
        by_benchmark[part.benchmark].append(part)
    for benchmark, group in by_benchmark.items():
        values: dict[tuple[Any, str], set[str]] = defaultdict(set)
        names = list(dict.fromkeys(name for part in group for name in part.aspects))
        for part in group:
            for name in names:
                values[part.arm, name].add(part.aspects.get(name, ""))
        telling = [
            name for name in names if any(len(v) > 1 for (_, n), v in values.items() if n == name)
        ]
        for part in group:
            words = [_with_name(name, part.aspects.get(name, "")) for name in telling]
            part.name = ".".join((benchmark, *(slug(t) for t in (*words, part.placement) if t)))


def _with_name(name: str, value: str) -> str:
    """'group-1' for a value without letters."""
    return value if not value or any(c.isalpha() for c in value) else f"{name}-{value}"


def _numbered(parts: Sequence[_Part]) -> tuple[ImportedLaunch, ...]:
    """Trials by arm, name and scale; repeats in order of appearance."""
    groups: dict[tuple[Any, ...], list[_Part]] = {}
    for part in parts:
        key = (part.name, part.scale.n_nodes, part.scale.tasks_per_node, part.arm)
        groups.setdefault(key, []).append(part)
    arms = list(dict.fromkeys(part.arm for part in parts))
    launches: list[ImportedLaunch] = []
    for number, group in enumerate(groups.values()):
        trial = _trial(f"t{number:03d}-{group[0].name}", group)
        for repeat, part in enumerate(group):
            launch = Launch(trial, repeat, order=len(launches), block=arms.index(part.arm))
            launches.append(ImportedLaunch(launch, tuple(_samples(part, launch))))
    return tuple(launches)


def _trial(trial_id: str, group: Sequence[_Part]) -> Trial:
    first = group[0]
    sizes = sorted({row.size_bytes or 0 for part in group for row in part.rows})
    return Trial(
        id=trial_id,
        benchmark=first.name,
        sizes_bytes=tuple(sizes),
        nodes=_nodes(group),
        tasks_per_node=first.scale.tasks_per_node,
        arm=dict(first.file.arm),
        options=dict(first.table.conditions),
    )


def _nodes(group: Sequence[_Part]) -> tuple[str, ...]:
    """The hosts where all files name the same ones, and as many as took part."""
    n_nodes = group[0].scale.n_nodes
    named = {tuple(dict.fromkeys(part.table.hosts)) for part in group}
    hosts = named.pop() if len(named) == 1 else ()
    if not hosts:
        ends = {end for part in group for pair in _ends_of(part.rows) for end in pair}
        hosts = tuple(sorted(ends))
    if len(hosts) == n_nodes:
        return hosts
    return tuple(f"{UNNAMED}{number}" for number in range(1, n_nodes + 1))


def _samples(part: _Part, launch: Launch) -> Iterable[Sample]:
    pairs = _ends_of(part.rows) or [()] * len(part.rows)
    for number, (row, ends) in enumerate(zip(part.rows, pairs, strict=True)):
        yield Sample(
            trial=launch.trial.id,
            repeat=launch.repeat,
            benchmark=launch.trial.benchmark,
            size_bytes=row.size_bytes or 0,
            metrics=dict(row.metrics),
            iterations=int(row.metrics.get("iterations", 0)),
            started_unix_s=0.0,
            flags=("invalid_data",) if is_invalid(row) else (),
            pair=Pair(ends[0], ends[1], 0, 1) if ends else None,
            # Of pairs, the first carries what holds for all.
            evidence=_evidence(part, row, part.file.log if number == 0 or not ends else {}),
        )


def is_invalid(row: Row) -> bool:
    """Whether the tool found wrong data."""
    failed = row.labels.get("validation", "").lower().startswith("fail")
    return failed or row.metrics.get("n_wrong", 0) > 0


def _evidence(part: _Part, row: Row, log: Mapping[str, Any]) -> dict[str, Any]:
    """Where the row stands, and what it says that has no place in a sample."""
    table = part.table
    evidence = {
        "file": part.file.name,
        "line": row.line,
        "tool": f"{table.tool} {table.version}".strip(),
        "test": test_name(table),
        "memory": table.memory,
        "labels": dict(row.labels),
        "other": dict(row.other),
        "log": dict(log),
    }
    return {key: value for key, value in evidence.items() if value}
