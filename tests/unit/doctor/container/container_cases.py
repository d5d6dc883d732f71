"""Cases of `weft doctor container` from a node of test libraries and a launch."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.needs import need
from tests.unit.doctor.container.container_trees import SlingshotNode

from weft.cli import run
from weft.cli.doctor.images.case import cases_of
from weft.core.finding import Severity
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.report import Chain
from weft.doctor.container.judge import judge_container

MOUNTS = ("/opt/ofi:/opt/ofi", "/opt/libfabric:/opt/libfabric")
PATH = "/opt/ofi:/opt/libfabric"


def judged(
    image: Path,
    host: Path | None,
    *,
    script: Path | None = None,
    edf: Path | None = None,
    cdi: Path | None = None,
    hook: Path | None = None,
    recipe: str | None = None,
    mounts: Sequence[str] = (),
    env: Sequence[str] = (),
) -> tuple[ContainerCase, Chain]:
    """The one case of an image, and its chain."""
    with cases_of(
        image, recipe=recipe, edf=edf, cdis=[cdi] if cdi else (), hooks=[hook] if hook else (),
        script=script, host=host, mounts=mounts, variables=env,
    ) as cases:  # fmt: skip
        (case,) = cases
        return case, judge_container(case)


def verdict_of(image: Path, host: Path | None, **options: object) -> tuple[Severity, set[str]]:
    """The verdict and the rules of its faults."""
    _, chain = judged(image, host, **options)  # type: ignore[arg-type]
    return chain.verdict(), {one.rule.id for one in chain.faults}


def need_gcc() -> None:
    """Test libraries are compiled, for this machine's own x86-64 loader."""
    need("gcc")
    if not Path("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2").exists():
        pytest.skip("test roots hold Debian's loader for x86-64")


def run_doctor(node: SlingshotNode, *options: str | Path) -> int:
    """The exit code of the verb for a node and its image."""
    words = ["doctor", "container", str(node.image), "--host", str(node.host)]
    return run([*words, *map(str, options)])
