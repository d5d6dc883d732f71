"""`weft history`: runs in time, where their figures stepped, and which setting changed there."""

from pathlib import Path

import click

from weft.cli.fail_on import fail_on_option, verdict_exit_code
from weft.cli.options import FILE, FOLDER
from weft.cli.output import emit, format_option, terminal_width


@click.command(name="history")
@click.argument("places", metavar="DIR...", nargs=-1, required=True, type=FOLDER)
@click.option(
    "--order",
    type=click.Choice(("time", "given")),
    default="time",
    show_default=True,
    help="The order of the runs: their start, or that of DIR... for runs without a time.",
)
@click.option(
    "--one-fabric",
    is_flag=True,
    help="Take all runs of a backend for one fabric: its hosts were renamed or changed.",
)
@click.option(
    "--html", "page", type=FILE, help="Write a page with one line a component to this file."
)
@click.option(
    "--openmetrics",
    "metrics_file",
    type=FILE,
    help="Write the state of each component for Prometheus to this file: node_exporter's textfile "
    "collector reads NAME.prom.",
)
@click.option(
    "--grafana",
    "dashboard",
    type=FILE,
    help="Write a Grafana dashboard of these metrics (JSON to import) to this file.",
)
@fail_on_option
@format_option
def command(
    *,
    places: tuple[Path, ...],
    order: str,
    one_fabric: bool,
    page: Path | None,
    metrics_file: Path | None,
    dashboard: Path | None,
    format_: str,
) -> int:
    """When did the figures of a fabric change, and which setting changed there?

    DIR is a run directory, or a directory of them. Runs of one fabric are laid in order of time.
    weft dates the steps of each benchmark and size, and of each node, cable and pair of checks,
    and names the recorded settings that changed there: routing, MPI, versions, variables. Exit 1
    where a step to slower is still in force, 5 where runs are too few or nothing can be dated.

    \b
    weft history runs
    weft history runs/nightly --html fabric.html
    """
    from weft.check.history.kept_rows import judged_row, kept_row
    from weft.cli.history.files import WrittenFiles
    from weft.cli.history.text import component_records, history_rows, history_text
    from weft.study.history.history import histories_of
    from weft.study.history.history_findings import exit_code_of_histories
    from weft.study.history.run_folders import find_runs
    from weft.study.history.whole_history import judge_whole

    found = find_runs(places, as_given=order == "given", read=judged_row, kept_row=kept_row)
    judged = [judge_whole(one) for one in histories_of(found.runs, one_fabric=one_fabric)]
    written = WrittenFiles(page, metrics_file, dashboard)
    written.write(judged)
    findings = [finding for one in judged for finding in one.findings]
    rows = [row for one in judged for row in history_rows(one)]
    emit(
        format_,
        text=lambda: history_text(judged, found.left_out, terminal_width() or 80),
        record={
            "histories": [
                {
                    "fabric": one.history.fabric,
                    "n_runs": len(one.history.runs),
                    "n_repeated": one.history.n_repeated,
                    "would_show": list(one.would_show),
                    "components": component_records(one.components),
                    "findings": [finding.to_record() for finding in one.findings],
                    "setting_changes": [
                        {"run": str(one.history.runs[event.at].directory), "change": event.text}
                        for event in one.history.events
                    ],
                }
                for one in judged
            ],
            "left_out": [
                {"run": str(one.directory), "reason": one.reason} for one in found.left_out
            ],
            "rows": rows,
        },
        rows=rows,
    )
    return verdict_exit_code(exit_code_of_histories(judged), findings)
