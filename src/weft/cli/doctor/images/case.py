"""The cases of `weft doctor container`: an image with each launch that the options name."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from weft.catalog.load import launch_recipe
from weft.core.errors import InputError
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.image.image import open_image
from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.launch.cdi import read_cdi
from weft.doctor.container.launch.environment import EnvironmentLayers, read_pairs
from weft.doctor.container.launch.mounts import given_mount
from weft.doctor.container.launch.oci_hook import read_hook
from weft.doctor.container.launch.plan import ContainerPlan, plans_of, recipe_values
from weft.doctor.container.launch.runtime import RUNNING
from weft.doctor.job import JobKind
from weft.doctor.readers.file import job_of

ROOT = Path("/")


@contextmanager
def cases_of(
    image: Path,
    *,
    recipe: str | None,
    edf: Path | None,
    cdis: Sequence[Path] = (),
    hooks: Sequence[Path] = (),
    script: Path | None,
    host: Path | None,
    mounts: Sequence[str],
    variables: Sequence[str],
) -> Iterator[list[ContainerCase]]:
    """One case for each launch. Raises InputError where a file is none of its kind."""
    if edf is not None and script is not None:
        raise InputError("two launches", expected="--edf or --script, not both")
    if host is not None and not host.is_dir():
        raise InputError("no such directory", where=str(host), expected="--host ROOT, a folder")
    known = launch_recipe(recipe) if recipe else None
    plans = _plans(edf, script)
    edits = [(read_hook(one), "sarus") for one in hooks]
    given = tuple(given_mount(one) for one in mounts)
    for one in variables:
        if not one.partition("=")[0].isidentifier() or "=" not in one:
            raise InputError(f"'{one}' sets no variable", where="--env", expected="NAME=VALUE")
    found = open_image(image)
    try:
        cases = []
        for plan in plans:
            whole = replace(plan, runtime=RUNNING) if found.is_running else plan
            if known is not None and script is None and edf is None:
                whole = replace(whole, layers=EnvironmentLayers(options=recipe_values(known)))
            of_devices = [(read_cdi(one, plan.cdi_devices), "podman") for one in cdis]
            for edit, runtime in (*of_devices, *edits):
                whole = whole.with_edits(edit, runtime)
            whole = whole.with_given(given, read_pairs(variables, "--env"))
            tree = FolderTree(host or ROOT)
            cases.append(ContainerCase(found, whole, tree, host is not None, known))
        yield cases
    finally:
        found.close()


def _plans(edf: Path | None, script: Path | None) -> Sequence[ContainerPlan]:
    path = edf or script
    if path is None:
        return [ContainerPlan()]
    job = job_of(path, JobKind.EDF if edf is not None else None)
    if job.kind not in (JobKind.SCRIPT, JobKind.EDF):
        raise InputError(
            f"it is of the kind {job.kind.value}, whose mounts weft does not read",
            where=str(path),
            expected="a job script or an EDF",
            hint="name them: --mount HOST:CONTAINER and --env NAME=VALUE",
        )
    plans = plans_of(job)
    if not plans:
        raise InputError(
            "it starts no image",
            where=str(path),
            expected="a job script with srun --container-image, apptainer exec, podman run",
        )
    return plans
