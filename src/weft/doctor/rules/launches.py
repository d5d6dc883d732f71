"""MPI and UCX with a launcher, the topology file, and the log."""

import re
from collections.abc import Iterator

from weft.core.finding import Severity
from weft.doctor.case import DoctorCase, Found, mistake
from weft.doctor.job import HOLE, JobKind, JobSetting, SettingOrigin, number_of
from weft.doctor.rules.values import TYPOGRAPHIC, edit

IB_ONLY = {
    *("rc", "rc_x", "rc_v", "rc_mlx5", "rc_verbs", "dc", "dc_x", "dc_mlx5"),
    *("ud", "ud_x", "ud_v", "ud_mlx5", "ib"),
}
ELSEWHERE = {
    *("tcp", "sm", "self", "shm", "all", "posix", "sysv"),
    *("cuda", "cuda_copy", "cuda_ipc", "rocm"),
}
NOT_ABSOLUTE = "is there only for ranks that start in its folder, for others it is not"
QUOTES = f"{TYPOGRAPHIC}'\""
"""Characters that a value may begin with by mistake, which another rule finds."""
MUCH_LOG_RANKS = 64
_MVAPICH_3 = re.compile(r"mvapich(-plus)?/[3-9]|mvapich-plus$")
_AZURE = re.compile(r"n[cd]\w*-topo\.xml", re.IGNORECASE)


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    yield from _topology(case)
    yield from _mpi(case)
    yield from _ucx(case)
    yield from _log(case)


def _topology(case: DoctorCase) -> Iterator[Found]:
    wanted = case.recipe.topology_file if case.recipe is not None else ""
    for setting in case.settings("NCCL_TOPO_FILE"):
        path = setting.known
        if not path or setting.origin is SettingOrigin.ASSIGNED or path[0] in QUOTES:
            continue
        better = edit(setting, wanted)
        if not path.startswith("/"):
            fix, warning = "write it from /", Severity.WARNING
            yield mistake("topology-missing", setting, (), warning, reason=NOT_ABSOLUTE, fix=fix)
        elif wanted and path != wanted and path.lower() == wanted.lower():
            words = {"reason": f"differs in its capitals from {wanted}", "fix": f"write {wanted}"}
            yield mistake("topology-missing", setting, better, **words)
        elif wanted and _is_of_another(path, wanted):
            words = {"platform": case.machine(), "wanted": wanted}
            yield mistake("topology-of-another-machine", setting, better, **words)
        elif case.exists is not None and not case.exists(path):
            fix = "name a file that every node has"
            yield mistake("topology-missing", setting, reason="is not there", fix=fix)
        yield from _mounted(case, setting, path, wanted)
        yield from _graph(case, path)


def _graph(case: DoctorCase, topology: str) -> Iterator[Found]:
    """A graph of another machine's name: ncv4-graph.xml with ndv4-topo.xml."""
    setting = case.in_force("NCCL_GRAPH_FILE")
    graph = setting.known if setting is not None else None
    if setting is None or not graph:
        return
    names = [path.rpartition("/")[2].lower() for path in (graph, topology)]
    machines = [name.partition("-")[0] for name in names if "-" in name]
    if len(machines) == 2 and machines[0] != machines[1]:
        yield mistake("graph-of-another-topology", setting, graph=graph, topology=topology)


def _is_of_another(path: str, wanted: str) -> bool:
    """Azure's files are named by the machine, wherever they lie: ndv4-topo.xml."""
    name = path.rpartition("/")[2]
    return _AZURE.fullmatch(name) is not None and name != wanted.rpartition("/")[2]


def _mounted(case: DoctorCase, setting: JobSetting, path: str, wanted: str) -> Iterator[Found]:
    for index, launch in enumerate(case.job.launches):
        container = launch.container
        if container is None or setting.launch not in (None, index) or not container.image:
            continue
        mounted = (word.text for word in container.mounts)
        is_mounted = any(_covers(mount, path) or HOLE in mount for mount in mounted)
        if is_mounted or launch.launcher == "kubernetes":
            continue
        better = {"srun": f"--container-mounts={path}", "edf": f'mounts = ["{path}:{path}"]'}.get(
            launch.launcher, f"-v {path}:{path}:ro"
        )
        # Another path may be a file of the image.
        is_of_the_host = path == wanted or _AZURE.fullmatch(path.rpartition("/")[2]) is not None
        severity = None if is_of_the_host else Severity.WARNING
        yield mistake("topology-not-mounted", setting, (), severity, better=better)


def _covers(mount: str, path: str) -> bool:
    source, _, target = mount.partition(":")
    inside = target.partition(":")[0] or source
    return path == inside or path.startswith(inside.rstrip("/") + "/")


def _mpi(case: DoctorCase) -> Iterator[Found]:
    other = _other_than_mvapich2(case)
    renamed = any(_MVAPICH_3.match(module.text) for module in case.job.modules)
    for setting in case.job.settings if other or renamed else ():
        if setting.name.startswith("MV2_"):
            rule = "other-mpi" if other else "renamed-in-mvapich-3"
            yield mistake(rule, setting, launcher=other)
    hcoll = case.in_force("OMPI_MCA_coll_hcoll_enable")
    if hcoll is not None and hcoll.known == "1" and case.uses_nccl():
        yield mistake("hcoll-beside-nccl", hcoll, edit(hcoll, "0"))
    sharp = case.in_force("HCOLL_ENABLE_SHARP")
    if sharp is not None and case.is_on("HCOLL_ENABLE_SHARP") and hcoll and hcoll.known == "0":
        yield mistake("sharp-without-hcoll", sharp)
    btl = case.in_force("OMPI_MCA_btl")
    listed = (btl.known or "") if btl is not None else ""
    is_ucx = case.value("OMPI_MCA_pml") == "ucx"
    if btl is not None and is_ucx and "openib" in listed and not listed.startswith("^"):
        yield mistake("openib-beside-ucx", btl)
    masks = any("cpu-bind" in one.options or "bind-to" in one.options for one in case.job.launches)
    is_ordered = case.in_force("CUDA_DEVICE_ORDER") is not None
    several = case.recipe is not None and case.recipe.gpus_per_node > 1
    wanted = several and case.prescribes("CUDA_DEVICE_ORDER") and case.uses_nccl()
    if masks and wanted and not is_ordered:
        yield mistake("device-order", case.job.launches[0].at)


def _other_than_mvapich2(case: DoctorCase) -> str:
    """The MPI that a job certainly runs with and that is not MVAPICH2; "" where it may be."""
    if case.fabric == "slingshot":
        return "the MPI of Slingshot machines, Cray MPICH,"
    for launch in case.job.launches:
        if any(one in launch.options for one in ("x", "report-bindings")):
            return "Open MPI's mpirun"
    is_mca = any(setting.origin is SettingOrigin.MCA for setting in case.job.settings)
    return "Open MPI's mpirun" if is_mca else ""


def _ucx(case: DoctorCase) -> Iterator[Found]:
    tls, devices = case.in_force("UCX_TLS"), case.in_force("UCX_NET_DEVICES")
    if tls is None or devices is None or not tls.known or not devices.known:
        return
    chosen = {part.strip() for part in tls.known.split(",")}
    ethernet = all(not _is_adapter(one) for one in devices.known.split(","))
    if tls.known.startswith("^") or not chosen <= IB_ONLY | ELSEWHERE:
        return
    fix = ""
    if chosen & IB_ONLY and "tcp" not in chosen and ethernet and devices.known != "all":
        fix = "name an adapter (mlx5_0:1), or take tcp where MPI only launches"
    elif "tcp" in chosen and not chosen & IB_ONLY and not ethernet:
        fix = "name a network interface (eth0)"
    if fix:
        yield mistake("transport-and-device", devices, tls=tls.known, device=devices.known, fix=fix)


def _is_adapter(name: str) -> bool:
    return ":" in name or name.startswith(("mlx", "ib_", "hfi", "bnxt", "irdma", "rocep", "ibp"))


def _log(case: DoctorCase) -> Iterator[Found]:
    setting = case.in_force("NCCL_DEBUG")
    if setting is None or (setting.known or "").upper() not in ("INFO", "TRACE"):
        return
    tasks = number_of(case.job.options, "ntasks") or 0
    tasks_per_node = number_of(case.job.options, "ntasks-per-node")
    per_node = tasks_per_node or (case.recipe.gpus_per_node if case.recipe is not None else 1)
    ranks = max([(case.nodes or 0) * per_node, tasks, *case.job.numbers("n")])
    one_stream = case.in_force("NCCL_DEBUG_FILE") is None and case.job.kind is not JobKind.LIVE
    if ranks > MUCH_LOG_RANKS and one_stream:
        yield mistake("much-log", setting, ranks=str(ranks))
