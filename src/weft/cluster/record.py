"""A cluster as it was brought up, kept in its folder for those who measure on it."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from weft.cluster.folder import cluster_folder, cluster_names
from weft.core.documents.document_text import read_json_file
from weft.core.errors import InputError, did_you_mean
from weft.core.files import write_whole
from weft.core.shell_line import quoted
from weft.launch.mpi import Mpi

FILE = "cluster.json"
SCHEMA = "weft.cluster/1"
_LISTS = ("hosts", "all_hosts", "former_hosts")
_SETTLED = (
    *("home", "user", "interface", "rails", "remote_shell", "kernel"),
    *("mpi", "mpicc", "launcher", "launcher_kind", "version", "library"),
)
"""Values that a measurement takes from `agreed`."""
_MOST_CPUS = 8192
"""SOURCE: Linux, arch/x86/Kconfig, NR_CPUS_RANGE_END."""
_MADE_AGAIN = "'weft cluster up' writes it again, 'weft cluster down --forget' drops it"


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """`hosts` on which every stage went well, in their order, the first one the head; `all_hosts`
    those that were named, `former_hosts` those that only earlier runs of `up` named: something of
    it may lie there still. `ssh_config` is what `ssh -F` takes, None for the user's own. `agreed`
    holds what all hosts have: mpi, launcher, kernel, interface, home, user. Hosts of one name in
    `machines` are one machine (containers); '' is not known. `asked` is the MPI, the interface and
    the module that somebody named."""

    name: str
    hosts: tuple[str, ...]
    all_hosts: tuple[str, ...]
    ssh_config: str | None
    agreed: dict[str, str]
    n_cpus: Annotated[int, Field(ge=1, le=_MOST_CPUS)]
    machines: dict[str, str]
    virtual: bool
    asked: dict[str, str | None]
    former_hosts: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Into the cluster's folder. Raises MissingError."""
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1) + "\n"
        write_whole(folder / FILE, text, what="record of the cluster", hint=None)


def first_on_machine(machines: Mapping[str, str], hosts: Sequence[str]) -> dict[int, int]:
    """By host (its place in `hosts`) the first one on its machine, for hosts that share one."""
    on: dict[str, list[int]] = {}
    for place, host in enumerate(hosts):
        on.setdefault(machines.get(host, ""), []).append(place)
    shared = [places for name, places in on.items() if name and len(places) > 1]
    return {place: places[0] for places in shared for place in places}


def agreed_mpi(agreed: Mapping[str, str]) -> Mpi:
    """The MPI that all hosts of a cluster have."""
    return Mpi(
        implementation=agreed["mpi"],
        mpicc=Path(agreed["mpicc"]),
        launcher=Path(agreed["launcher"]),
        launcher_kind=agreed["launcher_kind"],
        version=agreed["version"],
        library=agreed["library"],
    )


def settings(agreed: Mapping[str, str]) -> dict[str, str]:
    """Variables that the MPI of a cluster wants: those of the site's module."""
    named = {"PATH": agreed.get("path", ""), "LD_LIBRARY_PATH": agreed.get("library_path", "")}
    return {name: value for name, value in named.items() if value}


def with_settings(
    agreed: Mapping[str, str], more: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The words before a command on a host of the cluster."""
    of = settings(agreed) | dict(more or {})
    return ("env", *(f"{name}={value}" for name, value in of.items())) if of else ()


def rail_interface(rails: Sequence[str], fast: Sequence[str]) -> str | None:
    """The one interface of the Linux kernel that `--rails` names, by which launcher and ranks meet,
    too; None for devices made for MPI (`fast` are those that are known, 'mlx5_0:1'), or several."""
    names = set(rails)
    if len(names) != 1:
        return None
    (name,) = names
    known = {one.partition(":")[0] for one in fast}
    return None if ":" in name or name.startswith("cxi") or name in known else name


def tcp_rails(agreed: Mapping[str, str]) -> tuple[str, ...]:
    """The interface of a cluster whose hosts have no faster device: what its ranks keep to."""
    interface = agreed["interface"]
    return (interface,) if interface and not agreed["rails"] else ()


def read_cluster(name: str) -> ClusterRecord:
    """The cluster of this name. Raises InputError where there is none."""
    folder = cluster_folder(name)
    path = folder / FILE
    if not os.path.lexists(path):
        known = [one for one in cluster_names() if (cluster_folder(one) / FILE).exists()]
        raise InputError(
            f"no cluster '{name}'",
            expected=", ".join(known) or "one that 'weft cluster up' made",
            hint=did_you_mean(name, known),
        )
    try:
        result = read_json_file(path, SCHEMA)
    except InputError as error:
        raise InputError(
            f"the record of cluster '{name}': {error.what}",
            where=error.where,
            expected=SCHEMA,
            hint=_MADE_AGAIN,
        ) from error
    return _record(result, folder)


def former_hosts(name: str, hosts: Sequence[str]) -> tuple[str, ...]:
    """Those that the record of this name knows and that are not among `hosts`."""
    try:
        record = read_cluster(name)
    except InputError:
        return ()
    known = (*record.all_hosts, *record.former_hosts)
    return tuple(host for host in dict.fromkeys(known) if host not in hosts)


def remember(name: str, hosts: Sequence[str]) -> None:
    """Add hosts to those that the record of a cluster knows, for 'down' to clean them, too; one
    that cannot be read stays as it is, for 'up' to write again."""
    try:
        record = read_cluster(name)
    except InputError:
        return
    known = (*record.all_hosts, *record.former_hosts)
    new = tuple(host for host in hosts if host not in known)
    if new:
        changed = replace(record, former_hosts=(*record.former_hosts, *new))
        changed.write(cluster_folder(name))


def ready_cluster(name: str) -> ClusterRecord:
    """The cluster of this name, to measure on. Raises InputError where no host of it is good."""
    record = read_cluster(name)
    if not record.hosts:
        raise InputError(
            f"no host of cluster '{name}' is good",
            expected="one at least on which every stage went well",
            hint=f"'weft cluster status {quoted(name)}' names the fault; then 'weft cluster up' "
            "again",
        )
    if lacking := [key for key in _SETTLED if key not in record.agreed]:
        raise InputError(
            f"the record of cluster '{name}' lacks {', '.join(lacking)}",
            where=str(cluster_folder(name) / FILE),
            expected="all values that 'weft cluster up' settles",
            hint=_MADE_AGAIN,
        )
    return record


_RECORDS = TypeAdapter(ClusterRecord)


def _record(result: Any, folder: Path) -> ClusterRecord:
    try:
        if result.pop("schema") != SCHEMA:
            raise KeyError("schema")
        lists = {key: tuple(map(str, result.get(key, ()))) for key in _LISTS}
        return _RECORDS.validate_python(asdict(ClusterRecord(**(result | lists))))
    except (AttributeError, KeyError, TypeError, ValidationError) as error:
        why = str(error)
        if isinstance(error, ValidationError):
            problem = error.errors()[0]
            why = f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        raise InputError(
            f"no record of a cluster ({why})",
            where=str(folder / FILE),
            expected=f"{SCHEMA}, as 'weft cluster up' writes it",
            hint=_MADE_AGAIN,
        ) from error
