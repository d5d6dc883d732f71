"""The kind of a file by its name and its content."""

import pytest

from weft.doctor.job import JobKind
from weft.doctor.readers.text_kind import kind_of


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("nccl.conf", "NCCL_DEBUG=WARN\n", JobKind.CONF),
        (".nccl.conf", "NCCL_DEBUG = WARN\nexport NCCL_IB_TC=1\n", JobKind.CONF),
        ("nccl.conf", "#!/bin/bash\nexport NCCL_DEBUG=WARN\n", JobKind.SCRIPT),
        ("nccl.conf", "export NCCL_DEBUG=WARN\nexport NCCL_IB_TC=1\n", JobKind.SCRIPT),
        ("nccl.conf", "NCCL_IB_HCA=$(ls)\n", JobKind.SCRIPT),
        ("hopper.conf", "# a\nexport NCCL_DEBUG=WARN\n", JobKind.SCRIPT),
        ("site.conf", "NCCL_DEBUG=WARN\nNCCL_IB_TC=106\n", JobKind.CONF),
        ("nginx.conf", "server {\n  listen 80;\n}\n", JobKind.OTHER),
        ("Dockerfile.gpu", "FROM x\n", JobKind.DOCKERFILE),
        ("a4.dockerfile", "FROM x\n", JobKind.DOCKERFILE),
        ("standard input", "# syntax=x\nARG A=1\nFROM x\nENV B=1\n", JobKind.DOCKERFILE),
        ("standard input", 'image = "x"\n[env]\nA = "1"\n', JobKind.EDF),
        ("standard input", "image=x\nsrun --container-image=$image ./a\n", JobKind.SCRIPT),
        ("standard input", "apiVersion: v1\nkind: Pod\n", JobKind.KUBERNETES),
        ("train", "#!/usr/bin/env python3\nprint(1)\n", JobKind.OTHER),
        ("standard input", "import os\nos.environ['A'] = '1'\n", JobKind.OTHER),
        ("job.sh", "#!/bin/bash\npython - <<X\nimport os\nX\n", JobKind.SCRIPT),
        ("run", "srun ./a\n", JobKind.SCRIPT),
    ],
)
def test_kind_of(name: str, text: str, kind: JobKind) -> None:
    assert kind_of(name, text) is kind
