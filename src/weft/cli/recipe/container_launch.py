"""The container of a measurement: its launch as `weft recipe` composes it, judged before it runs as
`weft doctor container` judges it."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from weft.bench.model import Backend, Launch
from weft.cli.backend.choice import BackendChoice
from weft.cli.output import talk
from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.core.shell_line import UNSHOWN
from weft.core.words import first_few
from weft.launch.launchers.container import RankContainer, edf_text

if TYPE_CHECKING:
    from weft.bench.live.backend import LiveBackend
    from weft.catalog.libraries.launch_recipe import LaunchRecipe
    from weft.doctor.container.case import ContainerCase
    from weft.doctor.container.image.image import ContainerImage
    from weft.doctor.container.launch.plan import ContainerPlan
    from weft.doctor.container.loader.closure import Closure

HERE = Path("/")
NCCL = "libnccl.so"
SHOWN = 3
"""Names of hidden files that an error shows."""
OF_RANKS = ("mpi-", "pmi-")
"""Begins of the rules about MPI, which the measuring program needs; the others are about NCCL."""


def rank_container(choice: BackendChoice, n_nodes: int) -> RankContainer | None:
    """The container of the shared options, None without one. Raises InputError."""
    if choice.container is None:
        for option in ("image", "mount", "recipe"):
            if getattr(choice, option):
                raise InputError(
                    f"--{option} goes with --container",
                    expected="--container pyxis, ce, apptainer or podman with it",
                )
        return None
    if choice.image is None:
        raise InputError("--container goes with --image", hint="name the image")
    image = _image(choice.image, choice.container)
    mounts = tuple(map(_mount, choice.mount))
    if choice.recipe is None:
        return RankContainer(choice.container, image, mounts)
    return _prescribed(choice.container, image, choice.recipe, mounts, n_nodes)


def _image(text: str, runtime: str) -> str:
    """The name of an image, or its absolute path: ranks start in the run directory."""
    if text.startswith("-") or UNSHOWN.search(text) is not None:
        raise InputError(f"{text!r} is no name of an image", where="--image")
    if not os.path.exists(text):
        return text
    if runtime == "podman":
        raise InputError(
            f"podman runs images by name, and '{text}' is a path",
            where="--image",
            expected="the name of an image that podman has on each node, as localhost/job:1",
            hint="podman load -i FILE, or podman import FILE NAME, gives an archive a name",
        )
    return str(Path(text).absolute())


def _mount(text: str) -> str:
    from weft.doctor.container.launch.mounts import given_mount
    from weft.doctor.container.remedy.emission import is_writable

    mount = given_mount(text)
    if not (is_writable(mount.source) and is_writable(mount.target)):
        raise InputError(
            f"'{text}' is no mount of a launch",
            where="--mount",
            expected="paths without blanks, commas, colons and variables",
        )
    return text


def _prescribed(
    runtime: str, image: str, platform: str, mounts: tuple[str, ...], n_nodes: int
) -> RankContainer:
    """With the mounts, devices, variables and hooks of a platform's recipe."""
    from weft.cli.recipe.container_text import additions_of, gpu_options
    from weft.launch.prescription import Run, prescribe

    recipe = recipe_of(platform)
    prescription = prescribe(recipe, Run(nodes=n_nodes, image=image, mounts=mounts))
    added = additions_of(prescription, runtime)
    bound = (f"{one.source}:{one.target}{':ro' * one.is_read_only}" for one in added.mounts)
    words = (shlex.split(word) for word, _ in gpu_options(recipe, runtime))
    return RankContainer(
        runtime,
        image,
        tuple(bound),
        tuple(one.path for one in added.devices),
        {one.name: one.value for one in added.variables},
        {one.name: one.value for one in added.hooks},
        tuple(word for some in words for word in some),
        recipe.network,
        platform,
    )


def recipe_of(platform: str) -> "LaunchRecipe":
    """A recipe of the catalogue, a file, or this machine's. Raises InputError."""
    from weft.catalog.load import THIS_MACHINE, launch_recipe
    from weft.doctor.machine.detection.document import HERE as OWN
    from weft.doctor.machine.detection.recipe import recipe_here

    return recipe_here() if platform in (OWN, THIS_MACHINE) else launch_recipe(platform)


def container_remarks(
    backend: Backend, launches: Sequence[Launch], run_dir: Path
) -> tuple[str, ...]:
    """What is unknown about the containers of a run that is to be in `run_dir`, as remarks of it;
    none without containers.

    Raises InputError where the image cannot run the measuring program, where its NCCL will miss
    the fast network, or where a mount of weft cannot be made or hides files of the image;
    MissingError where the program cannot be built.
    """
    from weft.bench.live.backend import LiveBackend
    from weft.bench.live.several_launches import SeveralLaunches

    if isinstance(backend, SeveralLaunches):
        each = backend.with_launches(launches)
        return tuple(one for part in each for one in container_remarks(*part, run_dir))
    if not isinstance(backend, LiveBackend) or backend.container is None:
        return ()
    kernel = backend.build()
    paired = (one for one in launches if one.trial.options.get("rounds") is not None)
    backend.container_of(next(paired, launches[0]), run_dir)
    # Launches of the same variables have the same container.
    arms = {tuple(sorted(one.trial.env.items())): one for one in reversed(launches)}
    remarks = tuple(_judge(backend, [_without_rounds(one) for one in arms.values()][::-1], kernel))
    for one in remarks:
        talk(one)
    return remarks


def _without_rounds(launch: Launch) -> Launch:
    """Without the folder of rounds, which brings no library: it is not made yet, and a mount whose
    source is missing would count as one that may bring any."""
    options = {name: one for name, one in launch.trial.options.items() if name != "rounds"}
    return replace(launch, trial=replace(launch.trial, options=options))


def _judge(backend: "LiveBackend", launches: Sequence[Launch], kernel: Path) -> list[str]:
    """Of one launch an arm. An arm whose NCCL will miss the fast network may be meant to: weft
    refuses the run where each of them does."""
    from weft.doctor.container.case import ContainerCase
    from weft.doctor.container.image.image import open_image
    from weft.doctor.container.image.tree import FolderTree
    from weft.study.comparison.cells import arm_name

    around = backend.container_of(launches[0])
    try:
        plans = [_plan(backend, around, one) for one in launches]
        image = open_image(Path(around.image))
    except InputError as error:
        return [
            f"container: whether {around.image} runs weft's measuring program, and reaches the "
            f"fast network, is unknown: {error.what}"
        ]
    assert backend.container is not None
    n_asked = len(backend.container.mounts)
    own = tuple(one.split(":")[1] for one in around.mounts[n_asked:])
    found: dict[str, list[str]] = {}
    missed: list[InputError] = []
    try:
        _refuse_hidden(image, around, n_asked)
        recipe = recipe_of(around.recipe) if around.recipe else None
        for launch, plan in zip(launches, plans, strict=True):
            arm = arm_name(launch.trial.arm)
            where = f"--image {around.image}" + (f", arm {arm}" if launches[1:] else "")
            case = ContainerCase(image, plan, FolderTree(HERE), recipe=recipe, own_mounts=own)
            remarks = _program_remarks(case, where, kernel)
            try:
                remarks += _network_remarks(case, where, around)
            except _MissedError as error:
                missed.append(error)
                remarks.append(error.what)
            for one in remarks:
                found.setdefault(one, []).append(arm)
    finally:
        image.close()
    if len(missed) == len(launches):
        raise missed[0]
    return [
        f"container: {'' if len(arms) == len(launches) else f'{_shown(arms)}: '}{one}"
        for one, arms in found.items()
    ]


def _shown(arms: Sequence[str]) -> str:
    names = first_few(arms[:SHOWN], len(arms))
    return f"arm {names}" if len(arms) == 1 else f"arms {names}"


def _plan(backend: "LiveBackend", around: RankContainer, launch: Launch) -> "ContainerPlan":
    """Raises InputError where weft does not read the launch."""
    from weft.doctor.container.launch.plan import plans_of
    from weft.doctor.job import JobKind
    from weft.doctor.readers.file import read_job

    if around.runtime == "ce":
        text = edf_text(around, {**around.variables, **launch.trial.env})
        job = read_job("the launch", text, JobKind.EDF)
    else:
        job = read_job("the launch", backend.recipe(launch), JobKind.SCRIPT)
    plans = plans_of(job)
    if len(plans) != 1:
        raise InputError("weft does not read launches of this launcher")
    # An EDF tells no number of ranks.
    n_ranks = launch.trial.n_ranks
    return replace(plans[0], n_ranks=n_ranks, least_ranks=n_ranks)


class _MissedError(InputError):
    """The NCCL of an image will miss the fast network."""


def _refuse_hidden(image: "ContainerImage", around: RankContainer, n_asked: int) -> None:
    """Raises InputError where a mount of weft, behind those asked for, hides files of the image."""
    from weft.doctor.container.image.tree import FolderTree
    from weft.doctor.container.image.view import View

    view, host = View(image.tree), FolderTree(HERE)
    for source, target, *_ in (one.split(":") for one in around.mounts[:n_asked]):
        view.mount(host, source, target, source)
    for mount in around.mounts[n_asked:]:
        target = mount.split(":")[1]
        found = view.resolve(target)
        names = [] if found is None or found.origin else view.names(target)
        if names:
            raise InputError(
                f"weft's own mount of {target} hides a folder of the image: "
                f"{first_few(names[:SHOWN], len(names))}",
                where=f"--image {around.image}",
                expected=f"an image without files in {target}, or weft and its MPI elsewhere",
                hint=f"--mount {target}:{target}:ro, if nothing in the image needs its own files",
            )


def _program_remarks(case: "ContainerCase", where: str, kernel: Path) -> list[str]:
    """Raises InputError where the image's loader does not load the kernel and its libraries, and
    nothing that weft cannot see may bring them."""
    lacks = "it has no dynamic loader of glibc"
    if case.has_usable_loader:
        closure = case.loader.run(str(kernel))
        if closure.is_whole:
            return []
        lacks = _lacking(closure)
    unseen = _unseen(case)
    if unseen:
        return [f"the image cannot run weft's measuring program unless {unseen} mends it: {lacks}"]
    raise InputError(
        f"the image cannot run weft's measuring program: {lacks}",
        where=where,
        expected=f"an image whose libraries load {kernel.name}, which was compiled here",
        hint="an image with the glibc of this machine or a newer one; --mount brings a library; "
        "--mpi names an MPI that the image has, too",
    )


def _unseen(case: "ContainerCase") -> str:
    """The first part of the launch that may bring libraries and that weft cannot see, or ""."""
    mounts = (f"the mount of {one.source}" for one in (*case.unknown_mounts, *case.absent_mounts))
    hooks = (f"the hook {one}" for one in (*case.plan.hooks, *case.site_hooks))
    open_parts = (what for what, _ in (*case.plan.unknown, *case.plan.doubts))
    folders = ("LD_LIBRARY_PATH",) if case.has_unknown_folders else ()
    return next(iter((*mounts, *hooks, *open_parts, *folders)), "")


def _lacking(closure: "Closure") -> str:
    """The first thing that the loader would end at."""
    for file in closure.missing:
        asker = "" if file.asked_by is None else f", which {file.asked_by.opened} needs"
        return f"{file.name}{asker}, {file.reason or 'is not in it'}"
    version = next(one for one in closure.versions if one.is_fatal)
    return (
        f"{version.offered_by.opened} has no {version.version}, which "
        f"{version.asked_by.opened} needs; its newest is {version.newest}"
    )


def _network_remarks(case: "ContainerCase", where: str, around: RankContainer) -> list[str]:
    """Raises InputError where ranks will not start, _MissedError where the image's NCCL will miss
    the fast network: measured from this container, it is not the network of the job. An image
    without NCCL is not refused for that."""
    from weft.doctor.container.judge import judge_container, outcome

    chain = judge_container(case)
    verdict = chain.verdict()
    if verdict is Severity.BAD:
        fault = chain.faults[0]
        of_ranks = fault.rule.id.startswith(OF_RANKS)
        what = f"{outcome(case, chain)}: {fault.happens}"
        if of_ranks:
            raise InputError(what, where=where, hint=fault.fix)
        if case.libraries(NCCL):
            raise _MissedError(what, where=where, hint=_mended(fault.fix, around))
        return [
            "the image has no NCCL; a program with NCCL would miss the fast network: "
            f"{fault.happens}"
        ]
    if verdict is Severity.UNKNOWN:
        gaps = "; ".join(one.unknown for one in chain.gaps)
        return [f"whether the image reaches the fast network is unknown: {gaps}"]
    return []


def _mended(fix: str, around: RankContainer) -> str:
    return fix if around.recipe else f"{fix}; --recipe PLATFORM adds what a recipe knows"
