"""Dockerfiles: ENV sets, ARG and RUN do not, RUN and COPY write files, CMD launches."""

import pytest

from weft.core.errors import InputError
from weft.doctor.job import HOLE, Job, JobKind, SettingOrigin
from weft.doctor.readers.dockerfile import MOST_CHARACTERS, read_dockerfile

TEXT = """# syntax=docker/dockerfile:1
ARG BASE=ubuntu
FROM ${BASE} AS build
ARG NCCL_VERSION=2.25
ENV NCCL_DEBUG=WARN \\
    # the network
    NCCL_SOCKET_IFNAME="eth0" \\

    UCX_TLS=rc,sm
ENV NCCL_TOPO_FILE /opt/a b.xml
ENV NCCL_IB_HCA=$HCAS
RUN export NCCL_ALGO=Ring && make && NCCL_PROTO=LL ./selftest
RUN echo "NCCL_IB_TC=106" >> /etc/nccl.conf
COPY <<X /entry.sh
export NCCL_IB_TIMEOUT=22
X
LABEL note="NCCL_IB_SL=1"
CMD ["mpirun", "-np", "2", "-x", "NCCL_CROSS_NIC=1", "./a"]
"""


def job() -> Job:
    return read_dockerfile("Dockerfile", TEXT)


def test_what_the_image_sets() -> None:
    values = {one.name: one.value for one in job().settings}
    assert values == {
        "NCCL_DEBUG": "WARN",
        "NCCL_SOCKET_IFNAME": "eth0",
        "UCX_TLS": "rc,sm",
        "NCCL_TOPO_FILE": "/opt/a b.xml",
        "NCCL_IB_HCA": HOLE,
        "NCCL_IB_TC": "106",
        "NCCL_IB_TIMEOUT": "22",
        "NCCL_CROSS_NIC": "1",
    }
    assert job().kind is JobKind.DOCKERFILE


def test_places_are_those_of_the_file() -> None:
    lines = TEXT.split("\n")
    for setting in job().settings:
        assert setting.name in lines[setting.at.line - 1]
        assert TEXT[setting.at.start : setting.at.end].strip("\"'").startswith(setting.name)


def test_a_variable_of_one_run_ends_with_its_layer() -> None:
    assert [one.name for one in job().layer] == ["NCCL_ALGO"]


def test_files_that_it_writes_are_no_variables_of_the_image() -> None:
    written = [one.name for one in job().settings if one.origin is SettingOrigin.WRITTEN]
    assert written == ["NCCL_IB_TC", "NCCL_IB_TIMEOUT"]


def test_the_command_is_a_launch() -> None:
    assert "mpirun" in [one.launcher for one in job().launches]


def test_a_text_larger_than_any_dockerfile_is_refused() -> None:
    with pytest.raises(InputError, match="Dockerfile"):
        read_dockerfile("Dockerfile", "ENV A=1\n" * (MOST_CHARACTERS // 8 + 1))


def test_a_launch_while_building_is_no_launch_of_the_image() -> None:
    run = "RUN mpirun --host a,b -x NCCL_PROTO=LL ./selftest"
    text = f"FROM x\n{run}\nCMD mpirun -x NCCL_ALGO=Ring ./a\n"
    found = read_dockerfile("Dockerfile", text)
    assert [(one.name, one.launch) for one in found.settings] == [("NCCL_ALGO", 0)]
    assert [one.launcher for one in found.launches] == ["mpirun"]
