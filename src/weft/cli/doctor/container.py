"""`weft doctor container IMAGE`: whether programs of an image reach the fast network."""

from pathlib import Path

import click

from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import ANY_PATH
from weft.cli.output import emit, format_option
from weft.doctor.container.remedy.emission_forms import FORMS


@click.command("container")
@click.argument("image", metavar="IMAGE", type=ANY_PATH)
@click.option("--recipe", metavar="P", help="The machine: a recipe of the catalogue, or a .toml.")
@click.option("--edf", type=ANY_PATH, metavar="FILE", help="Launch: an EDF of CE.")
@click.option(
    "--cdi",
    "cdis",
    multiple=True,
    type=ANY_PATH,
    metavar="FILE",
    help="A CDI specification of the launch.",
)
@click.option(
    "--hook",
    "hooks",
    multiple=True,
    type=ANY_PATH,
    metavar="FILE",
    help="An OCI hook of the launch (Sarus).",
)
@click.option("--script", type=ANY_PATH, metavar="JOB", help="Launch: a job script.")
@click.option(
    "--host",
    type=ANY_PATH,
    metavar="ROOT",
    help="The root of a compute node's files, or a copy of it. Default: this machine.",
)
@click.option(
    "--mount", "mounts", multiple=True, metavar="A:B", help="A mount more: host:container[:ro]."
)
@click.option("--env", "variables", multiple=True, metavar="K=V", help="A variable more; it wins.")
@click.option(
    "--predict-log",
    "shows_log",
    is_flag=True,
    help="Print the lines that NCCL, libfabric and ld.so will log, too.",
)
@click.option(
    "--emit",
    "form",
    type=click.Choice(tuple(FORMS)),
    help="Print instead the mounts, devices and variables that mend it, checked.",
)
@fail_on_option
@format_option
def command(
    image: Path,
    recipe: str | None,
    *,
    edf: Path | None,
    cdis: tuple[Path, ...],
    hooks: tuple[Path, ...],
    script: Path | None,
    host: Path | None,
    mounts: tuple[str, ...],
    variables: tuple[str, ...],
    shows_log: bool,
    form: str | None,
    format_: str,
) -> int:
    """Show which network NCCL of IMAGE will use, and the link that keeps it from the fast one.

    IMAGE is a folder with a root file system, an OCI layout, an archive of `podman save` or
    `docker save`, a squashfs, an image of Apptainer, /proc/PID/root of a running container, or a
    name that podman or enroot knows. Nothing in it is run.

    With --emit: what the host's files and devices add to the launch, judged with it applied.

    Exit 1 if the fast network is out of reach, 5 if a file is missing that could show it.
    """
    from weft.cli.doctor.images.case import cases_of
    from weft.cli.doctor.images.text import container_lines, container_record, container_rows
    from weft.core.finding import WORST_FIRST
    from weft.doctor.container.judge import judge_container

    with cases_of(
        image,
        recipe=recipe,
        edf=edf,
        cdis=cdis,
        hooks=hooks,
        script=script,
        host=host,
        mounts=mounts,
        variables=variables,
    ) as cases:
        judged = [(case, judge_container(case)) for case in cases]
        worst = min(judged, key=lambda one: WORST_FIRST.index(one[1].verdict()))
        if form is not None:
            from weft.cli.doctor.images.emission import TypedWords, show_emission

            typed: list[str | Path] = [image]
            typed += ["--host", host] if host is not None else []
            typed += ["--recipe", recipe] if recipe is not None else []
            documents = [("--edf", edf), ("--script", script)]
            documents += [*(("--cdi", one) for one in cdis), *(("--hook", one) for one in hooks)]
            named = tuple((option, path) for option, path in documents if path is not None)
            return show_emission(judged, FORMS[form], format_, TypedWords(tuple(typed), named))
        emit(
            format_,
            text=lambda: "\n".join(
                container_lines(*worst, n_launches=len(judged), shows_log=shows_log)
            ),
            record=container_record(*worst),
            rows=container_rows(*worst),
        )
        return exit_code_of(worst[1].verdict())
