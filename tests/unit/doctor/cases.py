"""One text for each rule that breaks it, and one that only looks as if it did."""

from tests.unit.doctor.breach import HEAD, Breach
from tests.unit.doctor.gpudirect_cases import GPUDIRECT_CASES
from tests.unit.doctor.launch_cases import LAUNCH_CASES
from tests.unit.doctor.machine_cases import MACHINE_CASES

TOPO = "export NCCL_TOPO_FILE=/opt/t.xml\n"

CASES = (
    Breach("unknown-name", "export NCCL_MIN_CHANNELS=32", "export NCCL_MIN_NCHANNELS=16"),
    Breach(
        "unknown-name", "export FI_CXI_OVFLOW_BUF_SIZE=1", "export FI_CXI_OFLOW_BUF_SIZE=16000000"
    ),
    Breach("unknown-name", "export NCCL_SOCKET_IFNAMES=eth0", "export NCCL_SOCKET_IFNAME=eth0"),
    Breach("unknown-name", "export NCCL_HCA_IB=mlx5", "export NCCL_IB_HCA=mlx5"),
    Breach(
        "unknown-name-warned", "export UCX_NET_DEVICE=mlx5_0:1", "export UCX_NET_DEVICES=mlx5_0:1"
    ),
    Breach(
        "unknown-name", "export NCCL_QPS_PER_CONNECTION=4", "export NCCL_IB_QPS_PER_CONNECTION=4"
    ),
    Breach("unfamiliar-name", "export NCCL_TIMEOUT=600", "export NCCL_IB_TIMEOUT=22"),
    Breach("unfamiliar-name", "export NCCL_SOCKET_TIMEOUT=60", "export NCCL_ROOT=/opt/nccl"),
    Breach("newer-name", "export NCCL_RAS_ENABLE=0", nccl="2.18.3"),
    Breach("removed-name", "export NCCL_TREE_THRESHOLD=0", "export NCCL_DEBUG=WARN"),
    Breach("removed-name", "export NCCL_WORK_FIFO_DEPTH=1024", nccl="2.27.3"),
    Breach("other-name", "export NCCL_MIN_NRINGS=16", "export NCCL_MIN_NCHANNELS=16"),
    Breach(
        "other-name",
        "export NCCL_AVOID_RECORD_STREAMS=1",
        "export TORCH_NCCL_AVOID_RECORD_STREAMS=1",
    ),
    Breach(
        "other-name",
        "export NCCL_ASYNC_ERROR_HANDLING=1",
        "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
    ),
    Breach(
        "other-name", "export FI_CXI_DISABLE_CQ_HUGETLB=1", "export FI_CXI_DISABLE_EQ_HUGETLB=1"
    ),
    Breach(
        "not-exported",
        "NCCL_IB_TIMEOUT=22\nsrun ./train",
        "NCCL_IB_TIMEOUT=22\nexport NCCL_IB_TIMEOUT\nsrun ./train",
    ),
    Breach("not-exported", "UCX_TLS=rc\nmpirun ./a", "set -a\nUCX_TLS=rc\nmpirun ./a"),
    Breach("malformed-line", "NCCL_DEBUG = WARN\n", "NCCL_DEBUG=WARN\n", name="nccl.conf"),
    Breach("malformed-line", "export NCCL_DEBUG=WARN\n", "# export\n", name="nccl.conf"),
    Breach("malformed-line", "NCCL_DEBUG WARN\n", "NCCL_DEBUG=WARN\n", name="nccl.conf"),
    Breach(
        "twice",
        "mpirun -x NCCL_DEBUG=WARN -x NCCL_DEBUG=INFO ./a",
        "mpirun -x NCCL_DEBUG=WARN -x NCCL_DEBUG=WARN ./a",
    ),
    Breach("word-for-number", "export NCCL_IB_DISABLE=true", "export NCCL_IGNORE_CPU_AFFINITY=1"),
    Breach("word-for-number", "export NCCL_P2P_DISABLE=no", "export NCCL_CHECK_POINTERS=1"),
    Breach(
        "word-refused", "export NCCL_IB_DISABLE=true", "export NCCL_IB_DISABLE=1", nccl="2.32.3"
    ),
    Breach("suffix-on-number", "export NCCL_BUFFSIZE=8M", "export NCCL_BUFFSIZE=8388608"),
    Breach(
        "suffix-on-number",
        "export NCCL_P2P_NET_CHUNKSIZE=2MB",
        "export NCCL_P2P_NET_CHUNKSIZE=0x200000",
    ),
    Breach("octal-number", "export NCCL_IB_TIMEOUT=022", "export NCCL_IB_TIMEOUT=22"),
    Breach(
        "number-too-large",
        "export NCCL_BUFFSIZE=99999999999999999999",
        "export NCCL_BUFFSIZE=8388608",
    ),
    Breach("out-of-range", "export NCCL_IB_TIMEOUT=32", "export NCCL_IB_TIMEOUT=31"),
    Breach("out-of-range", "export NCCL_IB_RETRY_CNT=8", "export NCCL_IB_RETRY_CNT=6"),
    Breach("out-of-range", "export HCOLL_ENABLE_SHARP=5", "export HCOLL_ENABLE_SHARP=4"),
    Breach("empty-value", "mpirun -x NCCL_TOPO_FILE= ./a", "mpirun -x NCCL_TOPO_FILE=$1 ./a"),
    Breach(
        "quotes-in-value",
        "NCCL_NET='AWS Libfabric'\n",
        "NCCL_NET=AWS Libfabric\n",
        name="nccl.conf",
    ),
    Breach(
        "quotes-in-value", "export NCCL_NET=\"'AWS Libfabric'\"", 'export NCCL_NET="AWS Libfabric"'
    ),
    Breach(
        "typographic-quotes", "export NCCL_IB_HCA=\u201cmlx5\u201d", 'export NCCL_IB_HCA="mlx5"'
    ),
    Breach(
        "spaces-around-value",
        "NCCL_SOCKET_IFNAME=eth0 \n",
        "NCCL_SOCKET_IFNAME=eth0\n",
        name="nccl.conf",
    ),
    Breach("unknown-word", "export NCCL_SOCKET_FAMILY=ipv4", "export NCCL_SOCKET_FAMILY=AF_INET"),
    Breach(
        "unknown-word", "export FI_CXI_RX_MATCH_MODE=sw", "export FI_CXI_RX_MATCH_MODE=software"
    ),
    Breach("debug-level", "export NCCL_DEBUG=DEBUG", "export NCCL_DEBUG=info"),
    Breach("debug-level", "export NCCL_DEBUG=3", "export NCCL_DEBUG=VERSION"),
    Breach(
        "debug-subsystem",
        "export NCCL_DEBUG_SUBSYS=INIT,NETWORK",
        "export NCCL_DEBUG_SUBSYS=init,NET",
    ),
    Breach("debug-subsystem", "export NCCL_DEBUG_SUBSYS=RAS", nccl="2.18.3"),
    Breach("level-word", "export NCCL_NET_GDR_LEVEL=phb", "export NCCL_NET_GDR_LEVEL=PHB"),
    Breach("level-number", "export NCCL_P2P_LEVEL=5", "export NCCL_P2P_LEVEL=SYS"),
    Breach("default-value", "export NCCL_IB_TIMEOUT=20", "export NCCL_IB_TIMEOUT=18"),
    Breach(
        "default-value", "export NCCL_IB_TIMEOUT=18", "export NCCL_IB_TIMEOUT=20", nccl="2.18.3"
    ),
    Breach("default-changed", "export NCCL_IB_TIMEOUT=22", "export NCCL_IB_TIMEOUT=20"),
    Breach(
        "default-changed", "export NCCL_IB_TIMEOUT=14", "export NCCL_IB_TIMEOUT=18", nccl="2.14.3"
    ),
    Breach(
        "sign-inside-list", "export NCCL_IB_HCA=mlx5_0,^mlx5_1", "export NCCL_IB_HCA=^mlx5_0,mlx5_1"
    ),
    Breach(
        "prefix-matches-more",
        "export NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_3,mlx5_4,mlx5_5,mlx5_10,mlx5_11,mlx5_12",
        "export NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_3,mlx5_4,mlx5_5,mlx5_10,mlx5_11,mlx5_12",
    ),
    Breach(
        "no-such-device", "export NCCL_IB_HCA=mlx4_0", "export NCCL_IB_HCA=mlx5_ib", "azure-ndv5"
    ),
    Breach(
        "excludes-everything",
        "export NCCL_IB_HCA=^mlx5",
        "export NCCL_IB_HCA=^mlx5_an0",
        "azure-ndv5",
    ),
    Breach(
        "ethernet-function", "export NCCL_IB_HCA=mlx5", "export NCCL_IB_HCA=mlx5_ib", "azure-ndv5"
    ),
    Breach("no-way-out", "export NCCL_SOCKET_IFNAME=lo", "export NCCL_SOCKET_IFNAME=^lo,docker0"),
    Breach(
        "no-way-out",
        "#SBATCH -N 2\nexport NCCL_SOCKET_IFNAME=lo",
        "#SBATCH -N 1\nexport NCCL_SOCKET_IFNAME=lo",
    ),
    Breach(
        "ipoib-meeting",
        "export NCCL_SOCKET_IFNAME=ib0",
        "export NCCL_SOCKET_IFNAME=eth0",
        "azure-ndv5",
    ),
    Breach("infiniband-off", "export NCCL_IB_DISABLE=1", "export NCCL_IB_DISABLE=0", "azure-ndv5"),
    Breach("debug-switch-left-on", "export NCCL_P2P_DISABLE=1", "export NCCL_P2P_DISABLE=0"),
    Breach(
        "debug-switch-left-on",
        "#SBATCH -N 2\nexport NCCL_SHM_DISABLE=1 NCCL_P2P_DISABLE=0",
        "#SBATCH -N 1\nexport NCCL_SHM_DISABLE=1 NCCL_P2P_DISABLE=1",
    ),
    Breach("infiniband-off", "export NCCL_IB_DISABLE=1", "export NCCL_IB_DISABLE=0", "oci-h100"),
    Breach("nvls-demanded", "export NCCL_NVLS_ENABLE=1", "export NCCL_NVLS_ENABLE=2"),
    Breach(
        "nvls-off",
        "export NCCL_NVLS_ENABLE=0",
        "export NCCL_NVLS_ENABLE=0 NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1",
        nodes=1,
    ),
    Breach("gdr-off", "export NCCL_NET_GDR_LEVEL=LOC", "export NCCL_NET_GDR_LEVEL=PIX"),
    Breach("gdr-off", "export NCCL_NET_GDR_LEVEL=0", "export NCCL_NET_GDR_LEVEL=PIX"),
    Breach(
        "gdr-too-near",
        "export NCCL_NET_GDR_LEVEL=PXB",
        "export NCCL_NET_GDR_LEVEL=PHB",
        "alps-gh200",
    ),
    Breach(
        "gid-on-infiniband",
        "export NCCL_IB_GID_INDEX=3",
        "export NCCL_IB_GID_INDEX=-1",
        "azure-ndv5",
    ),
    Breach("gid-fixed", "export NCCL_IB_GID_INDEX=1", "export NCCL_IB_GID_INDEX=3", "oci-h100"),
    Breach(
        "many-queue-pairs",
        "export NCCL_IB_QPS_PER_CONNECTION=16",
        "export NCCL_IB_QPS_PER_CONNECTION=4",
    ),
    Breach("pxn-off", "export NCCL_PXN_DISABLE=1"),
    Breach(
        "channels-crossed",
        "export NCCL_MIN_NCHANNELS=32 NCCL_MAX_NCHANNELS=16",
        "export NCCL_MIN_NCHANNELS=16 NCCL_MAX_NCHANNELS=32",
    ),
    Breach("small-buffers", "export NCCL_BUFFSIZE=65536", "export NCCL_BUFFSIZE=8388608"),
    Breach(
        "algorithms-leave-none", "export NCCL_ALGO=CollnetDirect,NVLS", "export NCCL_ALGO=Ring,NVLS"
    ),
    Breach("algorithms-leave-none", "export NCCL_ALGO=^ring", "export NCCL_ALGO=^tree"),
    Breach(
        "algorithms-of-named-only",
        'export NCCL_ALGO="allreduce:tree"',
        'export NCCL_ALGO="ring;allreduce:tree"',
        nccl="2.31.2",
    ),
    Breach("algorithm-fixed", "export NCCL_ALGO=Ring"),
    Breach("algorithm-fixed", "export NCCL_PROTO=Simple"),
    Breach("unknown-algorithm", "export NCCL_ALGO=Rings", "export NCCL_ALGO=ring"),
    Breach("unknown-algorithm", "export NCCL_PROTO=LL256", "export NCCL_PROTO=^LL128"),
    Breach(
        "collnet-not-enabled",
        "export NCCL_ALGO=Ring,CollnetDirect",
        "export NCCL_ALGO=Ring,CollnetDirect NCCL_COLLNET_ENABLE=1",
    ),
    Breach(
        "collnet-without-plugin",
        "export NCCL_COLLNET_ENABLE=1 NCCL_NET_PLUGIN=ofi",
        "export NCCL_COLLNET_ENABLE=1",
    ),
    Breach("sharp-on-other-fabric", "export NCCL_COLLNET_ENABLE=1", HEAD, "alps-gh200"),
    Breach("sharp-on-other-fabric", "export SHARP_COLL_ENABLE_SAT=1", HEAD, "aws-p5"),
    Breach(
        "sharp-without-collnet",
        HEAD + "export SHARP_COLL_ENABLE_SAT=1",
        HEAD + "export SHARP_COLL_ENABLE_SAT=1 NCCL_COLLNET_ENABLE=1",
    ),
    Breach(
        "collnet-without-streaming",
        "export NCCL_COLLNET_ENABLE=1",
        "export NCCL_COLLNET_ENABLE=1 SHARP_COLL_ENABLE_SAT=1",
    ),
    Breach("collnet-few-nodes", "export NCCL_COLLNET_ENABLE=1", nodes=1),
    Breach(
        "sharp-no-interface",
        "export NCCL_COLLNET_ENABLE=1",
        "export NCCL_COLLNET_ENABLE=1 SHARP_SMX_UCX_INTERFACE=mlx5_ib0:1",
        "azure-ndv5",
    ),
    Breach("words-split", "export NCCL_NET=AWS Libfabric", 'export NCCL_NET="AWS Libfabric"'),
    Breach(
        "plugin-contradicts",
        'export NCCL_NET="AWS Libfabric" NCCL_NET_PLUGIN=none',
        'export NCCL_NET="AWS Libfabric" NCCL_NET_PLUGIN=ofi',
    ),
    Breach(
        "plugin-contradicts",
        "export NCCL_NET=OFI NCCL_NET_PLUGIN=hpcx",
        "export NCCL_NET=OFI NCCL_NET_PLUGIN=/opt/rccl/librccl-net.so",
        "frontier",
    ),
    Breach("plugin-name", 'export NCCL_NET="AWS Libfabric"', "export NCCL_NET=IB"),
    Breach("silent-sockets", HEAD, 'export NCCL_NET="AWS Libfabric"', "alps-gh200"),
    Breach("plugin-too-new-a-form", "export NCCL_NET_PLUGIN=ofi,none", nccl="2.18.3"),
    Breach(
        "plugin-too-new-a-form",
        "export NCCL_NET_PLUGIN=/opt/libnccl-net-ofi.so",
        "export NCCL_NET_PLUGIN=ofi",
        nccl="2.18.3",
    ),
    Breach("wrong-provider", "export FI_PROVIDER=efa", "export FI_PROVIDER=cxi", "alps-gh200"),
    Breach("wrong-provider", "export FI_PROVIDER=tcp", "export FI_PROVIDER=efa", "aws-p5"),
    Breach(
        "rendezvous-does-not-fit",
        "export FI_CXI_RDZV_THRESHOLD=16000000",
        "export FI_CXI_RDZV_THRESHOLD=16000000 FI_CXI_OFLOW_BUF_SIZE=32000000",
    ),
    Breach(
        "alt-read-needs-job",
        "#SBATCH -N 2\nexport FI_CXI_RDZV_PROTO=alt_read",
        "#SBATCH -N 2\n#SBATCH --network=disable_rdzv_get\nexport FI_CXI_RDZV_PROTO=alt_read",
    ),
    Breach(
        "cache-monitor",
        HEAD + "export FI_MR_CACHE_MONITOR=memhooks",
        HEAD + "export FI_MR_CACHE_MONITOR=userfaultfd",
    ),
    Breach(
        "monitor-of-the-kernel",
        HEAD + "export FI_MR_CACHE_MONITOR=kdreg2",
        HEAD + "export FI_MR_CACHE_MONITOR=userfaultfd",
        "alps-gh200",
    ),
    Breach(
        "hardware-matching",
        "export FI_CXI_RX_MATCH_MODE=hardware",
        "export FI_CXI_RX_MATCH_MODE=hybrid",
    ),
    Breach(
        "small-completion-queue",
        "export FI_CXI_DEFAULT_CQ_SIZE=1024",
        "export FI_CXI_DEFAULT_CQ_SIZE=131072",
    ),
    Breach("ll128-on-slingshot", HEAD, "export NCCL_PROTO=^LL128", "alps-gh200"),
    Breach(
        "two-gpu-owners",
        HEAD + "export MPICH_GPU_SUPPORT_ENABLED=1",
        HEAD + "export MPICH_GPU_SUPPORT_ENABLED=0",
        "alps-gh200",
    ),
    Breach("not-needed-any-more", "export CXI_FORK_SAFE=1"),
    Breach(
        "plugin-not-brought",
        HEAD + "export FI_CXI_RX_MATCH_MODE=hybrid\nsrun --container-image=nvcr.io#nvidia/x:1 ./a",
        HEAD + "export FI_CXI_RX_MATCH_MODE=hybrid\nsrun --container-image=nvcr.io#nvidia/x:1"
        " --container-mounts=/opt/nccl-ofi:/opt/nccl-ofi ./a",
    ),
    Breach(
        "image-wins",
        HEAD + "srun --container-image=i ./a",
        HEAD + "srun --container-image=i --container-env=NCCL_DEBUG ./a",
    ),
    Breach(
        "value-for-a-name",
        "srun --container-image=i --container-env=UCX_TLS,NCCL_IB_TC=106 ./a",
        HEAD + "srun --container-image=i --container-env=UCX_TLS --container-env=NCCL_DEBUG ./a",
    ),
    Breach(
        "topology-not-mounted",
        TOPO + "srun --container-image=i --container-env=NCCL_TOPO_FILE ./a",
        TOPO + "srun --container-image=i --container-mounts=/opt:/opt ./a",
    ),
    Breach(
        "topology-missing",
        "export NCCL_TOPO_FILE=/opt/Microsoft/ndv5-topo.xml",
        "export NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml",
        "azure-ndv5",
    ),
    Breach("topology-missing", "export NCCL_TOPO_FILE=topo.xml", "export NCCL_TOPO_FILE=/topo.xml"),
    Breach(
        "topology-of-another-machine",
        "export NCCL_TOPO_FILE=/opt/microsoft/ndv4-topo.xml",
        "export NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml",
        "azure-ndv5",
    ),
    Breach(
        "topology-of-another-machine",
        "export NCCL_TOPO_FILE=/data/ndv4-topo.xml",
        "export NCCL_TOPO_FILE=/data/ndv5-topo.xml",
        "azure-ndv5",
    ),
    Breach("masks", "srun --cpu-bind=mask_cpu:f,1f ./a", "srun --cpu-bind=mask_cpu:f,f0 ./a"),
    Breach("masks", "srun --cpu-bind=mask_cpu:f,xyz ./a", "srun --cpu-bind=mask_cpu:0xf,0xf0 ./a"),
    Breach(
        "masks",
        f"srun --cpu-bind=mask_cpu:f,1{'0' * 24} ./a",
        "srun --cpu-bind=mask_cpu:" + ",".join("fff" + "0" * 3 * i for i in range(8)) + " ./a",
        "azure-ndv5",
    ),
    Breach(
        "device-order",
        HEAD + "srun --cpu-bind=cores ./a",
        HEAD + "export CUDA_DEVICE_ORDER=PCI_BUS_ID\nsrun --cpu-bind=cores ./a",
        "azure-ndv5",
    ),
    Breach(
        "transport-and-device",
        "export UCX_TLS=rc UCX_NET_DEVICES=eth0",
        "export UCX_TLS=rc UCX_NET_DEVICES=mlx5_0:1",
    ),
    Breach(
        "transport-and-device",
        "export UCX_TLS=tcp UCX_NET_DEVICES=mlx5_0:1",
        "export UCX_TLS=tcp UCX_NET_DEVICES=eth0",
    ),
    Breach(
        "hcoll-beside-nccl",
        "mpirun --mca coll_hcoll_enable 1 -x NCCL_DEBUG=WARN ./a",
        "mpirun --mca coll_hcoll_enable 0 -x NCCL_DEBUG=WARN ./a",
    ),
    Breach(
        "other-mpi",
        "mpirun -x MV2_ENABLE_SHARP=1 ./a",
        "mpirun -genv MV2_ENABLE_SHARP 1 ./a",
    ),
    Breach(
        "other-mpi",
        "mpirun --mca pml ucx ./a\nexport MV2_ENABLE_SHARP=1",
        "mpirun ./a\nexport MV2_ENABLE_SHARP=1",
    ),
    Breach("other-mpi", "export MV2_USE_MCAST=1", platform="alps-gh200"),
    Breach(
        "renamed-in-mvapich-3",
        "module load mvapich/3.0\nexport MV2_USE_MCAST=1",
        "module load mvapich2/2.3.7\nexport MV2_USE_MCAST=1",
    ),
    Breach(
        "sharp-full-nodes",
        "#SBATCH --ntasks-per-node=56\nexport MV2_ENABLE_SHARP=1",
        "#SBATCH --ntasks-per-node=1\nexport MV2_ENABLE_SHARP=1",
    ),
    Breach(
        "openib-beside-ucx",
        "mpirun --mca pml ucx --mca btl openib,self ./a",
        "mpirun --mca pml ucx --mca btl ^openib ./a",
    ),
    Breach(
        "much-log",
        "export NCCL_DEBUG=INFO\nsrun -n 512 ./a",
        "export NCCL_DEBUG=INFO NCCL_DEBUG_FILE=/tmp/%h.%p\nsrun -n 512 ./a",
    ),
    Breach("watcher-off", "export NCCL_RAS_ENABLE=0"),
    *GPUDIRECT_CASES,
    *LAUNCH_CASES,
    *MACHINE_CASES,
)
