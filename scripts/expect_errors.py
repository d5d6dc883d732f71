"""Answers of `weft expect` and published values, into docs/reference/expect.md (`--write`)."""

import statistics
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.catalog.load import platform, platform_names
from weft.catalog.machine.platform import PublishedTable
from weft.core.units import format_size
from weft.expect.model import Conditions, Expectation, Memory
from weft.expect.prediction import predict

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "tests/fixtures/expect/published.toml"
PAGE = ROOT / "docs/reference/expect.md"
BEGIN, END = "<!-- errors: begin -->", "<!-- errors: end -->"


def published_rows() -> list[dict[str, Any]]:
    """The published results of NCCL."""
    rows: list[dict[str, Any]] = tomllib.loads(PUBLISHED.read_text("utf-8"))["rows"]
    return rows


def expected(row: dict[str, Any], algorithm: str | None = None) -> Expectation:
    """What the model says under the conditions of a row; by `algorithm` where that is given."""
    conditions = Conditions(
        benchmark=row.get("benchmark", "allreduce"),
        size_bytes=row["size_bytes"],
        n_nodes=row["n_nodes"],
        tasks_per_node=row["tasks_per_node"],
        memory="gpu",
        library="nccl",
        library_version=row.get("nccl_version", ""),
        algorithm=row.get("algorithm", "") if algorithm is None else algorithm,
        transport=row.get("transport", ""),
    )
    return predict(platform(row["platform"]), conditions)


def table_errors(name: str) -> list[tuple[str, int, float, float, int]]:
    """(table, rows, median error, largest error, rows inside the interval) of each of a platform.

    A table printed in a platform that is not its own says nothing of that platform.
    """
    document = platform(name)
    found = []
    for table in document.published:
        base = _conditions(name, table)
        if base is None:
            continue
        pairs = [
            (predict(document, replace(base, size_bytes=size)), value)
            for size, value in table.rows
            # Two decimals of a rate say too little of these.
            if value >= LEAST_PRINTED
        ]
        misses = [abs(one.value / value - 1) for one, value in pairs]
        inside = sum(one.low <= value <= one.high for one, value in pairs)
        found.append((table.name, len(pairs), statistics.median(misses), max(misses), inside))
    return found


LEAST_PRINTED = 0.05

RUN_ON_MORE = {
    ("alps-gh200", "nccl-allreduce-busbw"): Conditions("allreduce", 0, 2, 4, "gpu", "nccl"),
    ("azure-hbv3", "allreduce-96-tasks-a-node"): Conditions("allreduce", 0, 2, 96),
}
"""How the tables were run that are not of one task on each of two nodes."""


def _conditions(name: str, table: PublishedTable) -> Conditions | None:
    """How a table was run; None where it is another machine's or says nothing new."""
    more = RUN_ON_MORE.get((name, table.name))
    if more is not None:
        return more
    pairs = table.benchmark in ("latency", "bandwidth", "bidirectional")
    if not pairs or "another machine" in table.conditions or "in-node" in table.name:
        return None
    memory: Memory = "gpu" if table.name.endswith("gpu") else "host"
    return Conditions(table.benchmark, 0, memory=memory)


def nccl_lines() -> list[str]:
    """The table of NCCL."""
    lines = [
        "| platform | NCCL | GPUs | what | size | published | expected | error | between | by |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in published_rows():
        one = expected(row)
        gpus = f"{row['n_nodes']} x {row['tasks_per_node']}"
        word = ">= " if row["kind"] == "at least" else ""
        error = "" if word else f"{100 * (one.value / row['value'] - 1):+.1f} %"
        mark = " (miss)" if row.get("miss") else ""
        size = format_size(row["size_bytes"])
        lines.append(
            f"| {row['platform']} | {row.get('nccl_version', '')} | {gpus}"
            f" | {row.get('benchmark', 'allreduce')} | {size}"
            f" | {word}{row['value']:g} | {one.value:.1f} | {error}{mark}"
            f" | {one.low:.0f} to {one.high:.0f} | {one.algorithm} |"
        )
    sources = sorted({row["source"] for row in published_rows()})
    misses = [row for row in published_rows() if row.get("miss")]
    return [
        *lines,
        "",
        "Sources: " + "; ".join(sources) + ".",
        "",
        *named_lines(),
        "",
        *(
            f"- miss, {row['platform']} {row['value']:g} GB/s: {row['miss']}."
            for row in misses
            if row["miss"] != "as above"
        ),
    ]


def named_lines() -> list[str]:
    """The rows whose source names an algorithm that their version does not choose by itself."""
    lines = [
        "| platform | NCCL | GPUs | published | the source names | expected | error |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in published_rows():
        name = row.get("named_algorithm")
        if name is None:
            continue
        one = expected(row, name)
        lines.append(
            f"| {row['platform']} | {row['nccl_version']} | {row['n_nodes']} x"
            f" {row['tasks_per_node']} | {row['value']:g} | {one.algorithm} | {one.value:.1f}"
            f" | {100 * (one.value / row['value'] - 1):+.1f} % |"
        )
    return lines


def mpi_lines() -> list[str]:
    """The tables of MPI that platforms carry."""
    lines = [
        "| platform | table | rows | median error | largest | inside the interval |",
        "|---|---|---|---|---|---|",
    ]
    for name in platform_names():
        for table, n_rows, typical, largest, inside in table_errors(name):
            lines.append(
                f"| {name} | {table} | {n_rows} | {100 * typical:.1f} % | {100 * largest:.0f} %"
                f" | {inside} |"
            )
    return lines


def page(text: str) -> str:
    """The page with both tables as they come out now."""
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    body = "\n".join([BEGIN, "", *nccl_lines(), "", *mpi_lines(), "", END])
    return head + body + tail


def main() -> None:
    """Print the tables, or write them into the page."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    else:
        print("\n".join([*nccl_lines(), "", *mpi_lines()]))


if __name__ == "__main__":
    main()
