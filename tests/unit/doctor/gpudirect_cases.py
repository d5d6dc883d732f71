"""Settings that keep adapters from GPU memory, or need something of the host for it."""

from tests.unit.doctor.breach import HEAD, Breach

LEVEL = "export NCCL_NET_GDR_LEVEL=PHB"

GPUDIRECT_CASES = (
    Breach("gdr-not-asked", HEAD, HEAD + LEVEL, "alps-a100"),
    Breach("gdr-not-asked", HEAD, "", "perlmutter"),
    Breach("gpu-memory-closed", "export FI_HMEM_DISABLE_P2P=1", "export FI_HMEM_DISABLE_P2P=0"),
    Breach("gpu-memory-closed", "export FI_HMEM_DISABLE_P2P=yes", "export FI_HMEM_DISABLE_P2P=no"),
    Breach("dmabuf-off", "export NCCL_DMABUF_ENABLE=0", "export NCCL_DMABUF_ENABLE=1"),
    Breach(
        "dmabuf-off", "export FI_HMEM_CUDA_USE_DMABUF=false", "export FI_HMEM_CUDA_USE_DMABUF=true"
    ),
    Breach(
        "dmabuf-off",
        "export FI_CXI_DISABLE_DMABUF_CUDA=1",
        "export FI_CXI_DISABLE_DMABUF_CUDA=0",
    ),
    Breach("gdrcopy-needed", "export NCCL_GDRCOPY_ENABLE=1", "export NCCL_GDRCOPY_ENABLE=0"),
    Breach(
        "gdrcopy-needed",
        "export FI_HMEM_CUDA_USE_GDRCOPY=1",
        "export FI_HMEM_CUDA_USE_GDRCOPY=0",
    ),
)
