"""GPUDirect RDMA on libfabric's networks: what must be allowed, and how memory is registered."""

from collections.abc import Iterator

from weft.doctor.case import DoctorCase, Found, mistake

LEVEL = "NCCL_NET_GDR_LEVEL"
DMABUF = {
    "NCCL_DMABUF_ENABLE": False,
    "OFI_NCCL_DISABLE_DMABUF": True,
    "FI_HMEM_CUDA_USE_DMABUF": False,
    "FI_HMEM_ROCR_USE_DMABUF": False,
    "FI_CXI_DISABLE_DMABUF_CUDA": True,
    "FI_CXI_DISABLE_DMABUF_ROCR": True,
}
"""Variables that switch off registration by DMA-BUF, and whether they do so when they are on."""
GDRCOPY = ("NCCL_GDRCOPY_ENABLE", "FI_HMEM_CUDA_USE_GDRCOPY")


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    is_nccl = case.recipe is not None and case.recipe.library == "nccl" and case.uses_nccl()
    if is_nccl and case.fabric == "slingshot" and case.nodes != 1 and case.prescribes(LEVEL):
        first = min(case.job.settings, key=lambda one: one.at.start)
        if case.in_force(LEVEL) is None:
            yield mistake("gdr-not-asked", first.at, platform=case.machine())
    closed = case.in_force("FI_HMEM_DISABLE_P2P")
    if closed is not None and _is_on(case, closed.name):
        yield mistake("gpu-memory-closed", closed)
    for name, when_on in DMABUF.items():
        setting = case.in_force(name)
        if setting is not None and _is_on(case, name) is when_on:
            yield mistake("dmabuf-off", setting)
    for name in GDRCOPY:
        setting = case.in_force(name)
        if setting is not None and _is_on(case, name):
            yield mistake("gdrcopy-needed", setting)


def _is_on(case: DoctorCase, name: str) -> bool | None:
    """Whether a variable is on, as its library reads it; None where the value says neither."""
    if name.startswith("NCCL_"):
        number = case.number(name)
        return None if number is None else number != 0
    word = (case.value(name) or "").strip().lower()
    return True if word in ON else False if word in OFF else None


ON, OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
"""Words of libfabric. SOURCE: ofiwg/libfabric af8ddbe, src/var.c fi_param_get_."""
