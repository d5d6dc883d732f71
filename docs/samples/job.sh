#!/bin/bash
#SBATCH --nodes=4
export NCCL_SOCKET_IFNAME=eth0
export NCCL_TOPO_FILE=/opt/Microsoft/ndv5-topo.xml
export NCCL_NVLS_ENABLE1=1
srun ./train
