"""Launchers, containers, files and processors."""

import re
from collections.abc import Iterator
from dataclasses import replace

from weft.doctor.case import Case, Edit, Found
from weft.doctor.job import HOLE, Kind, Launch, Setting, Way
from weft.doctor.rules.values import TYPOGRAPHIC, edit

FABRIC_PREFIXES = ("NCCL_", "UCX_", "SHARP_", "HCOLL_", "FI_", "CXI_", "OFI_NCCL_", "TORCH_NCCL_")
NEEDED = ("LD_LIBRARY_PATH", "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES")
IB_ONLY = {
    "rc",
    "rc_x",
    "rc_v",
    "rc_mlx5",
    "rc_verbs",
    "dc",
    "dc_x",
    "dc_mlx5",
    "ud",
    "ud_x",
    "ud_v",
    "ud_mlx5",
    "ib",
}
ELSEWHERE = {
    "tcp",
    "sm",
    "self",
    "shm",
    "all",
    "cuda",
    "cuda_copy",
    "cuda_ipc",
    "rocm",
    "posix",
    "sysv",
}
QUOTES = f"{TYPOGRAPHIC}'\""
"""What a value may begin with by mistake, which is another rule's."""
MUCH_LOG_RANKS = 64
MASK = re.compile("(0[xX])?[0-9a-fA-F]+")


def rules(case: Case) -> Iterator[Found]:
    """All of this family."""
    yield from _forwarding(case)
    yield from _images(case)
    yield from _topology(case)
    yield from _masks(case)
    yield from _mpi(case)
    yield from _ucx(case)
    yield from _log(case)


def _exported(case: Case, launch: Launch) -> list[Setting]:
    """Variables of the fabric's libraries that the script exports before a launch."""
    found: dict[str, Setting] = {}
    for setting in case.job.settings:
        before = setting.launch is None and setting.at < launch.at
        if before and setting.way is Way.EXPORT and setting.name.startswith(FABRIC_PREFIXES):
            found[setting.name] = setting
    return list(found.values())


def _forwarding(case: Case) -> Iterator[Found]:
    for launch in case.job.launches:
        left = [one for one in _exported(case, launch) if one.name not in launch.passes]
        several = any(name in launch.options for name in ("hostfile", "host", "H"))
        if not left or _hands_on_more(launch):
            continue
        names = [one.name for one in left]
        words = {"name": _listed(names), "launcher": launch.launcher, **_number(names)}
        edits: tuple[Edit, ...] = ()
        if launch.launcher in ("mpirun", "orterun", "prterun") and several:
            words["detail"] = " to other hosts: Open MPI takes only OMPI_ and what -x names"
            added = "".join(f" -x {name}" for name in names)
            words |= {"fix": f"add{added}", "source": "Open MPI, mpirun(1): -x"}
            edits = _behind_launcher(case, launch, added)
        elif launch.launcher in ("srun", "sbatch") and not launch.hands_on_all:
            words["detail"] = ": --export without ALL leaves everything else behind"
            words |= {"fix": "begin the list with ALL", "source": "Slurm, srun(1): --export"}
        elif launch.launcher in ("docker", "podman", "podman-hpc"):
            words["detail"] = ": a container begins with the image's environment"
            added = "".join(f" -e {name}" for name in names)
            words |= {"fix": f"add{added}", "source": "docker run(1): --env"}
        else:
            continue
        yield Found("not-forwarded", words, launch.at, left[0], edits)


def _hands_on_more(launch: Launch) -> bool:
    """Whether only the running job knows which variables a launch hands on."""
    first = launch.program[0].text if launch.program else ""
    unknown = any(HOLE in name for name in (first, *launch.passes))
    return unknown or "env-file" in launch.options


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _number(names: list[str]) -> dict[str, str]:
    one = len(names) == 1
    return {"is": "is" if one else "are", "it": "it" if one else "them"}


def _behind_launcher(case: Case, launch: Launch, text: str) -> tuple[Edit, ...]:
    """An edit that puts options right behind the launcher's name, where it begins the command."""
    start = launch.at.start + len(launch.launcher)
    if case.job.text[launch.at.start : start] != launch.launcher:
        return ()
    return (Edit(replace(launch.at, start=start, end=start), text),)


def _images(case: Case) -> Iterator[Found]:
    """Pyxis: the image's value wins unless --container-env names the variable."""
    for _, launch in case.containers:
        container = launch.container
        if launch.launcher != "srun" or container is None or not container.image:
            continue
        passed = container.passes or ()
        if any(HOLE in name for name in passed):
            continue
        left = [
            one
            for one in _exported(case, launch)
            if one.name not in passed and case.variable(one.name) is not None
        ]
        if left:
            names = [one.name for one in left]
            edits = _add_to_list(case, launch, ",".join(names))
            words = {"name": _listed(names), "names": ",".join(names), **_number(names)}
            yield Found("image-wins", words, launch.at, left[0], edits)


def _add_to_list(case: Case, launch: Launch, names: str) -> tuple[Edit, ...]:
    at = launch.container.passes_at if launch.container is not None else None
    if at is None:
        return _behind_launcher(case, launch, f" --container-env={names}")
    if not at.exact:
        return ()
    end = at.end - (1 if case.job.text[at.end - 1 : at.end] in "'\"" else 0)
    return (Edit(replace(at, start=end, end=end), f",{names}"),)


def _topology(case: Case) -> Iterator[Found]:
    for setting in case.settings("NCCL_TOPO_FILE"):
        path = setting.known
        if not path or setting.way is Way.ASSIGNED or path[0] in QUOTES:
            continue
        wanted = case.recipe.topology_file if case.recipe is not None else ""
        if not path.startswith("/"):
            words = {"value": path, "reason": "is no absolute path", "fix": "write it from /"}
            yield Found("topology-missing", words, setting.at, setting)
        elif wanted and path != wanted and path.lower() == wanted.lower():
            words = {
                "value": path,
                "reason": "differs in its capitals from " + wanted,
                "fix": f"write {wanted}",
            }
            yield Found("topology-missing", words, setting.at, setting, edit(setting, wanted))
        elif wanted and _is_of_another(path, wanted) and case.recipe is not None:
            words = {"value": path, "platform": case.recipe.title, "wanted": wanted}
            yield Found(
                "topology-of-another-machine", words, setting.at, setting, edit(setting, wanted)
            )
        elif case.exists is not None and not case.exists(path):
            words = {
                "value": path,
                "reason": "is not there",
                "fix": "name a file that every node has",
            }
            yield Found("topology-missing", words, setting.at, setting)
        yield from _mounted(case, setting, path)


def _is_of_another(path: str, wanted: str) -> bool:
    folder, _, name = path.rpartition("/")
    same_folder = folder == wanted.rpartition("/")[0]
    return same_folder and path != wanted and name.endswith("-topo.xml")


def _mounted(case: Case, setting: Setting, path: str) -> Iterator[Found]:
    for index, launch in case.containers:
        container = launch.container
        if container is None or setting.launch not in (None, index) or not container.image:
            continue
        mounted = [word.text for word in container.mounts]
        if any(_covers(mount, path) or "\0" in mount for mount in mounted):
            continue
        if launch.launcher == "kubernetes":
            continue
        better = {"srun": f"--container-mounts={path}", "edf": f'mounts = ["{path}:{path}"]'}.get(
            launch.launcher, f"-v {path}:{path}:ro"
        )
        yield Found("topology-not-mounted", {"value": path, "better": better}, setting.at, setting)


def _covers(mount: str, path: str) -> bool:
    source, _, rest = mount.partition(":")
    inside = rest.partition(":")[0] or source
    return path == inside or path.startswith(inside.rstrip("/") + "/")


def _masks(case: Case) -> Iterator[Found]:
    for launch in case.job.launches:
        word = launch.options.get("cpu-bind")
        if word is None or "mask_cpu:" not in word.text or HOLE in word.text:
            continue
        texts = word.text.partition("mask_cpu:")[2].split(",")
        bad = next((text for text in texts if not MASK.fullmatch(text)), None)
        if bad is None:
            yield from _fit(case, launch, [int(text, 16) for text in texts])
            continue
        words = {"what": f"`{bad}` is no hexadecimal mask", "fix": "write hexadecimal digits"}
        yield Found("masks", words, word.at)


def _fit(case: Case, launch: Launch, masks: list[int]) -> Iterator[Found]:
    at = launch.options["cpu-bind"].at
    cores = case.recipe.cores_per_node if case.recipe is not None else 0
    gpus = case.recipe.gpus_per_node if case.recipe is not None else 0
    tasks = launch.number("ntasks-per-node") or gpus
    used: dict[int, int] = {}
    for rank, mask in enumerate(masks):
        shared = [other for other, before in used.items() if before & mask and before != mask]
        if shared:
            words = {
                "what": f"the masks of ranks {shared[0]} and {rank} overlap without being the same",
                "fix": "give each rank processors of its own, or both the same ones",
            }
            yield Found("masks", words, at)
            return
        used[rank] = mask
    highest = max(masks, default=0).bit_length()
    if 0 in masks:
        words = {"what": f"rank {masks.index(0)} has no processor", "fix": "give it one"}
        yield Found("masks", words, at)
    elif cores and highest > cores:
        words = {
            "what": f"processor {highest - 1} is named; the node has 0 to {cores - 1}",
            "fix": "write masks for this node",
        }
        yield Found("masks", words, at)
    elif tasks and len(masks) < tasks:
        words = {
            "what": f"{len(masks)} masks for {tasks} ranks a node: they begin again at the first",
            "fix": "write a mask a rank",
        }
        yield Found("masks", words, at)


def _mpi(case: Case) -> Iterator[Found]:
    launchers = {one.launcher for one in case.job.launches}
    open_mpi = launchers & {"mpirun", "orterun", "prterun"} and any(
        setting.way is Way.MCA for setting in case.job.settings
    )
    for setting in case.job.settings:
        if setting.name.startswith("MV2_") and open_mpi:
            words = {"name": setting.name, "launcher": "Open MPI's mpirun"}
            yield Found("other-mpi", words, setting.at, setting)
    hcoll = case.in_force("OMPI_MCA_coll_hcoll_enable")
    if hcoll is not None and hcoll.known == "1" and case.uses_nccl():
        yield Found("hcoll-beside-nccl", {}, hcoll.at, hcoll, edit(hcoll, "0"))
    btl, pml = case.value("OMPI_MCA_btl"), case.value("OMPI_MCA_pml")
    if btl and pml == "ucx" and "openib" in btl and not btl.startswith("^"):
        both = case.in_force("OMPI_MCA_btl")
        if both is not None:
            yield Found("openib-beside-ucx", {}, both.at, both)
    masks = any("cpu-bind" in one.options or "bind-to" in one.options for one in case.job.launches)
    order = case.in_force("CUDA_DEVICE_ORDER")
    if masks and order is None and case.recipe is not None and case.recipe.gpus_per_node > 1:
        wanted = any(one.name == "CUDA_DEVICE_ORDER" for one in case.recipe.settings)
        if wanted and case.uses_nccl():
            yield Found("device-order", {}, case.job.launches[0].at)


def _ucx(case: Case) -> Iterator[Found]:
    tls, devices = case.in_force("UCX_TLS"), case.in_force("UCX_NET_DEVICES")
    if tls is None or devices is None or not tls.known or not devices.known:
        return
    chosen = {part.strip() for part in tls.known.split(",")}
    ethernet = all(not _is_adapter(one) for one in devices.known.split(","))
    if tls.known.startswith("^") or not chosen <= IB_ONLY | ELSEWHERE:
        return
    if chosen & IB_ONLY and "tcp" not in chosen and ethernet and devices.known != "all":
        fix = "name an adapter (mlx5_0:1), or take tcp where MPI only launches"
        words = {"tls": tls.known, "device": devices.known, "fix": fix}
        yield Found("transport-and-device", words, devices.at, devices)
    elif "tcp" in chosen and not chosen & IB_ONLY and not ethernet:
        words = {
            "tls": tls.known,
            "device": devices.known,
            "fix": "name a network interface (eth0)",
        }
        yield Found("transport-and-device", words, devices.at, devices)


def _is_adapter(name: str) -> bool:
    return ":" in name or name.startswith(("mlx", "ib_", "hfi", "bnxt", "irdma", "rocep", "ibp"))


def _log(case: Case) -> Iterator[Found]:
    setting = case.in_force("NCCL_DEBUG")
    if setting is None or (setting.known or "").upper() not in ("INFO", "TRACE"):
        return
    counts = [one.number("n") for one in case.job.launches]
    per_node = case.recipe.gpus_per_node if case.recipe is not None else 1
    ranks = max([(case.nodes or 0) * per_node, *(one for one in counts if one is not None)])
    one_stream = case.in_force("NCCL_DEBUG_FILE") is None and case.job.kind is not Kind.LIVE
    if ranks > MUCH_LOG_RANKS and one_stream:
        words = {"value": setting.known or "", "ranks": str(ranks)}
        yield Found("much-log", words, setting.at, setting)
