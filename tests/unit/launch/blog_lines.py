"""Command lines as Affaticati et al. print them in the Azure HPC blog, and Madonna's variables.

They are what recipes are held against; nothing here is weft's own.
"""

SINGLE = """mpirun -np 8 --bind-to numa --report-bindings --map-by ppr:8:node \\
-x LD_LIBRARY_PATH=$LD_LIBRARY_PATH -mca coll_hcoll_enable 0 \\
-x UCX_TLS=tcp -x UCX_NET_DEVICES=eth0 -x CUDA_DEVICE_ORDER=PCI_BUS_ID \\
-x NCCL_SOCKET_IFNAME=eth0 -x NCCL_DEBUG=WARN {switches} \\
/opt/nccl-tests/build/all_reduce_perf -b1K -f2 -g1 -e 4G
"""
NVLINK = SINGLE.format(switches="-x NCCL_NVLS_ENABLE=1")
LOOPBACK = SINGLE.format(
    switches="-x NCCL_SHM_DISABLE=1 -x NCCL_P2P_DISABLE=1 -x NCCL_NVLS_ENABLE=0"
)
MULTI = """mpirun -np $(( NODES * 8 )) -hostfile $HOSTFILE --bind-to numa --map-by ppr:8:node \\
-x LD_LIBRARY_PATH=$LD_LIBRARY_PATH -mca coll_hcoll_enable 0 \\
-x UCX_TLS=rc -x UCX_NET_DEVICES=mlx5_ib0:1 -x NCCL_IB_HCA=^mlx5_an0:1 \\
-x CUDA_DEVICE_ORDER=PCI_BUS_ID -x NCCL_SOCKET_IFNAME=eth0 -x NCCL_DEBUG=warn \\
-x NCCL_MIN_NCHANNELS=32 -x NCCL_NET_GDR_LEVEL=5 \\
-x NCCL_TOPO_FILE=/opt/microsoft/${SKU}-topo.xml -x NCCL_NVLS_ENABLE=1 \\
$sharp_args \\
$ALL_REDUCE_PERF -f 2 -g1 -b1K -e 4G
"""
SHARP_ARGS = """sharp_args="-x NCCL_COLLNET_ENABLE=1 \\
-x NCCL_ALGO=CollnetDirect,CollnetChain,NVLS \\
-x SHARP_COLL_ENABLE_SAT=1 \\
-x SHARP_COLL_LOG_LEVEL=3 \\
-x SHARP_COLL_ENABLE_PCI_RELAXED_ORDERING=1"
"""
SHARP = SHARP_ARGS + MULTI
GROK = """export NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml
export NCCL_P2P_NET_CHUNKSIZE=2097152
export NCCL_MIN_NCHANNELS=32
export NCCL_IB_QPS_PER_CONNECTION=4
export NCCL_PXN_DISABLE=1
export NCCL_IGNORE_CPU_AFFINITY=1
srun \\
--container-image "$IMAGE" \\
--container-mounts ${NCCL_TOPO_FILE},$RESULT_DIR,$INDEX_MAPPING_DIR,$STAGE_PATH/cfg:/cfg,\
$STAGE_PATH/configure.sh:/gsw/configure.sh \\
--container-env=NCCL_TOPO_FILE,NCCL_P2P_NET_CHUNKSIZE,NCCL_MIN_NCHANNELS,\
NCCL_IB_QPS_PER_CONNECTION,NCCL_PXN_DISABLE,NCCL_IGNORE_CPU_AFFINITY \\
--cpu-bind=mask_cpu:"fff,fff000,fff000000,fff000000000,fff000000000000,fff000000000000000,\
fff000000000000000000,fff000000000000000000000" \\
--container-writable \\
--no-container-mount-home \\
bash -c "source /gsw/configure.sh && launch"
"""
MOUNTS = (
    "$RESULT_DIR",
    "$INDEX_MAPPING_DIR",
    "$STAGE_PATH/cfg:/cfg",
    "$STAGE_PATH/configure.sh:/gsw/configure.sh",
)
"""The blog's, beside the topology file."""
MADONNA = """export NCCL_NET_PLUGIN=ofi
export CXI_FORK_SAFE="1"
export CXI_FORK_SAFE_HP="1"
export NCCL_NET_GDR_LEVEL="PHB"
export NCCL_CROSS_NIC="1"
export FI_CXI_DISABLE_CQ_HUGETLB="1"
export FI_CXI_DISABLE_HOST_REGISTER="1"
export FI_MR_CACHE_MONITOR="userfaultfd"
"""
"""Madonna, CANOPIE-HPC at SC23: NAME=VALUE of two slides."""
