"""The judgement of a container: the network that is meant, its chain, and the verdict."""

from weft.core.finding import Severity
from weft.core.units import format_size_roughly
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.libfabric import OFI_NETWORKS, LibfabricChain
from weft.doctor.container.chain.log_lines import predicted_lines
from weft.doctor.container.chain.mount_points import report_mount_points
from weft.doctor.container.chain.mpi import follow_mpi, put_first
from weft.doctor.container.chain.providers import PROVIDERS
from weft.doctor.container.chain.report import (
    Chain,
    report_broken_links,
    report_unknown,
    settle,
)
from weft.doctor.container.chain.verbs import follow_verbs
from weft.doctor.container.launch.runtime import PLAIN

CXI_SIGNS = ("FI_CXI_", "CXI_")
EFA_SIGNS = ("FI_EFA_",)
TITLES = {
    "slingshot": "Slingshot (libfabric, provider cxi)",
    "efa": "EFA (libfabric, provider efa)",
    "infiniband": "InfiniBand (libibverbs)",
    "roce": "RoCE (libibverbs)",
}
WOULD_SHOW = {
    "libfabric": (
        "a plug-in that is not mounted, not on a path or not selected",
        "a plug-in for another NCCL",
        "a libfabric that is absent or lacks the provider",
        "a missing library or version of symbols below them",
        "no device of the adapter",
    ),
    "verbs": (
        "no libibverbs",
        "a driver of another rdma-core",
        "no device of the adapter",
    ),
}
_NO_START = ("mount-source-absent", "mount-point-unfit")
"""Faults that keep the container from its start."""
_VERBS_FABRICS = ("infiniband", "roce")
NETWORKS = {"slingshot": "NET/OFI over cxi", "efa": "NET/OFI over efa"}


def judge_container(case: ContainerCase) -> Chain:
    """The chain, with faults and open questions."""
    fabric = fabric_of(case)
    chain = Chain(fabric)
    if not fabric:
        chain.gap(
            "which network the nodes have (no device, variable or mount shows it)",
            "--recipe PLATFORM, or --host ROOT of a compute node",
        )
        if case.has_usable_loader:
            _judge_mpi(case, chain)
        return chain
    if _is_unusable(case, chain):
        return chain
    for one in case.absent_mounts:
        if case.host_is_given:
            chain.fault(
                "mount-source-absent",
                source=one.source,
                target=one.target,
                host=case.host_tree.name,
                place=one.origin,
            )
    report_mount_points(case, chain)
    if fabric in PROVIDERS:
        search = LibfabricChain(case, chain, PROVIDERS[fabric]).follow()
        chain.would_show += WOULD_SHOW["libfabric"]
    else:
        search = follow_verbs(case, chain)
        chain.would_show += WOULD_SHOW["verbs"]
    if not case.host_is_given:
        for one in case.absent_mounts:
            chain.gap(
                f"what {one.source} holds ({one.origin} mounts it; this machine lacks it)",
                "the same command on a compute node, or --host ROOT",
            )
    _report_isolation(case, chain)
    report_unknown(case, chain)
    _judge_mpi(case, chain)
    report_broken_links(chain)
    # Nothing of NCCL or MPI happens in a container that does not start.
    chain.faults.sort(key=lambda one: one.rule.id not in _NO_START)
    if chain.start_log is not None and chain.start_log.lines:
        chain.log, chain.provider_log = (), None
    else:
        chain.log = predicted_lines(search, is_good=chain.verdict() is Severity.GOOD)
    return chain


def _judge_mpi(case: ContainerCase, chain: Chain) -> None:
    found = follow_mpi(case, chain)
    settle(case, chain)
    put_first(chain, found)


_OF_NAMESPACE = {"IPC": "the shared memory", "PID": "the processes"}


def _report_isolation(case: ContainerCase, chain: Chain) -> None:
    plan = case.plan
    if plan.isolation.small_shared_memory:
        chain.fault("shared-memory-small", engine=plan.runtime.name, place=plan.place)
    if plan.isolation.network:
        name = plan.isolation.network
        chain.fault("own-network", name=name, engine=plan.runtime.name, place=plan.place)
    if plan.isolation.namespaces:
        names = plan.isolation.namespaces
        chain.fault(
            "own-namespaces",
            names=" and ".join(f"{name} namespace" for name in names),
            lost=" and ".join(_OF_NAMESPACE[name] for name in names),
            options=" ".join(f"--{name.lower()}=host" for name in names),
            engine=plan.runtime.name,
            place=plan.place,
        )
    limit_bytes, memory_bytes = case.locked_memory.limit_bytes, case.host_memory_bytes
    if limit_bytes is None or (memory_bytes is not None and limit_bytes >= memory_bytes):
        return
    if chain.fabric in _VERBS_FABRICS:
        limit, told_by = format_size_roughly(limit_bytes), case.locked_memory.told_by
        chain.fault("locked-memory-limited", limit=limit, told_by=told_by)


def _is_unusable(case: ContainerCase, chain: Chain) -> bool:
    """Whether the image has no loader that could load anything."""
    if case.has_usable_loader:
        return False
    if case.directories.is_musl:
        names = case.view.names("/lib")
        loader = next(f"/lib/{one}" for one in names if one.startswith("ld-musl-"))
        chain.fault("no-glibc", loader=loader)
        chain.network = "fail to load the host's libraries"
        return True
    if case.directories.interpreter is None:
        chain.gap(
            "how the image loads libraries (it has no dynamic loader of glibc)",
            "an image with glibc",
        )
        return True
    loader = f"{case.directories.interpreter.path}: {case.loader_damage}"
    chain.gap(
        f"how the image loads libraries (its dynamic loader {loader})",
        "an image whose dynamic loader is whole",
    )
    return True


def fabric_of(case: ContainerCase) -> str:
    """The network of the nodes, "" where no evidence tells it: by the recipe, the host's devices,
    variables, and mounts, in this order."""
    if case.recipe is not None:
        return case.recipe.fabric
    names = list(case.variables)
    provider = case.value("FI_PROVIDER").split(";")[0]
    mounts = [f"{one.source} {one.target}" for one in case.mounts]
    adapters = case.host.names("/sys/class/infiniband")
    is_ofi = case.value("NCCL_NET").lower() in OFI_NETWORKS
    has_verbs = bool(case.host_devices("/dev/infiniband/uverbs")) and not is_ofi
    signs = (
        ("slingshot", bool(case.host_devices("/dev/cxi") or case.devices("/dev/cxi"))),
        ("slingshot", provider == "cxi" or any(one.startswith(CXI_SIGNS) for one in names)),
        ("efa", provider == "efa" or any(one.startswith(EFA_SIGNS) for one in names)),
        ("slingshot", any("cxi" in one for one in (*mounts, *case.plan.hooks))),
        ("efa", any(one.startswith(("efa", "rdmap")) for one in adapters)),
        ("infiniband", has_verbs or "NCCL_IB_HCA" in names),
    )
    return next((fabric for fabric, is_so in signs if is_so), "")


def outcome(case: ContainerCase, chain: Chain) -> str:
    """What ranks will do, as the begin of the verdict: `4 of 4 ranks will use NET/Socket`."""
    if any(one.rule.id in _NO_START for one in chain.faults):
        return "the container does not start"
    number = case.plan.n_ranks
    good = NETWORKS.get(chain.fabric, "NET/IB")
    does = chain.network if chain.faults else f"use {good}"
    ranks = f"{number} of {number} ranks"
    if not number:
        ranks = "ranks" if does.endswith("each other") else "every rank"
        if does.startswith("each "):
            ranks, does = "each rank", does.removeprefix("each ")
    if case.plan.runtime is PLAIN and not case.mounts:
        ranks = f"started without a mount, {ranks}"
    return f"{ranks} will {does}"
