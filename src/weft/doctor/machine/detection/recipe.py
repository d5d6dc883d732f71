"""The launch recipe of this machine: that of its link, with its own adapters."""

from pathlib import Path

from weft.catalog.libraries.launch_recipe import LaunchRecipe, RecipeSetting
from weft.catalog.load import launch_recipe, launch_recipe_names
from weft.catalog.machine.generic import PREFIX
from weft.core.errors import unknown_name
from weft.doctor.machine.adapters import INFINIBAND
from weft.doctor.machine.detection.document import detected_host, nothing_here, title_of
from weft.doctor.machine.detection.model import HostHardware

_SAME = {"ndr200": "ndr", "hdr100": "hdr"}
"""Links of fewer lanes, whose settings are those of the whole link."""
_HCAS = "NCCL_IB_HCA"
_GPU_LIBRARY = "NCCL_"


def recipe_here(root: Path | None = None) -> LaunchRecipe:
    """The recipe. Raises InputError where this machine has no adapter, or its link no recipe."""
    host = detected_host(root)
    if host is None or not host.rails:
        raise nothing_here()
    link = host.rails[0].link
    name = PREFIX + _SAME.get(link, link)
    if name not in launch_recipe_names():
        what = f"no recipe for this machine's link, {host.rails[0].title}"
        raise unknown_name(what, name, launch_recipe_names())
    recipe = launch_recipe(name)
    has_gpus = host.gpus is not None and host.gpus.product is not None
    settings = tuple(
        _with_adapters(one, host)
        for one in recipe.settings
        if has_gpus or not one.name.startswith(_GPU_LIBRARY)
    )
    return recipe.model_copy(
        update={
            "title": f"{recipe.title}: {title_of(host)}",
            "gpus_per_node": host.gpus.count if host.gpus is not None and has_gpus else 0,
            "cores_per_node": host.processors.cores or host.processors.cpus,
            "hcas": tuple(rail.name for rail in host.rails),
            "library": recipe.library if has_gpus else "mpi",
            "settings": settings,
        }
    )


def _with_adapters(setting: RecipeSetting, host: HostHardware) -> RecipeSetting:
    """NCCL takes names after '=' as they stand."""
    if setting.name != _HCAS:
        return setting
    return setting.model_copy(
        update={
            "value": "=" + ",".join(rail.name for rail in host.rails),
            "reason": "the adapters of this machine that carry data, by their whole names",
            "source": f"{INFINIBAND}: ports that are active",
        }
    )
