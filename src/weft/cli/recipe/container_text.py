"""`weft recipe --container`: the launch of an image by one runtime, each part with its reason."""

import re
from collections.abc import Iterator, Mapping

from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.core.errors import InputError
from weft.core.shell_line import UNSHOWN
from weft.doctor.container.chain.providers import PROVIDERS
from weft.doctor.container.remedy.additions import (
    AddedDevice,
    AddedMount,
    AddedVariable,
    Additions,
)
from weft.doctor.container.remedy.emission import is_writable
from weft.doctor.container.remedy.texts import TEXTS, ContainerStart, comments
from weft.launch.prescribed_text import as_srun, srun_words
from weft.launch.prescription import Prescription

RUNTIMES = {"pyxis": "pyxis", "ce": "edf", "apptainer": "apptainer", "podman": "podman"}
"""By runtime the format of `weft doctor container --emit` that is for it."""
INFINIBAND = "/dev/infiniband"
_CXI = re.compile(r"cxi\d+")
_GPUS: Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]] = {
    "apptainer": {
        "nccl": (("--nv", "the GPUs and their driver's libraries"),),
        "rccl": (("--rocm", "the GPUs and their driver's libraries"),),
    },
    "podman": {
        "nccl": (("--device nvidia.com/gpu=all", "the GPUs, by the CDI file of nvidia-ctk"),),
        "rccl": (
            ("--device /dev/kfd", "the GPUs"),
            ("--device /dev/dri", "the GPUs"),
        ),
    },
}
_NAMESPACES = (
    ("--network=host", "ranks meet over the node's own networks"),
    ("--ipc=host", "ranks of a node share memory"),
    ("--pid=host", "ranks of a node read one another's memory"),
    ("--env 'SLURM_*'", "the number of the rank; an MPI needs its PMI, too"),
)
"""SOURCE: podman-run(1): --network, --ipc, --pid, --env with a star."""


def container_text(prescription: Prescription, runtime: str, program: str) -> str:
    """The text for one runtime. Raises InputError where a name cannot be written, or where the
    recipe does not name the devices that the runtime must be told."""
    recipe, image = prescription.recipe, prescription.run.image
    if image.startswith("-") or UNSHOWN.search(image) is not None:
        raise InputError(f"{image!r} is no name of an image", where="--image")
    added = additions_of(prescription, runtime)
    options = (*(_NAMESPACES if runtime == "podman" else ()), *gpu_options(recipe, runtime))
    notes = [f"{word}: {reason}" for word, reason in options]
    notes += _notes(recipe, runtime)
    if runtime == "pyxis":
        return "\n".join([*comments([*notes, *added.notes]), as_srun(prescription, [program])])
    before = tuple(srun_words(prescription))
    if runtime == "ce":
        command = " ".join([*before, "--environment=FILE", program])
        notes = [*notes, "start, FILE being the absolute path of this file:", f"  {command}"]
        before = ()
    start = ContainerStart(
        image,
        program,
        before=before,
        options=tuple(word for word, _ in options),
        notes=tuple(notes),
    )
    return TEXTS[RUNTIMES[runtime]](added, start).rstrip("\n")


def additions_of(prescription: Prescription, runtime: str) -> Additions:
    """Mounts, devices, variables and hooks of a prescription for one runtime."""
    recipe = prescription.recipe
    hooks = tuple(
        AddedVariable(one.name, one.value, one.reason)
        for one in (recipe.hooks if runtime == "ce" else ())
    )
    return Additions(
        tuple(_mounts(prescription, runtime)),
        () if hooks else tuple(_devices(recipe, runtime)),
        tuple(AddedVariable(one.name, one.value, one.reason) for one in prescription.own),
        hooks,
    )


def _mounts(prescription: Prescription, runtime: str) -> Iterator[AddedMount]:
    topology = prescription.values.get("NCCL_TOPO_FILE")
    if topology:
        yield AddedMount(topology, topology, "NCCL_TOPO_FILE names it")
    for text in prescription.run.mounts:
        source, _, left = text.partition(":")
        target, _, flags = left.partition(":")
        is_plain = is_writable(source) and is_writable(target or source)
        if not is_plain and runtime != "pyxis":
            raise InputError(
                f"'{text}' is no mount for {runtime}",
                where="--mount",
                expected="/PATH/OF/HOST:/PATH/IN/CONTAINER, written out",
            )
        yield AddedMount(
            source, target or source, "given by --mount", is_read_only="ro" in flags.split(",")
        )


def _devices(recipe: LaunchRecipe, runtime: str) -> Iterator[AddedDevice]:
    """Those that a runtime does not pass on by itself."""
    if runtime not in ("podman", "ce"):
        return
    if recipe.fabric != "slingshot":
        yield AddedDevice(INFINIBAND, "the adapters")
        return
    names = [one for one in recipe.hcas if _CXI.fullmatch(one)]
    if not names:
        raise InputError(
            f"the recipe {recipe.name} does not name the adapters",
            where=f"--container {runtime}",
            expected="a recipe with hcas = ['cxi0', ...]",
            hint=f"on a compute node: weft doctor container IMAGE --emit {RUNTIMES[runtime]}",
        )
    yield from (AddedDevice(f"/dev/{one}", "the adapter") for one in names)


def gpu_options(recipe: LaunchRecipe, runtime: str) -> tuple[tuple[str, str], ...]:
    """The options by which a runtime passes GPUs on, each with its reason."""
    return _GPUS.get(runtime, {}).get(recipe.library, ())


def _notes(recipe: LaunchRecipe, runtime: str) -> Iterator[str]:
    is_brought = runtime == "ce" and recipe.hooks
    if recipe.fabric in PROVIDERS and not is_brought:
        yield "the image brings plug-in and libfabric; if not, on a compute node:"
        form = RUNTIMES[runtime]
        yield f"  weft doctor container IMAGE --recipe {recipe.name} --emit {form}"
