"""Variables that launchers and containers leave behind, and masks."""

from tests.unit.doctor.breach import HEAD, Breach

MPI_JOB = """apiVersion: kubeflow.org/v2beta1
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
          - image: i
            env:
            - name: NCCL_DEBUG
              value: WARN
            command: [/usr/bin/mpirun, -np, "16"{}, ./all_reduce_perf]
"""

LAUNCH_CASES = (
    Breach(
        "infiniband-not-used",
        "export NCCL_IB_DISABLE=1 FI_PROVIDER=efa",
        "export NCCL_IB_DISABLE=0 FI_PROVIDER=efa",
    ),
    Breach(
        "provider-of-sockets",
        "export FI_PROVIDER=tcp FI_CXI_RX_MATCH_MODE=hybrid\nsrun -N 2 ./a",
        "export FI_PROVIDER=cxi FI_CXI_RX_MATCH_MODE=hybrid\nsrun -N 2 ./a",
    ),
    Breach(
        "conf-of-a-shell",
        '#!/bin/bash\nexport NCCL_IB_HCA="mlx5"\n',
        "NCCL_IB_HCA=mlx5\n",
        name="nccl.conf",
    ),
    Breach(
        "overridden",
        "export NCCL_IB_TC=1\nexport NCCL_IB_TC=106\nsrun ./a",
        "export NCCL_IB_TC=1\nsrun ./a\nexport NCCL_IB_TC=106\nsrun ./a",
    ),
    Breach("sockets-demanded", "export NCCL_NET=Socket\nsrun -N 2 ./a", "export NCCL_NET=IB"),
    Breach("spaces-around-equals", "NCCL_IB_HCA = mlx5_0", "NCCL_IB_HCA=mlx5_0"),
    Breach("spaces-around-equals", "export NCCL_IB_HCA = mlx5_0", "[ $NCCL_IB_HCA = mlx5_0 ]"),
    Breach(
        "ends-with-layer",
        "FROM x\nRUN export NCCL_DEBUG=WARN && make\n",
        "FROM x\nENV NCCL_DEBUG=WARN\n",
        name="Dockerfile",
    ),
    Breach(
        "conflict",
        "export NCCL_TUNER_PLUGIN=ofi NCCL_ALGO=ring,tree",
        "export NCCL_TUNER_PLUGIN=ofi",
    ),
    Breach(
        "conflict",
        "export NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5",
        "export NCCL_IB_DISABLE=0 NCCL_IB_HCA=mlx5",
    ),
    Breach(
        "conflict",
        "export NCCL_IB_GID_INDEX=3 NCCL_IB_ROCE_VERSION_NUM=2",
        "export NCCL_IB_GID_INDEX=-1 NCCL_IB_ROCE_VERSION_NUM=2",
    ),
    Breach(
        "conflict",
        "export NCCL_SHARP_DISABLE=1 NCCL_COLLNET_ENABLE=1",
        "export NCCL_SHARP_DISABLE=1 NCCL_COLLNET_ENABLE=0",
    ),
    Breach(
        "not-forwarded",
        HEAD + "mpirun -hostfile h -np 8 ./a",
        HEAD + "mpirun -hostfile h -np 8 -x NCCL_DEBUG ./a",
    ),
    Breach("not-forwarded", HEAD + "srun --export=NONE ./a", HEAD + "srun --export=ALL,A=b ./a"),
    Breach(
        "not-forwarded", HEAD + "docker run image ./a", HEAD + "docker run -e NCCL_DEBUG image ./a"
    ),
    Breach(
        "not-forwarded",
        HEAD + "srun -n 4 podman-hpc run image ./a",
        HEAD + "srun -n 4 podman-hpc run -e NCCL_DEBUG image ./a",
    ),
    Breach("not-forwarded", "NCCL_DEBUG=WARN docker run i ./a", "NCCL_DEBUG=WARN srun ./a"),
    Breach(
        "not-forwarded",
        HEAD + "podman run --env-host=false image ./a",
        HEAD + "podman run --env-host=true image ./a",
    ),
    Breach(
        "plugin-mounted-unselected",
        HEAD + "srun --container-image=nvcr.io#nvidia/x:1 --container-mounts="
        "/opt/aws-ofi-nccl:/opt/aws-ofi-nccl,/opt/cray/libfabric:/opt/cray/libfabric python a.py",
        HEAD + "export NCCL_NET_PLUGIN=ofi LD_LIBRARY_PATH=/opt/aws-ofi-nccl/lib\n"
        "srun --container-image=nvcr.io#nvidia/x:1 --container-mounts="
        "/opt/aws-ofi-nccl:/opt/aws-ofi-nccl,/opt/cray/libfabric:/opt/cray/libfabric python a.py",
    ),
    Breach(
        "not-forwarded",
        HEAD + "podman run image ./a",
        HEAD + "podman run --env-host image ./a",
    ),
    Breach(
        "not-forwarded",
        HEAD + "podman run -u 0 image -e 'NCCL_*'",
        HEAD + "podman run -u 0 -e 'NCCL_*' image ./a",
    ),
    Breach(
        "not-forwarded",
        HEAD + "enroot start --rw image ./a",
        HEAD + "enroot start --rw --env NCCL_DEBUG image ./a",
    ),
    Breach(
        "not-forwarded",
        HEAD + "srun apptainer exec --cleanenv --nv i.sif ./a",
        HEAD + "srun apptainer exec --cleanenv --env NCCL_DEBUG=WARN --nv i.sif ./a",
    ),
    Breach(
        "not-forwarded",
        HEAD + "srun apptainer exec --cleanenv --nv i.sif ./a",
        HEAD + "export APPTAINERENV_NCCL_DEBUG=WARN\nsrun apptainer exec --cleanenv i.sif ./a",
    ),
    Breach(
        "not-forwarded",
        HEAD + "mpirun -np 8 singularity run -e i.sif",
        HEAD + "mpirun -np 8 singularity run --nv i.sif",
    ),
    Breach(
        "not-forwarded",
        HEAD + "mpiexec.hydra -genvnone -n 8 ./a",
        HEAD + "mpiexec.hydra -n 8 ./a",
    ),
    Breach(
        "not-forwarded",
        HEAD + "mpiexec.hydra -genvlist PATH -n 8 ./a",
        HEAD + "mpiexec.hydra -genvlist PATH,NCCL_DEBUG -n 8 ./a",
    ),
    Breach(
        "not-forwarded",
        "#SBATCH --export=NONE\n" + HEAD + "srun ./a",
        "#SBATCH --export=NONE\n" + HEAD + "srun --export=ALL ./a",
    ),
    Breach(
        "not-forwarded",
        "#SBATCH --export=NONE\n" + HEAD + "srun ./a",
        "#SBATCH --export=NONE\nunset SLURM_EXPORT_ENV\n" + HEAD + "srun ./a",
    ),
    Breach(
        "not-forwarded",
        "#SBATCH --export=NCCL_ALGO\n" + HEAD + "srun ./a",
        "#SBATCH --export=NCCL_DEBUG\n" + HEAD + "srun ./a",
    ),
    Breach(
        "not-forwarded",
        "export SLURM_EXPORT_ENV=NONE\n" + HEAD + "srun ./a",
        "SLURM_EXPORT_ENV=NONE\n" + HEAD + "srun ./a",
    ),
    Breach("not-forwarded", MPI_JOB.format(""), MPI_JOB.format(", -x, NCCL_DEBUG"), name="j.yaml"),
    Breach(
        "image-may-win",
        HEAD + "srun sarus run image ./a",
        HEAD + "srun sarus run -e NCCL_DEBUG image ./a",
    ),
    Breach("image-may-win", HEAD + "apptainer exec i.sif ./a", "apptainer exec i.sif ./a"),
    Breach(
        "much-log",
        "#SBATCH -N 64\n#SBATCH --ntasks-per-node=8\nexport NCCL_DEBUG=INFO\nsrun ./a",
        "#SBATCH -N 4\n#SBATCH --ntasks-per-node=8\nexport NCCL_DEBUG=INFO\nsrun ./a",
    ),
    Breach("much-log", "#SBATCH --ntasks=512\nexport NCCL_DEBUG=TRACE\nsrun ./a"),
    Breach(
        "masks",
        "srun --cpu-bind=map_cpu:127*8 ./a",
        "srun --cpu-bind=map_cpu:95*8 ./a",
        "azure-ndv5",
    ),
    Breach(
        "masks",
        "srun --cpu-bind=map_cpu:128*8 ./a",
        "srun --cpu-bind=map_cpu:127*8 ./a",
        "frontier",
    ),
    Breach("masks", "srun --cpu-bind=map_cpu:0,x ./a", "srun --cpu-bind=map_cpu:0,0xc,24 ./a"),
    Breach("masks", "srun --cpu-bind=mask_cpu:f*2,1f ./a", "srun --cpu-bind=mask_cpu:f*4 ./a"),
    Breach(
        "masks",
        "srun --ntasks-per-node=4 --cpu-bind=map_cpu:0*2,8 ./a",
        "srun --ntasks-per-node=4 --cpu-bind=map_cpu:0*2,8*2 ./a",
    ),
)
