"""Mounts that keep a container from its start, and those that may hide libraries of the image."""

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.report import Chain
from weft.doctor.container.image.tree import NodeKind
from weft.doctor.container.image.view import Located, View
from weft.doctor.container.launch.mounts import BindMount
from weft.doctor.job import HOLE
from weft.launch.engine_options import ENGINES


def report_mount_points(case: ContainerCase, chain: Chain) -> None:
    """Add the faults and open questions of mount points."""
    if case.image.is_running:
        return
    present = [one for one in case.mounts if one.is_known and one not in case.absent_mounts]
    for one in present:
        source = case.host.resolve(one.source)
        reason = _unfit(case, present, one, source) if source is not None else ""
        if reason:
            words = {"source": one.source, "target": one.target, "place": one.origin}
            chain.fault("mount-point-unfit", **words, reason=reason)
        elif source is not None and _lacks_point(case, present, one):
            chain.gap(
                f"whether the container starts (nothing is at {one.target}, and the mount above "
                "it is read-only)",
                "a start of the container",
            )
    for folder in case.plan.emptied:
        if HOLE in folder or "$" in folder:
            chain.gap(
                f"which folder of the image {case.plan.place} covers by a tmpfs or a volume",
                "the script with the folder in place",
            )
        elif _hides(case, folder):
            chain.gap(
                f"which files of the image stay below {folder} ({case.plan.place} mounts a tmpfs "
                "or volume there)",
                "the launch without it, or `weft doctor log` of a run",
            )


def _unfit(case: ContainerCase, mounts: list[BindMount], mount: BindMount, source: Located) -> str:
    """The reason for which a mount fails, "" without one. SOURCE: mount(2): ENOTDIR."""
    if case.plan.runtime.name in ENGINES and _is_twice(case, mounts, mount):
        return "another mount of the launch has this place"
    below, _ = _below(case, mounts, mount)
    is_folder = source.node.kind is NodeKind.FOLDER
    if below is not None and is_folder != (below.node.kind is NodeKind.FOLDER):
        own, other = ("folder", "file") if is_folder else ("file", "folder")
        return f"it is a {own}, and the container has a {other} there"
    is_sure = case.host_is_given and not case.plan.makes_files
    if is_sure and case.plan.runtime.name in ENGINES and _lacks_point(case, mounts, mount):
        return "nothing is there, and the mount above it is read-only"
    return ""


def _is_twice(case: ContainerCase, mounts: list[BindMount], mount: BindMount) -> bool:
    """Whether an earlier option of the launch mounts something else there. SOURCE: podman 4.3.1,
    pkg/specgenutil/volumes.go: duplicate mount destination."""
    earlier = mounts[: mounts.index(mount)]
    others = [one for one in earlier if one.target == mount.target and one.source != mount.source]
    return mount.origin == case.plan.place and any(one.origin == mount.origin for one in others)


def _lacks_point(case: ContainerCase, mounts: list[BindMount], mount: BindMount) -> bool:
    below, above = _below(case, mounts, mount)
    return below is None and above is not None and above.is_read_only


def _below(
    case: ContainerCase, mounts: list[BindMount], mount: BindMount
) -> tuple[Located | None, BindMount | None]:
    """What stands at a mount's target without it, and the mount that the target is in. Engines
    mount outer folders first, other runtimes in the order of their options."""
    target = case.view.settled(mount.target)
    is_sorted = case.plan.runtime.name in ENGINES
    others = mounts if is_sorted else mounts[: mounts.index(mount)]
    tops = ((case.view.settled(one.target), one) for one in others if one is not mount)
    above = [(top, one) for top, one in tops if _is_in(target, top)]
    if not above:
        return View(case.image.tree).resolve(target), None
    top, nearest = max(above, key=lambda one: len(one[0]))
    return case.host.resolve(nearest.source + target[len(top.rstrip("/")) :]), nearest


def _hides(case: ContainerCase, folder: str) -> bool:
    """Whether a folder has regular files that no mount below it brings: libraries, drivers."""
    top = case.view.settled(folder)
    inner = [case.view.settled(one.target) for one in case.mounts if one.is_known]
    kept = tuple(one for one in inner if _is_in(one, top))
    return any(
        not any(one.path == own or _is_in(one.path, own) for own in kept)
        for one in case.view.walk(top, ("",))
        if one.node.kind is not NodeKind.FOLDER
    )


def _is_in(path: str, top: str) -> bool:
    """Whether a path is below a folder."""
    return path != top and path.startswith(top.rstrip("/") + "/")
