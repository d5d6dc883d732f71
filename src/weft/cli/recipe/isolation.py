"""`weft recipe isolation`: the subnet manager's files that keep tenants within their targets."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.fabric.files import open_subnet, say_problems
from weft.cli.options import EXISTING_FILE, FOLDER
from weft.cli.output import emit, format_option, table_text, talk
from weft.core.errors import ExitCode, InputError
from weft.core.units import format_significant

if TYPE_CHECKING:
    from weft.isolation.compilation import Compilation
    from weft.isolation.settings_read import SettingsRead
    from weft.isolation.tenant_twin import TenantTwin
    from weft.isolation.tenants import Tenant
    from weft.topology.subnet.subnet import Subnet


@click.command("isolation")
@click.option(
    "--tenants",
    "tenants_file",
    type=EXISTING_FILE,
    required=True,
    metavar="FILE",
    help="The tenants, as TOML: their nodes, what they send, their targets.",
)
@click.option(
    "--fabric",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="The fabric, from what its own tools printed ('weft fabric'); once a file.",
)
@click.option(
    "--twin",
    "model",
    required=True,
    metavar="PLATFORM",
    help="The platform whose hosts and switches the twin of the fabric has.",
)
@click.option(
    "--as-read",
    is_flag=True,
    help="Judge the lanes, keys and levels that FILEs tell, instead of choosing some.",
)
@click.option("--dir", "folder", type=FOLDER, help="Write the files there.")
@click.option(
    "--iterations",
    type=click.IntRange(1, 100_000),
    default=20,
    show_default=True,
    help="Of each tenant's traffic, in each of three runs.",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True)
@format_option
def command(
    *,
    tenants_file: Path,
    files: tuple[str, ...],
    model: str,
    as_read: bool,
    folder: Path | None,
    iterations: int,
    seed: int,
    format_: str,
) -> int:
    """Keep tenants of a fabric apart: settings for OpenSM, and variables for their jobs.

    On a twin of the fabric each tenant with a target runs alone, and beside all others: on one
    lane, on lanes of their own, with priority, with congestion control. The first arrangement that
    meets every target is written: partitions.conf, lines for opensm.conf, variables of each tenant.

    Exit 1 if no arrangement meets every target; the nearest one is written.
    """
    from weft.catalog.load import platform
    from weft.isolation.tenant_twin import TenantTwin
    from weft.isolation.tenants import read_tenancy, require_nodes
    from weft.topology.subnet_document import own_fabric

    if as_read and folder is not None:
        raise InputError("--as-read and --dir contradict each other", expected="one of them")
    tenancy = read_tenancy(tenants_file)
    figures = platform(model)
    subnet = open_subnet(files)
    say_problems(subnet)
    document, changed = own_fabric(subnet, "fabric", figures)
    for change in changed:
        talk(f"weft: {change}")
    require_nodes(tenancy, [str(node["name"]) for node in document["nodes"]], str(tenants_file))
    twin = TenantTwin(figures, document, tenancy, iterations=iterations, seed=seed)
    if as_read:
        return _judge(subnet, twin, format_)
    return _compile(subnet, twin, folder, format_)


def _compile(subnet: "Subnet", twin: "TenantTwin", folder: Path | None, format_: str) -> int:
    from weft.isolation.compilation import compile_isolation

    found = compile_isolation(twin)
    texts = _files(found, subnet)
    if folder is not None:
        _write(folder, texts)
    emit(
        format_,
        text=lambda: _text(found, subnet, folder, texts),
        record=_record(found, subnet) | {"files": texts},
        rows=_rows(found),
    )
    return int(ExitCode.VERDICT_BAD if found.unmet else ExitCode.GOOD)


def _judge(subnet: "Subnet", twin: "TenantTwin", format_: str) -> int:
    from weft.isolation.compilation import Compilation, Tried
    from weft.isolation.settings_read import settings_read

    read = settings_read(subnet, twin.tenancy)
    found = Compilation(twin.tenancy, (Tried(read.arrangement, twin.impacts(read.arrangement)),))
    record = _record(found, subnet) | {"wrong": read.wrong, "unread": read.unread}
    emit(
        format_,
        text=lambda: _read_text(found, read, subnet),
        record=record,
        rows=_rows(found),
    )
    if found.unmet or read.wrong:
        return int(ExitCode.VERDICT_BAD)
    return int(ExitCode.NO_VERDICT if read.unread else ExitCode.GOOD)


def _files(found: "Compilation", subnet: "Subnet") -> dict[str, str]:
    """By name the text of each file. Raises InputError."""
    from weft.catalog.document import to_toml
    from weft.isolation import opensm_files as texts

    tenancy, chosen = found.tenancy, found.chosen.arrangement
    return {
        texts.PARTITIONS: texts.partitions_conf(tenancy, chosen, subnet),
        texts.OPTIONS: texts.options_conf(tenancy, chosen),
        texts.TENANTS: to_toml(texts.pinned(tenancy, chosen)),
        **{f"{one.name}.env": texts.environment_file(one, chosen) for one in tenancy.tenants},
    }


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Raises InputError where there is another file of that name, StorageError."""
    from weft.core.files import write_part

    there = [name for name in texts if (folder / name).exists()]
    if there:
        raise InputError(
            f"there is a file '{there[0]}'", where=str(folder), expected="a folder without it"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_part(folder / name, text, what="settings of the fabric")


def _text(
    found: "Compilation", subnet: "Subnet", folder: Path | None, texts: Mapping[str, str]
) -> str:
    names = ", ".join(texts)
    next_ = f"written to {folder}: {names}" if folder else f"next:  --dir DIR writes {names}"
    return "\n".join(
        [*_first_lines(found, subnet), "", _table(found), *_reasons(found, subnet), "", next_]
    )


def _first_lines(found: "Compilation", subnet: "Subnet") -> list[str]:
    words = found.chosen.arrangement.words
    if not found.unmet:
        return [f"GOOD  every target is met with {words}", *_caveats(found, subnet)]
    first, *others = found.unmet
    impact = found.chosen.impacts[first.name].largest
    also = f", nor {', '.join(one.name for one in others)}" if others else ""
    return [
        f"BAD  nothing keeps {first.name} within {first.target:g} times its time alone{also}; "
        f"nearest is {impact:.2f}, with {words}",
        *_caveats(found, subnet),
    ]


def _caveats(found: "Compilation", subnet: "Subnet") -> list[str]:
    lines = ["  ! Simulated: a twin of the fabric, not the fabric."]
    if not subnet.has_tables:
        lines.append("  ! No forwarding tables were read: routed as OpenSM's minhop would.")
    if found.chosen.arrangement.high:
        lines.append("  ! Lanes with priority go first without limit: they can starve the others.")
    return lines


def _table(found: "Compilation") -> str:
    """A line a tenant, a column an arrangement."""
    head = ["tenant", "traffic", "alone", "target", *(one.arrangement.words for one in found.tried)]
    rows = []
    for tenant in found.tenancy.tenants:
        if tenant.target is None:
            rows.append([tenant.name, tenant.traffic, "", "", *("" for _ in found.tried)])
            continue
        impacts = [one.impacts[tenant.name] for one in found.tried]
        alone = f"{format_significant(impacts[0].alone_us)} us"
        shown = [_range(one.ratios) for one in impacts]
        rows.append([tenant.name, tenant.traffic, alone, f"{tenant.target:g}", *shown])
    return "# times as long as alone, beside all others; of three runs\n" + table_text(
        head, rows, left=2
    )


def _range(ratios: tuple[float, ...]) -> str:
    least, most = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    return least if least == most else f"{least}-{most}"


def _reasons(found: "Compilation", subnet: "Subnet") -> list[str]:
    return ["", *(_reason(found, subnet, tenant) for tenant in found.unmet)] if found.unmet else []


def _reason(found: "Compilation", subnet: "Subnet", tenant: "Tenant") -> str:
    from weft.isolation.compilation import shared_cable

    shared = shared_cable(subnet, found.tenancy, tenant)
    if shared is None:
        return f"why: {tenant.name} shares no cable between switches with the others"
    others = ", ".join(f"{n} of {name}" for name, n in shared.others.items())
    return (
        f"why: paths of {tenant.name} and of others cross {shared.port} -> {shared.far}: "
        f"{shared.n_own} of its own, {others}. Placing them apart, or more cables, would help"
    )


def _read_text(found: "Compilation", read: "SettingsRead", subnet: "Subnet") -> str:
    if found.unmet:
        tenant = found.unmet[0]
        impact = found.chosen.impacts[tenant.name].largest
        first = (
            f"BAD  {tenant.name} takes {impact:.2f} times as long as alone with the settings read; "
            f"its target is {tenant.target:g}"
        )
    elif read.wrong:
        first = f"BAD  {read.wrong[0]}"
    elif read.unread:
        first = f"UNKNOWN  targets are met, if what was not read is so: {read.unread[0]}"
    else:
        first = "GOOD  every target is met with the settings read"
    lines = [first, *_caveats(found, subnet), "", _table(found), *_reasons(found, subnet)]
    lines += [f"wrong: {one}" for one in read.wrong]
    lines += [f"not read: {one}" for one in read.unread]
    return "\n".join(lines)


def _record(found: "Compilation", subnet: "Subnet") -> dict[str, Any]:
    chosen = found.chosen.arrangement
    return {
        "schema": "weft.isolation/1",
        "arrangement": chosen.words,
        "levels": dict(chosen.levels),
        "lanes": list(chosen.lanes),
        "low": list(chosen.low),
        "high": list(chosen.high),
        "congestion_control": chosen.law,
        "unmet": [_reason(found, subnet, tenant) for tenant in found.unmet],
        "tenants": [one.name for one in found.tenancy.tenants],
        "tried": _rows(found),
    }


def _rows(found: "Compilation") -> list[dict[str, Any]]:
    return [
        {
            "tenant": tenant.name,
            "arrangement": one.arrangement.words,
            "target": tenant.target,
            "alone_us": one.impacts[tenant.name].alone_us,
            "beside_us": one.impacts[tenant.name].beside_us,
            "impact_least": min(one.impacts[tenant.name].ratios),
            "impact_most": one.impacts[tenant.name].largest,
            "is_met": one.excess(tenant) <= 1,
        }
        for one in found.tried
        for tenant in found.tenancy.victims
    ]
