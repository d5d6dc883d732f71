"""The stages in their order."""

from functools import partial

from weft.cluster.bringup.model import Stage
from weft.cluster.bringup.stages.account import agree_on_account
from weft.cluster.bringup.stages.hello import launch_on_all
from weft.cluster.bringup.stages.kernel import bring_kernel
from weft.cluster.bringup.stages.keys import exchange_keys
from weft.cluster.bringup.stages.limits import check_limits
from weft.cluster.bringup.stages.logins import try_logins
from weft.cluster.bringup.stages.mpi import agree_on_mpi
from weft.cluster.bringup.stages.names import agree_on_interface, look_up_names
from weft.cluster.bringup.stages.reach import ask_facts


def stages(
    mpi: str | None = None,
    interface: str | None = None,
    module: str | None = None,
    *,
    sudo: bool = False,
) -> tuple[Stage, ...]:
    """All of them; `mpi`, `interface` and `module` where the user named one. With `sudo` `mpi` is a
    product whose packages may be installed."""
    return (
        Stage("reach", ask_facts),
        Stage("account", agree_on_account),
        Stage("keys", exchange_keys),
        Stage("logins", try_logins),
        Stage("mpi", partial(agree_on_mpi, asked=mpi, module=module, sudo=sudo)),
        Stage("limits", check_limits),
        Stage("names", look_up_names),
        Stage("interface", partial(agree_on_interface, asked=interface)),
        Stage("kernel", bring_kernel),
        Stage("hello", launch_on_all),
    )
