"""nccl.conf, EDF, Kubernetes and the environment."""

import time

import pytest

from weft.core.errors import InputError
from weft.doctor.job import HOLE, JobKind, SettingOrigin
from weft.doctor.readers.conf import read_conf, read_environment
from weft.doctor.readers.edf import read_edf
from weft.doctor.readers.file import kind_of, read_job
from weft.doctor.readers.kubernetes import read_manifests

EDF = """image = "nvcr.io#nvidia/pytorch:25.01-py3"
mounts = ["/capstor:/capstor"]

[env]
NCCL_DEBUG = "INFO"   # said
"NCCL_NET" = "AWS Libfabric"
N = 3

[annotations]
com.hooks.aws_ofi_nccl.enabled = "true"
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - name: c
      image: img
      env:
        - name: NCCL_DEBUG
          value: "INFO"
        - {name: NCCL_IB_HCA, value: mlx5}
        - name: FROM
          valueFrom: {fieldRef: {fieldPath: status.podIP}}
        - name: NOTHING
---
env:
  UCX_TLS: rc
  TEMPLATED: "{{ .Values.x }}"
"""


def test_conf() -> None:
    text = "# c\nNCCL_DEBUG=WARN\n\nNCCL_A = b\nexport X=1\nno equals\nNCCL_B=c=d \n"
    job = read_conf("nccl.conf", text)
    assert [(one.name, one.value, one.at.line) for one in job.settings] == [
        ("NCCL_DEBUG", "WARN", 2),
        ("NCCL_A ", " b", 4),
        ("export X", "1", 5),
        ("NCCL_B", "c=d ", 7),
    ]
    assert [place.line for place in job.unread] == [6]


def test_edf() -> None:
    job = read_edf("x.toml", EDF)
    values = {one.name: one.value for one in job.settings}
    assert values == {"NCCL_DEBUG": "INFO", "NCCL_NET": "AWS Libfabric", "N": "3"}
    debug = job.settings[0]
    assert debug.value_at is not None
    assert EDF[debug.value_at.start : debug.value_at.end] == '"INFO"'
    (launch,) = job.launches
    assert launch.container is not None
    assert [word.text for word in launch.container.mounts] == ["/capstor:/capstor"]
    assert launch.options["com.hooks.aws_ofi_nccl.enabled"].text == "true"


def test_kubernetes() -> None:
    job = read_manifests("p.yaml", POD)
    assert [(one.name, one.value, one.launch) for one in job.settings] == [
        ("NCCL_DEBUG", "INFO", 0),
        ("NCCL_IB_HCA", "mlx5", 0),
        ("FROM", HOLE, 0),
        ("NOTHING", "", 0),
        ("UCX_TLS", "rc", None),
        ("TEMPLATED", HOLE, None),
    ]
    debug = job.settings[0]
    assert debug.value_at is not None
    assert POD[debug.value_at.start : debug.value_at.end] == '"INFO"'


@pytest.mark.parametrize(
    "text",
    [
        "extraEnv:\n  NCCL_DEBUG: INFO\n",
        "worker:\n  envVars:\n  - {name: NCCL_DEBUG, value: INFO}\n",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  NCCL_DEBUG: INFO\n",
    ],
)
def test_other_lists_of_variables(text: str) -> None:
    (one,) = read_job("values.yaml", text).settings
    assert (one.name, one.value) == ("NCCL_DEBUG", "INFO")
    assert one.value_at is not None
    assert text[one.value_at.start : one.value_at.end] == "INFO"


def test_data_of_something_else_is_left_alone() -> None:
    assert not read_job("s.yaml", "kind: Secret\ndata:\n  NCCL_DEBUG: SU5GTw==\n").settings


def test_the_environment() -> None:
    job = read_environment({"B": "2", "A": "x\ny"})
    assert [(one.name, one.value, one.origin) for one in job.settings] == [
        ("A", "x\ny", SettingOrigin.LIVE),
        ("B", "2", SettingOrigin.LIVE),
    ]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.sh", "export A=1", JobKind.SCRIPT),
        ("a.sbatch", "#!/bin/bash", JobKind.SCRIPT),
        ("nccl.conf", "A=1", JobKind.CONF),
        (".nccl.conf", "A=1", JobKind.CONF),
        ("a.toml", "image='x'", JobKind.EDF),
        ("a.yaml", "a: 1", JobKind.KUBERNETES),
        ("a", "apiVersion: v1\nkind: Pod", JobKind.KUBERNETES),
        ("-", "mpirun ./a", JobKind.SCRIPT),
    ],
)
def test_kinds(name: str, text: str, kind: JobKind) -> None:
    assert kind_of(name, text) is kind


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "image = ", "not TOML"),
        ("a.yaml", "a: [1", "not YAML"),
        ("a.yaml", "a: &x [*x, *y]", "not YAML"),
    ],
)
def test_documents_that_are_none(name: str, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_job(name, text)


def test_a_bomb_of_aliases_is_no_bomb() -> None:
    lines = ["a0: &a0 {env: {A: b}}"]
    lines += [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]" for i in range(1, 40)]
    job = read_job("a.yaml", "\n".join(lines))
    assert len(job.settings) >= 1


@pytest.mark.parametrize("digits", [5000, 40000])
def test_a_number_of_thousands_of_digits_is_refused(digits: int) -> None:
    with pytest.raises(InputError, match="not TOML"):
        read_edf("e.toml", f'image = "i"\nx = {"9" * digits}\n')


@pytest.mark.parametrize("mounts", ["5", '"/a"', "{a = 1}", "[1, {}]"])
def test_mounts_that_are_no_list_of_texts_are_none(mounts: str) -> None:
    (launch,) = read_edf("e.toml", f'image = "i"\nmounts = {mounts}\n').launches
    assert launch.container is not None
    assert launch.container.mounts == ()


@pytest.mark.parametrize(
    ("line", "name"), [("NCCL_{}=1\n", "nccl.conf"), ("srun ./{}\n", "job.sh")]
)
def test_a_file_that_sets_more_than_a_job_does_is_refused(line: str, name: str) -> None:
    lines = [line.format(number) for number in range(5001)]
    with pytest.raises(InputError, match="5,001"):
        read_job(name, "".join(lines))
    read_job(name, "".join(lines[1:]))


@pytest.mark.parametrize("brackets", ["{", "[", "[{"])
def test_brackets_in_brackets_are_refused_before_they_cost_anything(brackets: str) -> None:
    started = time.process_time()
    with pytest.raises(InputError, match="nested too deeply"):
        read_manifests("a.yaml", "a: " + brackets * 100_000)
    assert time.process_time() - started < 1
    deep = "a: " + "[" * 90 + "{env: [{name: UCX_TLS, value: rc}]}" + "]" * 90
    assert [one.name for one in read_manifests("a.yaml", deep).settings] == ["UCX_TLS"]
