"""The launch recipe of a platform whose operators' own was not read: generic advice for its links,
with a list of all that is not known."""

from collections.abc import Callable

from weft.catalog.libraries.launch_recipe import Fabric, LaunchRecipe, RecipeSetting
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError

_NDR_GBPS = 400
_OF_MPI = "azure-hbv3"
"""Its settings of MPI hold on every InfiniBand, but for those that name its devices."""
_GPU_LIBRARY = "NCCL_"
_OF_WINDOWS = "MS-MPI"
_UNKNOWN = {
    "interface": "the interface of the ranks' first meeting",
    "hcas": "the names of the adapters that carry data",
    "topology_file": "a topology file for NCCL",
    "cpu_masks": "the binding of ranks to cores",
}


def platform_recipe(platform: Platform, recipe: Callable[[str], LaunchRecipe]) -> LaunchRecipe:
    """The recipe of a platform. `recipe` opens one of the catalogue. Raises InputError for links
    that weft has no advice for."""
    fabric = _fabric_of(platform)
    base = recipe(_base_of(platform, fabric))
    has_gpus = platform.gpus is not None
    settings = base.settings if has_gpus else _of_mpi(base, recipe(_OF_MPI), fabric)
    cores = platform.node.get("cores")
    unknown = [what for key, what in _UNKNOWN.items() if has_gpus or key != "topology_file"]
    if platform.mpi.library == _OF_WINDOWS:
        settings = ()
        unknown.append(f"the settings of {_OF_WINDOWS}, with which it was measured")
    return base.model_copy(
        update={
            "name": platform.name,
            "title": platform.title,
            "platform": platform.name,
            "gpus_per_node": platform.gpus.per_node.whole if platform.gpus is not None else 0,
            "cores_per_node": cores.whole if cores is not None else 0,
            "library": base.library if has_gpus else "mpi",
            "settings": settings,
            "notes": (f"No recipe of its operators was read: this is advice for {base.title}.",),
            "unknown": tuple(unknown),
        }
    )


def _fabric_of(platform: Platform) -> Fabric:
    if platform.packets is None or platform.links is None:
        raise _no_advice(platform)
    if platform.packets.headers == "infiniband":
        return "infiniband"
    if "slingshot" in platform.title.lower():
        return "slingshot"
    raise _no_advice(platform)


def _base_of(platform: Platform, fabric: Fabric) -> str:
    if fabric == "slingshot":
        return "generic-slingshot11"
    assert platform.links is not None
    is_ndr = platform.links.host.rate.value >= _NDR_GBPS
    return "generic-ndr" if is_ndr else "generic-hdr"


def _of_mpi(base: LaunchRecipe, mpi: LaunchRecipe, fabric: Fabric) -> tuple[RecipeSetting, ...]:
    """The settings without those of NCCL, which does not run without GPUs; with those of MPI."""
    kept = [one for one in base.settings if not one.name.startswith(_GPU_LIBRARY)]
    if fabric == "infiniband":
        names = (*mpi.hcas, *mpi.ethernet_hcas, mpi.interface)
        kept += [one for one in mpi.settings if not any(name in one.value for name in names)]
    return tuple(kept)


def _no_advice(platform: Platform) -> InputError:
    return InputError(
        f"no launch recipe for {platform.name}: weft has no advice for its links",
        expected="a machine with InfiniBand or Slingshot, or one with a recipe ('weft recipe')",
    )
