"""`weft doctor env [FILE...]`: a linter of the settings that a job is launched with."""

from pathlib import Path

import click

from weft.cli.fail_on import fail_on_option
from weft.cli.options import ANY_PATH, NODE_COUNT
from weft.cli.output import format_option_of
from weft.core.errors import ExitCode, InputError
from weft.doctor.job import JobKind

KINDS = {kind.value.lower(): kind for kind in JobKind if kind not in (JobKind.LIVE, JobKind.OTHER)}


@click.command("env")
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("--platform", metavar="P", help="The machine: a recipe of the catalogue, or a .toml.")
@click.option(
    "--nccl", metavar="VERSION", help="The version of NCCL that will run; else the newest."
)
@click.option(
    "--libnccl",
    type=ANY_PATH,
    metavar="FILE",
    help="A libnccl.so: its own version and variables are used.",
)
@click.option(
    "--topology",
    type=ANY_PATH,
    metavar="FILE",
    help="A topology file, for CPU masks: each must be near its GPU. Default: the platform's.",
)
@click.option("--nodes", type=NODE_COUNT, help="Nodes of the job, if the file does not say.")
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    help="The kind of the files, if their names do not show it.",
)
@click.option(
    "--check-files", is_flag=True, help="Check that files named in settings are on this machine."
)
@click.option("--fix", "prints_fix", is_flag=True, help="Print the corrected file instead.")
@click.option("--notes", is_flag=True, help="Show notes, too.")
@fail_on_option
@click.option("--explain", "name", metavar="NAME", help="Explain one variable instead.")
@format_option_of(("text", "json", "csv", "sarif"))
def command(
    files: tuple[str, ...],
    platform: str | None,
    nccl: str | None,
    libnccl: Path | None,
    *,
    topology: Path | None,
    nodes: int | None,
    kind: str | None,
    check_files: bool,
    prints_fix: bool,
    notes: bool,
    name: str | None,
    format_: str,
) -> int:
    """Check the variables that FILES set; without FILES, those of this environment.

    A file is a command line, a job script, an nccl.conf, an EDF (.toml), Kubernetes manifests
    (.yaml), a Dockerfile, a modulefile or Markdown; '-' is standard input. Nothing in it is run.

    Exit 1 if a setting is wrong, 5 if a file sets nothing that weft can read.
    """
    if name is not None:
        from weft.cli.doctor.env_variable import explain

        if format_ == "sarif":
            raise InputError("SARIF is for findings", expected="--format text, json or csv")
        explain(name, format_)
        return int(ExitCode.GOOD)
    from weft.cli.doctor.env_linter import Linter, jobs_of

    jobs = jobs_of(files, KINDS[kind] if kind is not None else None)
    linter = Linter(platform, nccl, libnccl, topology, nodes, check_files=check_files)
    return linter.print_fix(jobs) if prints_fix else linter.show(jobs, format_, notes=notes)
