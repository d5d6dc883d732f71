"""GPUDirect RDMA over verbs: how GPU memory is registered, and who of host and image cannot."""

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.plugin import ImageNccl
from weft.doctor.container.chain.report import Chain, is_known, open_parts
from weft.doctor.container.loader.closure import LoadedFile
from weft.doctor.numbers import strtoll

DRIVER = "/sys/module/nvidia"
VERBS_MODULE = "/sys/module/ib_uverbs"
PEER_MODULE = "nvidia_peermem"
SWITCH = "NCCL_DMABUF_ENABLE"
DMABUF_VERSION = "IBVERBS_1.12"
"""SOURCE: NVIDIA/nccl v2.30.7, src/misc/ibvsymbols.cc: ibv_reg_dmabuf_mr of this version, without
which NCCL registers no DMA-BUF; the same words are in libnccl 2.18.3, 2.26.5 and 2.32.3."""


def report_registration(
    case: ContainerCase, chain: Chain, nccl: ImageNccl | None, verbs: LoadedFile | None
) -> None:
    """A warning where neither nvidia_peermem of the host nor DMA-BUF can register GPU memory.

    Only of a host whose files show NVIDIA's driver and verbs: a copy without /sys tells nothing.
    """
    if nccl is None or not nccl.library.peer_signs:
        return
    host = case.host
    if any(host.resolve(one) is None for one in (DRIVER, VERBS_MODULE)):
        return
    signs = sorted(nccl.library.peer_signs)
    if any(host.resolve(one) is not None for one in signs):
        return
    found = _lack_of_dmabuf(case, nccl, verbs)
    if found is None:
        return
    is_loaded = host.resolve(f"/sys/module/{PEER_MODULE}") is not None
    version = nccl.library.version
    peer = (
        f"NCCL {version} looks for {PEER_MODULE} at {' and '.join(signs)} only, and the host has "
        "it elsewhere"
        if is_loaded
        else f"the host's kernel has no {PEER_MODULE}"
    )
    better = f"take a newer NCCL, or {found[1]}" if is_loaded else found[1]
    chain.fault("gpu-memory-unregistered", peer=peer, dmabuf=found[0], better=better)


def _lack_of_dmabuf(
    case: ContainerCase, nccl: ImageNccl, verbs: LoadedFile | None
) -> tuple[str, str] | None:
    """Why NCCL of the image registers no DMA-BUF and what mends it; None where it may."""
    variable = case.variables.get(SWITCH)
    value = variable.value if variable is not None and is_known(variable.value) else ""
    if variable is not None and value and strtoll(value)[0] == 0:
        where = f"{SWITCH}={variable.text} ({variable.origin})"
        return f"{where} switches DMA-BUF off", f"leave {SWITCH} out"
    if SWITCH not in nccl.library.names:
        return f"NCCL {nccl.library.version} knows no DMA-BUF", "take NCCL 2.13 or newer"
    known = verbs.facts.versions if verbs is not None else None
    if verbs is None or known is None or DMABUF_VERSION in known or open_parts(case):
        return None
    lack = f"{verbs.opened} has no ibv_reg_dmabuf_mr ({DMABUF_VERSION})"
    return lack, "take an image with a newer rdma-core"
