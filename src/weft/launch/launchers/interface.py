"""By which variables the ranks' own TCP traffic keeps to the interface that was named.

The kernel itself sets each rank's rail for UCX: UCX_NET_DEVICES (`--rails`).
"""

from weft.launch.spec import LaunchSpec

# SOURCE: fi_tcp(7) of libfabric 1.17: "FI_TCP_IFACE: a specific network interface can be
# requested". MPICH and Intel MPI on ch4:ofi; other providers do not read it.
OFI = "FI_TCP_IFACE"
# SOURCE: ompi_info --param btl tcp --level 9, Open MPI 4.1.4 and 5.0.11: names of interfaces, or
# networks (10.0.0.0/8).
OPEN_MPI = "OMPI_MCA_btl_tcp_if_include"


def ofi_env(spec: LaunchSpec) -> dict[str, str]:
    """For ranks of an MPI on libfabric; a setting of the user stays as it is."""
    return _of(spec, OFI)


def any_env(spec: LaunchSpec) -> dict[str, str]:
    """For ranks of an MPI that the launcher does not know."""
    return _of(spec, OFI, OPEN_MPI)


def _of(spec: LaunchSpec, *names: str) -> dict[str, str]:
    if spec.interface is None:
        return {}
    return {name: spec.interface for name in names if name not in spec.env}
