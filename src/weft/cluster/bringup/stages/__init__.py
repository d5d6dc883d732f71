"""The stages in their order."""

from weft.cluster.bringup.model import Stage
from weft.cluster.bringup.stages.account import Account
from weft.cluster.bringup.stages.hello import Hello
from weft.cluster.bringup.stages.kernel import Kernel
from weft.cluster.bringup.stages.keys import Keys
from weft.cluster.bringup.stages.limits import Limits
from weft.cluster.bringup.stages.mpi import Mpi
from weft.cluster.bringup.stages.names import Interfaces, Names
from weft.cluster.bringup.stages.reach import Reach


def stages(mpi: str | None = None, interface: str | None = None) -> tuple[Stage, ...]:
    """All of them; `mpi` and `interface` where somebody named one."""
    return (
        Reach(),
        Account(),
        Keys(),
        Mpi(mpi),
        Limits(),
        Names(),
        Interfaces(interface),
        Kernel(),
        Hello(),
    )
