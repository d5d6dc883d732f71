"""Scripts and files within manifests, charts and compose files."""

from weft.doctor.job import HOLE, JobSetting
from weft.doctor.readers.kubernetes import read_manifests


def settings(text: str) -> dict[str, JobSetting]:
    job = read_manifests("a.yaml", text)
    for one in job.all_settings:
        assert one.name in text.split("\n")[one.at.line - 1], one
    return {one.name: one for one in job.all_settings}


def test_files_of_a_config_map() -> None:
    found = settings(
        "kind: ConfigMap\ndata:\n  NCCL_DEBUG: WARN\n  nccl.conf: |\n    # site\n"
        "    NCCL_IB_TC=106\n\n    NCCL_IB_SL=1\n  run.sh: |-\n    cat > f <<X\n"
        "    export NCCL_ALGO=Ring\n    X\n    export NCCL_IB_HCA=mlx5 \\\n      UCX_TLS=rc\n"
    )
    values = {name: one.value for name, one in found.items()}
    assert values == {
        "NCCL_DEBUG": "WARN",
        "NCCL_IB_TC": "106",
        "NCCL_IB_SL": "1",
        "NCCL_ALGO": "Ring",
        "NCCL_IB_HCA": "mlx5",
        "UCX_TLS": "rc",
    }
    assert found["NCCL_IB_HCA"].at.line == 13


def test_a_command_in_a_folded_string_of_a_chart() -> None:
    found = settings(
        'kind: MPIJob\nmetadata:\n  {{- include "labels" . | nindent 2 }}\nspec:\n  args:\n'
        "  - 'mpirun -np {{ mul .Values.n 8 }} -x\n    NCCL_IB_HCA=mlx5 ./a'\n"
        "  env:\n  - name: NCCL_DEBUG\n    value: {{ .Values.debug }}\n"
    )
    assert found["NCCL_IB_HCA"].value == "mlx5"
    assert found["NCCL_DEBUG"].value == HOLE


def test_lists_of_compose_files_and_empty_values_of_charts() -> None:
    found = settings(
        "services:\n  a:\n    environment:\n    - NCCL_DEBUG=INFO\n    - NCCL_IB_TC=${TC:-1}\n"
        "env:\n  NCCL_IB_HCA: ''\n"
    )
    assert {name: one.value for name, one in found.items()} == {
        "NCCL_DEBUG": "INFO",
        "NCCL_IB_TC": HOLE,
    }


def test_workers_count_as_nodes() -> None:
    job = read_manifests("a.yaml", "kind: PyTorchJob\nspec:\n  Worker:\n    replicas: 3\n")
    assert job.n_nodes == 3
