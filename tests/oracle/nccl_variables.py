"""Names of variables that a version of NCCL reads, by the catalogue."""

from weft.catalog.libraries.variables import VariableList


def names_in(nccl: VariableList, version: str) -> frozenset[str]:
    """All names that this version of the library reads, as it is delivered."""
    return frozenset(one.name for one in nccl.variables if not one.only and one.known_in(version))
