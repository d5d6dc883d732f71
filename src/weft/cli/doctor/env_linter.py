"""Jobs linted for `weft doctor env`: complaints, or the corrected file."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.catalog.load import launch_recipe, platform, platform_names, variable_lists
from weft.cli.doctor.complaints import print_complaints
from weft.cli.doctor.env_report import EnvReport
from weft.cli.fail_on import exit_code_of
from weft.cli.output import printable, talk
from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError
from weft.core.finding import WORST_FIRST, Severity
from weft.core.host import names_of_class
from weft.core.shell_line import quoted
from weft.doctor.case import DoctorCase
from weft.doctor.edits import mended
from weft.doctor.job import Job, JobKind
from weft.doctor.libnccl import read_libnccl
from weft.doctor.lint import Complaint, lint
from weft.doctor.readers.conf import read_conf, read_environment
from weft.doctor.readers.file import MOST_BYTES, job_of, read_job
from weft.doctor.topo.graph import cpus_of_gpus
from weft.doctor.topo.node import node_of_platform, topology_text
from weft.doctor.topo.xml import read_topology, topology_file

SYSTEM_CONF = Path("/etc/nccl.conf")
COLUMNS = ("file", "line", "severity", "rule", "name", "happens", "fix", "source")


def jobs_of(files: Sequence[str], kind: JobKind | None) -> list[Job]:
    """The jobs of files, '-' for standard input; of this environment without any."""
    return [job_of(Path(name), kind) for name in files] or [read_environment(os.environ)]


class Linter:
    """The rules, with the options about the machine and its libraries."""

    def __init__(
        self,
        recipe: str | None,
        nccl: str | None,
        libnccl: Path | None,
        topology: Path | None,
        nodes: int | None,
        *,
        check_files: bool,
    ) -> None:
        self.recipe = launch_recipe(recipe) if recipe else None
        self.lists = variable_lists()
        self.names: frozenset[str] | None = None
        self.nodes = nodes
        self.exists = (lambda path: Path(path).exists()) if check_files else None
        self.gpu_cpus = _cpus_of_gpus(topology, self.recipe)
        self.version = self.lists["nccl"].newest_of(nccl) if nccl else ""
        newest = f"NCCL {self.lists['nccl'].versions[-1]}, the newest known (--nccl)"
        self.judged = f"NCCL {self.version}" if nccl else newest
        if libnccl is not None:
            library = read_libnccl(libnccl)
            self.names = library.names
            self.version = self.version or library.version
            self.judged = f"{libnccl} (NCCL {library.version})"

    def case_of(self, job: Job) -> DoctorCase:
        """A job with what the options tell of its machine."""
        is_live = job.kind is JobKind.LIVE
        return DoctorCase(
            job,
            self.lists,
            self.recipe,
            self.version,
            self.names,
            self.nodes,
            exists=self.exists,
            elsewhere=_settings_of_nccl_conf() if is_live else {},
            interfaces=names_of_class("net") if is_live else (),
            adapters=names_of_class("infiniband") if is_live else (),
            gpu_cpus=self.gpu_cpus,
        )

    def lint(self, job: Job) -> list[Complaint]:
        """The complaints about a job."""
        return lint(self.case_of(job))

    def show(self, jobs: Sequence[Job], format_: str, *, notes: bool) -> int:
        """Print the complaints about jobs; the exit code."""
        reports = [EnvReport.of(self.case_of(job)) for job in jobs]
        machine = self.recipe.title if self.recipe is not None else "unknown (--platform)"
        verdict = min((one.verdict for one in reports), key=WORST_FIRST.index)

        def text() -> str:
            lines = [line for one in reports for line in (*one.lines(notes=notes), "")]
            return "\n".join([*lines, f"judged   for {self.judged}; machine {machine}"])

        record = {
            "schema": "weft.doctor-env/1",
            "platform": self.recipe.name if self.recipe is not None else None,
            "nccl": self.version or None,
            "verdict": verdict.value,
            "would_show": [one for report in reports for one in report.coverage.would_show],
            "files": [one.to_record() for one in reports],
        }
        pairs = [(one.job.name, one.complaints) for one in reports]
        return print_complaints(format_, pairs, COLUMNS, text=text, record=record, verdict=verdict)

    def print_fix(self, jobs: Sequence[Job]) -> int:
        """Print the corrected file; the exit code. Raises InputError where it is not one file."""
        if len(jobs) != 1:
            raise InputError(f"{len(jobs)} files", expected="one file with --fix")
        (job,) = jobs
        if job.kind is JobKind.LIVE:
            raise InputError("an environment is no file to correct", expected="one file with --fix")
        text, number, remaining = mended(
            job.text, lambda text: self.lint(read_job(job.name, text, job.kind))
        )
        left = sum(one.is_bad for one in remaining)
        click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
        again = f"weft doctor env {quoted(Path(job.name))}"
        talk(f"{number} mended, {left} left that only you can decide: {again}")
        return exit_code_of(Severity.BAD if left else Severity.GOOD)


def _cpus_of_gpus(topology: Path | None, recipe: LaunchRecipe | None) -> tuple[int, ...]:
    """Of the topology file, or else of the platform where it knows them."""
    if topology is not None:
        return cpus_of_gpus(topology_file(topology))
    name = recipe.platform if recipe is not None else ""
    known = platform(name) if name in platform_names() else None
    if known is None or known.node_map is None:
        return ()
    return cpus_of_gpus(read_topology(name, topology_text(node_of_platform(known))))


def _settings_of_nccl_conf() -> dict[str, tuple[str, str]]:
    """The settings of this machine's nccl.conf files, each with its file."""
    own = os.environ.get("NCCL_CONF_FILE")
    values: dict[str, tuple[str, str]] = {}
    for path in (Path(own) if own else Path.home() / ".nccl.conf", SYSTEM_CONF):
        try:
            text = read_text_file(path, expected="an nccl.conf", most_bytes=MOST_BYTES)
        except InputError:
            continue
        for setting in read_conf(str(path), text).settings:
            values.setdefault(setting.name, (setting.value or "", str(path)))
    return values
