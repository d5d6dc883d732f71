"""Settings that do not fit a machine, or each other."""

from tests.unit.doctor.breach import HEAD, Breach

MACHINE_CASES = (
    Breach("gdr-anywhere", "export NCCL_NET_GDR_LEVEL=SYS", "export NCCL_NET_GDR_LEVEL=PHB"),
    Breach("short-timeout", "export NCCL_IB_TIMEOUT=13", "export NCCL_IB_TIMEOUT=14"),
    Breach("service-level", "export NCCL_IB_SL=0", "export NCCL_IB_SL=1", "azure-ndv6"),
    Breach(
        "queue-pairs-and-routing",
        "export NCCL_IB_ADAPTIVE_ROUTING=1 NCCL_IB_QPS_PER_CONNECTION=4",
        "export NCCL_IB_ADAPTIVE_ROUTING=0 NCCL_IB_QPS_PER_CONNECTION=4",
    ),
    # 2 MiB x 8 steps = 16 MiB; the buffer has 4 MiB unless it is set.
    Breach(
        "chunk-cut",
        "export NCCL_P2P_NET_CHUNKSIZE=2097152",
        "export NCCL_P2P_NET_CHUNKSIZE=2097152 NCCL_BUFFSIZE=16777216",
    ),
    Breach(
        "chunk-cut", "export NCCL_P2P_NET_CHUNKSIZE=524289", "export NCCL_P2P_NET_CHUNKSIZE=524288"
    ),
    Breach(
        "plugin-off",
        HEAD + "export NCCL_NET_PLUGIN=none",
        HEAD + "export NCCL_NET_PLUGIN=ofi",
        "aws-p5",
    ),
    Breach(
        "network-for-one-node",
        "#SBATCH -N 1\nexport NCCL_NET='AWS Libfabric'",
        "#SBATCH -N 2\nexport NCCL_NET='AWS Libfabric'",
        "alps-gh200",
    ),
    Breach(
        "graph-of-another-topology",
        "export NCCL_TOPO_FILE=/opt/ndv4-topo.xml NCCL_GRAPH_FILE=/opt/ncv4-graph.xml",
        "export NCCL_TOPO_FILE=/opt/ncv4-topo.xml NCCL_GRAPH_FILE=/opt/ncv4-graph.xml",
    ),
    Breach(
        "sharp-without-hcoll",
        "mpirun --mca coll_hcoll_enable 0 -x HCOLL_ENABLE_SHARP=3 ./a",
        "mpirun --mca coll_hcoll_enable 1 -x HCOLL_ENABLE_SHARP=3 ./a",
    ),
)
