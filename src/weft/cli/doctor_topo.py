"""`weft doctor topo FILE`: a topology file of NCCL, read as NCCL reads it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.output import emit, format_option_of, terminal_width
from weft.core.errors import ExitCode, InputError

if TYPE_CHECKING:
    from weft.doctor.lint import Complaint
    from weft.doctor.topo.read import TopologyFile

EXPECTED = "a topology file"


@click.command("topo")
@click.argument("file")
@click.option("--notes", is_flag=True, help="Show notes, too.")
@format_option_of(("text", "json", "csv", "sarif"))
def command(file: str, *, notes: bool, format_: str) -> int:
    """What NCCL makes of a topology file (NCCL_TOPO_FILE), and what is wrong with it.

    '-' is standard input.

    Exit 1 where something is wrong.
    """
    from weft.doctor.lint import verdict
    from weft.doctor.topo.judge import complaints_of

    topology = _read(file)
    complaints = complaints_of(topology)
    if format_ == "sarif":
        _print_sarif(topology, complaints)
    else:
        emit(
            format_,
            text=lambda: _text(topology, complaints, notes=notes),
            record=_record(topology, complaints),
            rows=[_row(topology, one) for one in complaints],
        )
    is_bad = verdict(complaints).value == "bad"
    return int(ExitCode.VERDICT_BAD if is_bad else ExitCode.GOOD)


def _read(name: str) -> "TopologyFile":
    from weft.doctor.topo.read import MOST_BYTES, read_topology, topology_file

    if name != "-":
        return topology_file(Path(name))
    content = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES or b"\0" in content:
        why = "it is not text" if b"\0" in content else f"it is larger than {MOST_BYTES} bytes"
        raise InputError(f"cannot be read: {why}", where="standard input", expected=EXPECTED)
    return read_topology("standard input", content.decode("utf-8", "replace"))


def _print_sarif(topology: "TopologyFile", complaints: "Sequence[Complaint]") -> None:
    import json

    from weft import __version__
    from weft.doctor.sarif import sarif

    click.echo(json.dumps(sarif([(topology.name, complaints)], __version__), indent=2))


def _record(topology: "TopologyFile", complaints: "Sequence[Complaint]") -> dict[str, Any]:
    from weft.doctor.lint import as_finding, verdict

    return {
        "schema": "weft.doctor-topo/1",
        "name": topology.name,
        "verdict": verdict(complaints).value,
        "is_refused": topology.is_refused,
        "n_elements": topology.n_elements,
        "n_unsaid": topology.n_unsaid,
        "findings": [as_finding(one, topology.name).to_record() for one in complaints],
    }


def _row(topology: "TopologyFile", one: "Complaint") -> dict[str, Any]:
    return {
        "file": topology.name,
        "line": one.found.at.line,
        "column": one.found.at.column,
        "severity": one.severity.value,
        "rule": one.rule.id,
        "happens": one.happens,
        "fix": one.fix,
        "source": one.source,
    }


def _text(topology: "TopologyFile", complaints: "Sequence[Complaint]", *, notes: bool) -> str:
    from weft.cli.doctor_topo_text import finding_lines, verdict_line
    from weft.doctor.topo.draw import tree_lines

    lines = [verdict_line(topology, complaints)]
    lines += finding_lines(topology, complaints, notes=notes)
    if topology.system is not None:
        lines += ["", *tree_lines(topology.system, terminal_width())]
    return "\n".join(lines)
