"""Mistakes that published recipes and guides hold, each in a few lines of our own with its source.

`finds` are the rule and the line of all that is more than a note.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedMistake:
    """Somebody's mistake, as it would stand in a script that is right otherwise."""

    what: str
    source: str
    text: str
    finds: tuple[tuple[str, int], ...]
    platform: str = ""
    nccl: str = "2.26.5"
    name: str = "job.sh"


AZURE_AI = "Azure/ai-infrastructure-on-azure a01b073, examples/dgx_benchmarking/slurm/README.md"
AWS = "aws-samples/awsome-distributed-training"
AFFATICATI = "Affaticati et al., Azure HPC blog"
PUBLISHED = (
    PublishedMistake(
        "the name of a limit of channels without its N",
        AZURE_AI,
        "#SBATCH --nodes=4\nexport NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml\n"
        "export NCCL_MIN_CHANNELS=32\nsrun ./train\n",
        (("unknown-name", 3),),
        "azure-ndv5",
    ),
    PublishedMistake(
        "the same in a cheat sheet",
        f"{AWS}, 1.architectures/efa-cheatsheet.md",
        "#SBATCH --nodes=2\nexport FI_PROVIDER=efa\nexport NCCL_NET='AWS Libfabric'\n"
        "export NCCL_MIN_CHANNELS=16\nsrun ./train\n",
        (("unknown-name", 4),),
        "aws-p5",
    ),
    PublishedMistake(
        "two of six variables handed into the container",
        AZURE_AI,
        "export NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml\nexport NCCL_IB_QPS_PER_CONNECTION=4\n"
        "export NCCL_P2P_NET_CHUNKSIZE=2097152\nexport NCCL_PXN_DISABLE=1\n"
        "export NCCL_MIN_NCHANNELS=32\nexport NCCL_IGNORE_CPU_AFFINITY=1\n"
        "srun --container-image=i --container-mounts=/opt/microsoft:/opt/microsoft"
        " --container-env=NCCL_TOPO_FILE,NCCL_PXN_DISABLE ./train\n",
        (("chunk-cut", 3), ("image-wins", 7)),
        "azure-ndv5",
    ),
    PublishedMistake(
        "time-outs that NCCL does not have",
        f"{AWS}, sbatch samples",
        "export FI_PROVIDER=efa\nexport NCCL_NET='AWS Libfabric'\nexport NCCL_TIMEOUT=600\n"
        "export NCCL_SOCKET_TIMEOUT=60\nexport NCCL_NET_MAX_REQUESTS=8\nsrun ./train\n",
        (("unfamiliar-name", 3), ("unfamiliar-name", 4), ("unfamiliar-name", 5)),
        "aws-p5",
    ),
    PublishedMistake(
        "PyTorch's variables under NCCL's prefix",
        f"{AWS}, sbatch samples",
        "export FI_PROVIDER=efa\nexport NCCL_NET='AWS Libfabric'\n"
        "export NCCL_AVOID_RECORD_STREAMS=1\nexport NCCL_ASYNC_ERROR_HANDLING=1\nsrun ./train\n",
        (("other-name", 3), ("other-name", 4)),
        "aws-p5",
    ),
    PublishedMistake(
        "GPUDirect RDMA switched off in an image",
        f"{AWS}, Dockerfiles: NCCL_NET_GDR_LEVEL=LOC",
        "export NCCL_NET='AWS Libfabric'\nexport NCCL_NET_GDR_LEVEL=LOC\nsrun ./train\n",
        (("gdr-off", 2),),
        "aws-p5",
    ),
    PublishedMistake(
        "overflow with a V too many",
        "argonne-lcf/user-guides, aurora tensorflow.md",
        "export FI_CXI_DEFAULT_CQ_SIZE=131072\nexport FI_CXI_OVFLOW_BUF_SIZE=8388608\nsrun ./a\n",
        (("unknown-name", 2),),
    ),
    PublishedMistake(
        "CollNet where no plug-in has it",
        "argonne-lcf/user-guides, Polaris",
        "export NCCL_NET='AWS Libfabric'\nexport NCCL_CROSS_NIC=1\n"
        "export NCCL_NET_GDR_LEVEL=PHB\nexport NCCL_COLLNET_ENABLE=1\nsrun ./train\n",
        (("collnet-without-plugin", 4),),
    ),
    PublishedMistake(
        "a topology file of no name",
        "Azure/azurehpc-health-checks 0e0a1ac, azure_nccl_allreduce.nhc",
        "mpirun -np 8 --bind-to numa -x NCCL_SOCKET_IFNAME=eth0 \\\n  -x NCCL_TOPO_FILE= \\\n"
        "  ./all_reduce_perf\n",
        (("empty-value", 2),),
        "azure-ndv5",
    ),
    PublishedMistake(
        "a level that is none, in a manifest",
        "a script of Google Cloud's for NCCL tests",
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: nccl\n    image: i\n    env:\n"
        "    - name: NCCL_DEBUG\n      value: DEBUG\n",
        (("debug-level", 8),),
        name="pod.yaml",
    ),
    PublishedMistake(
        "a folder with a capital letter",
        f"{AFFATICATI}, table 4",
        "export NCCL_TOPO_FILE=/opt/Microsoft/ndv5-topo.xml\nexport NCCL_PXN_DISABLE=1\nsrun ./a\n",
        (("topology-missing", 1),),
        "azure-ndv5",
    ),
    PublishedMistake(
        "a value that became part of the name",
        f"{AFFATICATI}, list of variables: NCCL_NVLS_ENABLE1",
        "export NCCL_SOCKET_IFNAME=eth0\nexport NCCL_NVLS_ENABLE1=1\nsrun ./a\n",
        (("unknown-name", 2),),
        "azure-ndv5",
    ),
    PublishedMistake(
        "algorithms that leave broadcast none",
        f"{AFFATICATI}, SHARP arguments",
        "mpirun -np 16 -hostfile h -x NCCL_SOCKET_IFNAME=eth0 \\\n  -x NCCL_COLLNET_ENABLE=1 \\\n"
        "  -x NCCL_ALGO=CollnetDirect,CollnetChain,NVLS \\\n  -x SHARP_COLL_ENABLE_SAT=1 \\\n"
        "  -x SHARP_SMX_UCX_INTERFACE=mlx5_ib0:1 ./all_reduce_perf\n",
        (("algorithms-leave-none", 3),),
        "azure-ndv5",
    ),
    PublishedMistake(
        "a distance as a number",
        f"{AFFATICATI}, several nodes: NCCL_NET_GDR_LEVEL=5",
        "mpirun -np 16 -hostfile h -x NCCL_SOCKET_IFNAME=eth0 \\\n  -x NCCL_NET_GDR_LEVEL=5 ./a\n",
        (("level-number", 2),),
        "azure-ndv5",
    ),
    PublishedMistake(
        "typographic quotes, pasted",
        f"{AFFATICATI}, training section: STAGE_PATH",
        "export NCCL_TOPO_FILE=\u201c/opt/microsoft/ndv5-topo.xml\u201d\nsrun ./a\n",
        (("typographic-quotes", 1),),
        "azure-ndv5",
    ),
    PublishedMistake(
        "an old name of libfabric's",
        "Madonna, CANOPIE-HPC 2023",
        "export FI_CXI_DISABLE_CQ_HUGETLB=1\nexport FI_CXI_DISABLE_HOST_REGISTER=1\nsrun ./a\n",
        (("other-name", 1),),
    ),
    PublishedMistake(
        "quotes that a hook of ssh hands on",
        "eth-cscs/cscs-docs 80abed1, NCCL page: known issues",
        "NCCL_CROSS_NIC=1\nNCCL_NET='AWS Libfabric'\n",
        (("quotes-in-value", 2),),
        name="nccl.conf",
    ),
    PublishedMistake(
        "SHARP with every core in use",
        "Cazes, MUG 2020: results with 56 tasks a node",
        "#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=56\nexport MV2_ENABLE_SHARP=1\nibrun ./a\n",
        (("sharp-full-nodes", 3),),
        "frontera",
    ),
    PublishedMistake(
        "a time-out of the old scale",
        "oracle-quickstart/oci-hpc b5285a68: written with two digits, as in octal",
        "export NCCL_IB_TIMEOUT=022\nexport NCCL_IB_SL=0\nsrun ./a\n",
        (("octal-number", 1),),
    ),
    PublishedMistake(
        "tree for one collective under the newest NCCL",
        "vllm-project/vllm pull request 58179",
        "export NCCL_ALGO=allreduce:tree\nsrun ./serve\n",
        (("algorithms-of-named-only", 1),),
        nccl="2.31.2",
    ),
)
