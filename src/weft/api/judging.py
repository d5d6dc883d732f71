"""`weft.judge`: result files judged, as `weft judge` does."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from weft.catalog import load
from weft.catalog.machine.generic import Hardware, generic_platform
from weft.core.errors import InputError
from weft.doctor.machine.detection.document import HERE, platform_named
from weft.judge.files import JudgedFile, judge_files
from weft.judge.model import FileJudgement


@dataclass(frozen=True, slots=True)
class JudgeConditions:
    """What the caller knows about the files; None and "" for nothing. `platform`: a name of the
    catalogue, a .toml file, or 'here'. `against`: results of the own fleet."""

    platform: str | None = None
    link: str = ""
    pcie: str = ""
    gpu: str = ""
    rails: int | None = None
    mtu: int | None = None
    n_nodes: int | None = None
    tasks_per_node: int | None = None
    memory: str | None = None
    nccl_version: str | None = None
    against: Sequence[str] = ()

    @property
    def hardware(self) -> Hardware:
        """The statements about the machine, as one value."""
        return Hardware(self.link, self.pcie, self.gpu, self.rails, self.mtu)


def judge(
    path: str | os.PathLike[str],
    *,
    platform: str | None = None,
    link: str = "",
    pcie: str = "",
    gpu: str = "",
    rails: int | None = None,
    mtu: int | None = None,
    n_nodes: int | None = None,
    tasks_per_node: int | None = None,
    memory: str | None = None,
    nccl_version: str | None = None,
    against: Sequence[str] = (),
) -> FileJudgement:
    """Is this result file normal, and what limits it?

    The options are those of `weft judge`: what the caller knows goes before what the file says. The
    first of `findings` is the verdict; `rows` hold every judged figure with its expectation. Raises
    InputError where the file cannot be read or holds no table.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        raise InputError("is a folder", where=name, expected="one result file")
    conditions = JudgeConditions(
        platform=platform,
        link=link,
        pcie=pcie,
        gpu=gpu,
        rails=rails,
        mtu=mtu,
        n_nodes=n_nodes,
        tasks_per_node=tasks_per_node,
        memory=memory,
        nccl_version=nccl_version,
        against=against,
    )
    (judged,) = judged_files([name], conditions)
    if judged.judgement is None:
        assert judged.error is not None
        raise judged.error
    return judged.judgement


def judged_files(
    names: Iterable[str], conditions: JudgeConditions, stream: BinaryIO | None = None
) -> list[JudgedFile]:
    """Every named file and every file below a named folder, judged, worst first. Raises InputError
    where the conditions are wrong or contradict each other."""
    return judge_files(names, _given(conditions), stream)


def _given(conditions: JudgeConditions) -> Mapping[str, Any]:
    """The arguments of `judge_results`. Raises InputError."""
    from weft.api.own_fleet import fleet_files

    hardware = conditions.hardware
    if conditions.platform and hardware.is_given:
        raise InputError(
            f"--platform and {hardware.options} both name the machine", expected="one of the two"
        )
    if hardware.is_given:
        generic_platform(hardware, load.platform)
    is_here = conditions.platform == HERE
    return {
        "platform": platform_named(HERE) if is_here else conditions.platform,
        "hardware": hardware,
        "n_nodes": conditions.n_nodes,
        "tasks_per_node": conditions.tasks_per_node,
        "memory": conditions.memory,
        "nccl_version": conditions.nccl_version,
        "against": fleet_files(conditions.against),
    }
