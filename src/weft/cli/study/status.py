"""`weft study status`: where the blocks of a submitted study are."""

from collections import Counter
from pathlib import Path

import click

from weft.cli.options import RUN
from weft.cli.output import emit, format_option, table_text
from weft.core.errors import ExitCode
from weft.core.nodeset import fold
from weft.core.shell_line import quoted
from weft.study.submission.block_states import BlockStatus, read_status

_ERRORS_SHOWN = 8


@click.command()
@RUN
@format_option
def status(run_dir: Path, format_: str) -> int:
    """Where the blocks of a study are that 'weft study submit' submitted.

    From Slurm's queue and the run directory: blocks queued, running, done, failed or cancelled,
    launches that are over, and errors with their places. Exit 4 where a block needs to be submitted
    again or a launch failed.
    """
    _, queue, blocks = read_status(run_dir)
    states = Counter(block.state for block in blocks)
    record = {
        "schema": "weft.study-status/1",
        "run": str(run_dir),
        "states": dict(states),
        "n_launches": sum(block.n_launches for block in blocks),
        "n_over": sum(block.n_over for block in blocks),
        "n_failed": sum(len(block.failures) for block in blocks),
        "queue_not_known": queue.not_known,
        "blocks": [block.to_record() for block in blocks],
    }
    emit(
        format_,
        text=lambda: status_text(run_dir, blocks),
        record=record,
        rows=[_row(block) for block in blocks],
    )
    bad = any(b.failures or not (b.is_going or b.state in ("done", "unknown")) for b in blocks)
    return int(ExitCode.BENCHMARK if bad else ExitCode.GOOD)


def status_text(run_dir: Path, blocks: tuple[BlockStatus, ...]) -> str:
    """A line on the whole, a table of the blocks, the errors, and the next command."""
    states = Counter(block.state for block in blocks)
    counts = ", ".join(f"{n} {state}" for state, n in states.most_common())
    over, n = sum(b.n_over for b in blocks), sum(b.n_launches for b in blocks)
    headers = ("block", "state", "job", "nodes", "leaves", "launches over", "failed")
    rows = [tuple(map(str, _row(block).values()))[: len(headers)] for block in blocks]
    lines = [
        f"{len(blocks)} block{'' if len(blocks) == 1 else 's'}: {counts}; "
        f"{over} of {n} launches over",
        "",
        table_text(headers, rows, left=5),
        *_troubles(blocks),
        "",
        *_next(run_dir, blocks),
    ]
    return "\n".join(lines)


def _row(block: BlockStatus) -> dict[str, object]:
    leaves = "-" if block.leaves is None else ",".join(sorted(set(block.leaves.values())))
    return {
        "block": block.block,
        "state": block.state,
        "job": block.job or "-",
        "nodes": fold(block.nodes) if block.nodes else f"any {block.n_nodes}",
        "leaves": leaves,
        "launches_over": f"{block.n_over} of {block.n_launches}",
        "failed": len(block.failures),
        "why": block.why or "",
    }


def _troubles(blocks: tuple[BlockStatus, ...]) -> list[str]:
    lines = []
    for block in blocks:
        if block.why is not None:
            lines.append(f"block {block.block} {block.state}: {block.why}")
        for failure in block.failures:
            first = failure.message.partition("\n")[0]
            lines.append(f"block {block.block}: {failure.trial} repeat {failure.repeat}: {first}")
    more = len(lines) - _ERRORS_SHOWN
    shown = [f"  {line}" for line in lines[:_ERRORS_SHOWN]]
    return [*shown, f"  ... and {more} more (--format json lists all)"] if more > 0 else shown


def _next(run_dir: Path, blocks: tuple[BlockStatus, ...]) -> list[str]:
    where = quoted(run_dir)
    over = ("done", "unknown")
    again = [block for block in blocks if not block.is_going and block.state not in over]
    if again:
        return [f"next:  weft study submit {where} --resume   (blocks that are in no job)"]
    if all(block.state == "done" for block in blocks):
        return [f"next:  weft compare {where}", f"       weft report {where}"]
    return [f"so far:  weft compare {where}"]
