"""Healthy launch files of several kinds, with the traits of public ones, and harmless oddities."""

import random
import re
from collections.abc import Callable

SBATCH = """#!/bin/bash
#SBATCH --job-name=train   # two nodes
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --export=ALL

set -euo pipefail
module load cuda/12.4 openmpi
export NCCL_DEBUG=WARN
export NCCL_SOCKET_IFNAME=eth0
export NCCL_IB_HCA="=mlx5_0,mlx5_1,mlx5_2,mlx5_3"
export UCX_TLS=rc,sm,self
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --cpu-bind=none python train.py --master "$MASTER_ADDR"
"""
MPIRUN = """# all_reduce on a list of hosts
HOSTS=a:8,b:8
ARGS=(--bind-to none -x PATH)
mpirun -np 16 -H $HOSTS "${ARGS[@]}" \\
  -x NCCL_DEBUG=WARN -x NCCL_IB_HCA=mlx5 \\
  -x NCCL_IB_QPS_PER_CONNECTION=4 \\
  --mca coll_hcoll_enable 0 \\
  /opt/nccl-tests/build/all_reduce_perf -b 8 -e 1G -f 2
"""
BRANCHES = """#!/usr/bin/env bash
usage() { echo "usage: NCCL_DEBUG=INFO $0 ib|tcp"; exit 1; }
fabric=${1:-ib}
if [[ "$fabric" == ib ]]; then
  export NCCL_IB_HCA=mlx5
  export NCCL_IB_TIMEOUT=${NCCL_IB_TIMEOUT:-22}
elif [[ "$fabric" == tcp ]]; then
  export NCCL_IB_DISABLE=1
  export NCCL_SOCKET_IFNAME=eth0
else
  usage
fi
torchrun --nnodes=4 --nproc_per_node=8 train.py
"""
CASES = """#!/bin/bash
case "$(hostname)" in
  gpu*) iface=ib0; export NCCL_IB_GID_INDEX=3 ;;
  *) iface=eth0
     export NCCL_NET=Socket ;;
esac
for n in 1 2 4; do
  NCCL_SOCKET_IFNAME=$iface NCCL_MIN_NCHANNELS=$n srun -N 2 ./all_reduce_perf
done
"""
CONTAINER = """#!/bin/bash
#SBATCH -N 4
export NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml NCCL_IB_QPS_PER_CONNECTION=4
export NCCL_MIN_NCHANNELS=32
srun --container-image=registry/train:1 --container-mounts=/opt/microsoft:/opt/microsoft \\
  --container-env=NCCL_TOPO_FILE,NCCL_MIN_NCHANNELS python train.py
"""
DOCKERFILE = """FROM nvcr.io/nvidia/pytorch:25.01-py3
ARG NCCL_VERSION=2.25.1
ENV NCCL_DEBUG=WARN \\
    NCCL_SOCKET_IFNAME=^docker0,lo
ENV UCX_TLS rc,sm,self
RUN apt-get update && apt-get install -y openssh-server \\
    && echo "NCCL_IB_QPS_PER_CONNECTION=4" >> /etc/nccl.conf
CMD ["mpirun", "-np", "8", "-x", "NCCL_IB_HCA=mlx5", "./all_reduce_perf"]
"""
CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata:
  name: scripts
data:
  nccl.conf: |
    NCCL_IB_TC=106
    NCCL_IB_GID_INDEX=3
  run.sh: |-
    #!/bin/bash
    export NCCL_DEBUG=WARN
    mpirun --hostfile /etc/hosts.mpi -np 16 \\
      -x NCCL_DEBUG -x NCCL_IB_HCA=mlx5_0,mlx5_1 \\
      /opt/all_reduce_perf
  notes.txt: all hosts have the same adapters
"""
MPI_JOB = """apiVersion: kubeflow.org/v2beta1
kind: MPIJob
spec:
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - image: registry/nccl-tests:1
            command: ["/bin/bash", "-c"]
            args:
            - |
              mpirun -np 16 -x NCCL_IB_HCA=mlx5 -x NCCL_DEBUG=WARN \\
                ./all_reduce_perf
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - image: registry/nccl-tests:1
            env:
            - name: UCX_NET_DEVICES
              value: mlx5_0:1
"""
EDF = """image = "nvcr.io#nvidia/pytorch:25.01-py3"
mounts = ["/capstor", "/users"]
[annotations]
com.hooks.aws_ofi_nccl.enabled = "true"
[env]
NCCL_DEBUG = "WARN"
FI_CXI_RX_MATCH_MODE = "software"
"""
CONF = """# defaults of this site
NCCL_IB_HCA=mlx5_0,mlx5_1
NCCL_SOCKET_IFNAME=bond0
NCCL_IB_TC=106
"""
SOURCED = """# read by the launcher of each node
export NCCL_SOCKET_IFNAME=eth0
export NCCL_IB_QPS_PER_CONNECTION="4"
export UCX_NET_DEVICES=mlx5_0:1
"""

SHELL = {
    "sbatch.sh": SBATCH,
    "mpirun.sh": MPIRUN,
    "branches.sh": BRANCHES,
    "cases.sh": CASES,
    "container.sh": CONTAINER,
    "site.conf": SOURCED,
}
DOCUMENTS = {
    "Dockerfile": DOCKERFILE,
    "scripts.yaml": CONFIG_MAP,
    "job.yaml": MPI_JOB,
    "alps.toml": EDF,
    "nccl.conf": CONF,
}
HEALTHY = {**SHELL, **DOCUMENTS}


def free_lines(text: str) -> list[int]:
    """Numbers of lines in front of which a command of its own may stand: at the margin of the
    script, behind no continued line."""
    lines = text.split("\n")
    return [
        i
        for i, line in enumerate(lines)
        if i and not lines[i - 1].endswith("\\") and re.match(r"[A-Za-z#]", line)
        if not line.startswith(("#SBATCH", "else", "elif", "fi", "esac"))
    ]


def insert(text: str, at: int, line: str) -> str:
    """The text with a line more."""
    lines = text.split("\n")
    return "\n".join([*lines[:at], line, *lines[at:]])


Oddity = Callable[[str, random.Random], str]

LINES = (
    "# NCCL_IB_DISABLE=1 was needed in 2021",
    "source /absent/env.sh",
    ". ~/.bashrc || true",
    "module purge; module load nccl/2.21",
    "echo NCCL_DEBUG=$NCCL_DEBUG UCX_TLS: $UCX_TLS",
    'log() { echo "NCCL_P2P_DISABLE=${NCCL_P2P_DISABLE:-unset}"; }',
    'if [ -n "${VERBOSE:-}" ]; then export NCCL_DEBUG=INFO; fi',
    '[ "${NCCL_DEBUG:-}" = INFO ] && export NCCL_DEBUG_SUBSYS=INIT,NET',
    "unset NCCL_P2P_DISABLE",
    "cat > note.txt <<'END'\nNCCL_IB_DISABLE=1 makes NCCL use TCP\nEND",
    "python - <<'END'\nimport os\nos.environ['NCCL_IB_DISABLE'] = '0'\nEND",
    'NCCL_HOME=/opt/nccl; export LD_LIBRARY_PATH="$NCCL_HOME/lib:${LD_LIBRARY_PATH:-}"',
    'NCCL_LIST=$(ls /sys/class/infiniband | paste -sd,); echo "$NCCL_LIST"',
    'while read -r host; do ssh "$host" hostname; done < hosts',
    "(cd /tmp && NCCL_DEBUG=VERSION ./selftest)",
    "trap 'rm -f /tmp/x' EXIT",
    "export   GLOO_SOCKET_IFNAME=eth0   TORCH_DISTRIBUTED_DEBUG=DETAIL",
    "export 'TP_SOCKET_IFNAME=eth0'",
    "env | grep -E '^(NCCL|UCX)_' | sort > env.txt",
    "test -e /dev/infiniband || { export NCCL_IB_DISABLE=1; echo 'no adapters'; }",
    "sed -i 's/NCCL_DEBUG=.*/NCCL_DEBUG=WARN/' other.sh",
    "docker build -t image . && docker ps",
)


def with_line(text: str, rng: random.Random) -> str:
    """A harmless line more."""
    places = free_lines(text)
    return insert(text, rng.choice(places), rng.choice(LINES)) if places else text


def with_tabs(text: str, _rng: random.Random) -> str:
    """Tabs in front of lines instead of spaces."""
    return re.sub(r"^  +", "\t", text, flags=re.M)


def with_returns(text: str, _rng: random.Random) -> str:
    """Lines that end as those of Windows."""
    return text.replace("\n", "\r\n")


def with_double_quotes(text: str, _rng: random.Random) -> str:
    """Plain values in quotes."""
    return re.sub(r"^(export \w+=)([\w,^=-]+)$", r'\1"\2"', text, flags=re.M)


def without_last_newline(text: str, _rng: random.Random) -> str:
    """A file whose last line does not end."""
    return text.rstrip("\n")


def with_empty_lines(text: str, rng: random.Random) -> str:
    """Empty lines and comments in front of free lines."""
    for at in reversed(free_lines(text)):
        if rng.random() < 0.5:
            text = insert(text, at, rng.choice(["", "", "# --- settings ---", "   "]))
    return text


OF_SHELL: tuple[Oddity, ...] = (
    *(with_line, with_line, with_line, with_tabs, with_returns, with_double_quotes),
    *(without_last_newline, with_empty_lines),
)
OF_DOCUMENTS: tuple[Oddity, ...] = (without_last_newline, with_returns)


def odd_file(seed: int) -> tuple[str, str]:
    """(name, text) of a healthy file with up to four oddities."""
    rng = random.Random(seed)
    name = rng.choice(sorted(HEALTHY))
    text = HEALTHY[name]
    oddities = OF_SHELL if name in SHELL else OF_DOCUMENTS
    for oddity in sorted(rng.sample(oddities, rng.randint(1, min(4, len(oddities)))), key=_order):
        text = oddity(text, rng)
    return name, text


def _order(oddity: Oddity) -> int:
    """Line ends last: other oddities look for plain ones."""
    return 1 if oddity is with_returns else 0
