"""The stages in their order."""

from weft.cluster.bringup.model import Stage
from weft.cluster.bringup.stages.account import Account
from weft.cluster.bringup.stages.hello import Hello
from weft.cluster.bringup.stages.kernel import Kernel
from weft.cluster.bringup.stages.keys import Keys
from weft.cluster.bringup.stages.limits import Limits
from weft.cluster.bringup.stages.logins import Logins
from weft.cluster.bringup.stages.mpi import Mpi
from weft.cluster.bringup.stages.names import Interfaces, Names
from weft.cluster.bringup.stages.reach import Reach


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
        Reach(),
        Account(),
        Keys(),
        Logins(),
        Mpi(mpi, module, sudo=sudo),
        Limits(),
        Names(),
        Interfaces(interface),
        Kernel(),
        Hello(),
    )
