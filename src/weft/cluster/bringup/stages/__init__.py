"""The stages in their order."""

from weft.cluster.bringup.model import Stage
from weft.cluster.bringup.stages.account import AccountStage
from weft.cluster.bringup.stages.hello import HelloStage
from weft.cluster.bringup.stages.kernel import KernelStage
from weft.cluster.bringup.stages.keys import KeysStage
from weft.cluster.bringup.stages.limits import LimitsStage
from weft.cluster.bringup.stages.logins import LoginsStage
from weft.cluster.bringup.stages.mpi import MpiStage
from weft.cluster.bringup.stages.names import Interfaces, NamesStage
from weft.cluster.bringup.stages.reach import ReachStage


def stages(
    mpi: str | None = None,
    interface: str | None = None,
    module: str | None = None,
    *,
    sudo: bool = False,
) -> tuple[Stage, ...]:
    """All of them; `mpi`, `interface` and `module` where somebody named one. With `sudo` `mpi` is a
    product whose packages may be installed."""
    return (
        ReachStage(),
        AccountStage(),
        KeysStage(),
        LoginsStage(),
        MpiStage(mpi, module, sudo=sudo),
        LimitsStage(),
        NamesStage(),
        Interfaces(interface),
        KernelStage(),
        HelloStage(),
    )
