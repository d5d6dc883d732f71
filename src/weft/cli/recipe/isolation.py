"""`weft recipe isolation`: the subnet manager's files that keep tenants within their targets."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.fabric.files import open_subnet, say_problems
from weft.cli.options import EXISTING_FILE, FOLDER
from weft.cli.output import emit, format_option, table_text, talk
from weft.cli.recipe.written_files import write_files
from weft.core.errors import ExitCode, InputError
from weft.core.shell_line import quoted
from weft.core.units import format_significant
from weft.core.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.catalog.machine.platform import Platform
    from weft.isolation.compilation import Compilation, Tried
    from weft.isolation.settings_read import SettingsRead
    from weft.isolation.tenant_twin import TenantTwin
    from weft.isolation.tenants import Tenant
    from weft.topology.subnet.subnet import Subnet

OF_OPENSM = "annex_a10"
"""The law of congestion control that OpenSM switches on."""


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
    help="A file about the fabric that one of its own tools printed ('weft fabric'). Repeatable.",
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
    help="Choose nothing: judge the lanes, keys and levels that are in force by the FILES.",
)
@click.option("--dir", "folder", type=FOLDER, help="Write the files there.")
@click.option(
    "--iterations",
    type=click.IntRange(1, 100_000),
    default=20,
    show_default=True,
    help="How often each tenant repeats its traffic in a run.",
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

    Exit 1 if no arrangement meets every target: the nearest one is written. With --as-read exit 1
    if a target is missed or a key or level is wrong, 5 if what decides it was not read.
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
    fabric = _Fabric(subnet, _gbps(figures), len(document["nodes"]))
    if as_read:
        return _judge(fabric, twin, format_)
    again = f"weft recipe isolation --tenants {quoted(str(tenants_file))} --twin {quoted(model)}"
    again += "".join(f" --fabric {quoted(file)}" for file in files)
    return _compile(fabric, twin, folder, format_, f"{again} --dir settings")


@dataclass(frozen=True, slots=True)
class _Fabric:
    """The subnet, the rate of its hosts in Gb/s, and how many nodes it has."""

    subnet: "Subnet"
    gbps: float
    n_nodes: int


def _gbps(figures: "Platform") -> float:
    from weft.topology.fabric_spec import twin_parts

    return twin_parts(figures)[1].host.rate.value


def _compile(
    fabric: _Fabric, twin: "TenantTwin", folder: Path | None, format_: str, again: str
) -> int:
    from weft.isolation.compilation import compile_isolation

    found = compile_isolation(twin, fabric.gbps)
    texts = _files(found, fabric.subnet)
    if folder is not None:
        write_files(folder, texts, "settings of the fabric")
    emit(
        format_,
        text=lambda: _text(found, fabric, f"written to {folder}" if folder else f"next:  {again}"),
        record=_record(found, fabric.subnet) | {"files": texts},
        rows=_rows(found),
    )
    return int(ExitCode.VERDICT_BAD if found.unmet else ExitCode.GOOD)


def _judge(fabric: _Fabric, twin: "TenantTwin", format_: str) -> int:
    from weft.isolation.compilation import Compilation, Tried
    from weft.isolation.settings_read import settings_read

    read = settings_read(fabric.subnet, twin.tenancy, fabric.gbps)
    found = Compilation(twin.tenancy, (Tried(read.arrangement, twin.impacts(read.arrangement)),))
    if read.arrangement.law == "off":
        # No file tells whether it is on: the verdict has to be the same with OpenSM's law.
        controlled = replace(read.arrangement, law=OF_OPENSM)
        other = Tried(controlled, twin.impacts(controlled))
        if bool(other.unmet(twin.tenancy)) != bool(found.unmet):
            gap = "whether congestion control is on, which decides: taken as off"
            read = replace(read, unread=(*read.unread, gap))
    record = _record(found, fabric.subnet)
    record |= {"wrong": read.wrong, "unread": read.unread, "read": read.read}
    emit(
        format_,
        text=lambda: _read_text(found, read, fabric),
        record=record,
        rows=_rows(found),
    )
    # A target that is missed with settings that were not read proves nothing.
    if read.wrong or (found.unmet and not read.unread):
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


def _text(found: "Compilation", fabric: _Fabric, last: str) -> str:
    words = found.chosen.arrangement.words
    first = f"GOOD  every target is met with {words}"
    if found.unmet:
        missed = ", ".join(map(_missed(found), found.unmet))
        first = f"BAD  nothing meets every target; nearest is {words}, which misses: {missed}"
    lines = [first, *_caveats(found, fabric), "", _table(found)]
    return "\n".join([*lines, *_reasons(found, fabric.subnet), "", last])


def _missed(found: "Compilation") -> "Callable[[Tenant], str]":
    """'cfd 1.31 of 1.1'."""

    def words(tenant: "Tenant") -> str:
        impact = found.chosen.impacts[tenant.name].largest
        return f"{tenant.name} {_shown(impact, tenant)} of {tenant.target:g}"

    return words


def _shown(impact: float, tenant: "Tenant") -> str:
    """With as many digits as tell it from the target."""
    assert tenant.target is not None
    digits = next((n for n in (2, 3, 4) if round(impact, n) != round(tenant.target, n)), 5)
    return f"{impact:.{digits if impact > tenant.target else 2}f}"


def _caveats(found: "Compilation", fabric: _Fabric) -> list[str]:
    lines = ["  ! Simulated: a twin of the fabric, not the fabric."]
    if not fabric.subnet.has_tables:
        lines.append("  ! No forwarding tables were read: routed as OpenSM's minhop would.")
    tenancy = found.tenancy
    known = sum(len(one.node_names) for one in tenancy.tenants) + len(tenancy.service_nodes)
    if known < fabric.n_nodes:
        silent = counted(fabric.n_nodes - known, "node")
        lines.append(
            f"  ! {silent} of no tenant: silent on the twin, and cut off but for services."
        )
    if found.chosen.arrangement.high:
        lines.append("  ! Lanes with priority go first without limit: they can starve the others.")
    return lines


def _table(found: "Compilation") -> str:
    """A line an arrangement, a column a tenant with a target."""
    victims = found.tenancy.victims
    heads = [f"{one.name}, {one.traffic}" for one in victims]
    alone = [
        f"{format_significant(found.tried[0].impacts[one.name].alone_us)} us" for one in victims
    ]
    rows = [["alone", *alone], ["target", *(f"{one.target:g}" for one in victims)]]
    rows += [
        [tried.arrangement.words, *(_cell(tried, tenant) for tenant in victims)]
        for tried in found.tried
    ]
    title = "# an iteration beside all others, in times of it alone; least and most of three runs"
    return f"{title}\n{table_text(['', *heads], rows, left=1)}"


def _cell(tried: "Tried", tenant: "Tenant") -> str:
    ratios = tried.impacts[tenant.name].ratios
    least, most = f"{min(ratios):.2f}", _shown(max(ratios), tenant)
    cell = least if least == f"{max(ratios):.2f}" == most else f"{least}-{most}"
    return f"{cell} missed" if tried.excess(tenant) > 1 else cell


def _reasons(found: "Compilation", subnet: "Subnet") -> list[str]:
    return ["", *(_reason(found, subnet, tenant) for tenant in found.unmet)] if found.unmet else []


def _reason(found: "Compilation", subnet: "Subnet", tenant: "Tenant") -> str:
    from weft.isolation.compilation import shared_cable

    shared = shared_cable(subnet, found.tenancy, tenant)
    if shared is None:
        return f"why: {tenant.name} shares no cable between switches with the others"
    others = ", ".join(f"{n} of {name}" for name, n in shared.others.items())
    return (
        f"why: of all cables that paths of {tenant.name} and of others share, most of others' "
        f"cross {shared.port} -> {shared.far}: {shared.n_own} of its own, {others}"
    )


def _read_text(found: "Compilation", read: "SettingsRead", fabric: _Fabric) -> str:
    missed = ", ".join(map(_missed(found), found.unmet))
    if read.wrong:
        first = f"BAD  {read.wrong[0]}"
    elif read.unread:
        what = f"a target is missed ({missed})" if missed else "targets are met"
        first = f"UNKNOWN  {what}, if what was not read is so: {read.unread[0]}"
    elif missed:
        first = f"BAD  the settings in force miss: {missed}"
    else:
        first = "GOOD  every target is met with the settings read"
    lines = [first, *_caveats(found, fabric)]
    if found.chosen.arrangement.law == "off":
        lines.append(
            f"  ! No file tells of congestion control: tried without, and with {OF_OPENSM}."
        )
    lines += ["", _table(found), *_reasons(found, fabric.subnet), ""]
    lines += [f"wrong: {one}" for one in read.wrong]
    lines += [f"not read: {one}" for one in read.unread]
    return "\n".join([*lines, f"read: {read.read}"])


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
