"""`weft study factors`: the factors that a study names, and what switches them."""

from typing import TYPE_CHECKING, Any

import click

from weft.cli.output import emit, format_option, table_text
from weft.core.shell_line import quoted

if TYPE_CHECKING:
    from weft.catalog.factors.factor import CatalogueFactor, CatalogueSetting


@click.command(name="factors")
@click.argument("name", metavar="[FACTOR]", required=False)
@format_option
def factors(name: str | None, format_: str) -> None:
    """List the factors of the catalogue, or what switches the settings of one."""
    from weft.catalog.factors.factor import catalogue_factor, factor_names

    listed = [catalogue_factor(one) for one in ([name] if name else factor_names())]
    rows = [_row(factor, setting) for factor in listed for setting in _settings(factor)]
    emit(
        format_,
        text=lambda: _one_text(listed[0]) if name else _list_text(listed),
        record={"factors": [one.model_dump(mode="json", by_alias=True) for one in listed]},
        rows=rows,
    )


def _settings(factor: "CatalogueFactor") -> "list[CatalogueSetting]":
    """Its settings; of those that a site names, their form in place of a name."""
    from weft.catalog.factors.factor import CatalogueSetting

    if factor.any is None:
        return list(factor.settings)
    return [CatalogueSetting.model_construct(name=factor.any.form, live=factor.any.named_in("KEY"))]


def _row(factor: "CatalogueFactor", setting: "CatalogueSetting") -> dict[str, Any]:
    return {
        "factor": factor.name,
        "setting": setting.name,
        "twin": _on_twin(factor, setting),
        "machine": _on_machine(setting),
        "evidence": "" if setting.live is None else _assigned(setting.live.evidence),
    }


def _on_twin(factor: "CatalogueFactor", setting: "CatalogueSetting") -> str:
    if factor.any is not None or set(setting.options) & {"launcher", "container"}:
        return "nothing: a machine only"
    return _assigned(setting.options)


def _on_machine(setting: "CatalogueSetting") -> str:
    if setting.live is None:
        return "nothing: a twin only"
    if setting.live.manual:
        return f"by hand: {setting.live.manual}"
    return (
        " ".join(f"{key}={quoted(value)}" for key, value in setting.live.env.items())
        or "weft does it"
    )


def _assigned(values: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in values.items())


def _list_text(listed: "list[CatalogueFactor]") -> str:
    cells = [(one.name, " ".join(setting.name for setting in _settings(one))) for one in listed]
    return table_text(("factor", "settings"), cells, left=2)


def _one_text(factor: "CatalogueFactor") -> str:
    lines = [f"{factor.name}: {factor.title}", *factor.notes]
    for setting in _settings(factor):
        row = _row(factor, setting)
        lines += ["", setting.name, f"  twin      {row['twin'] or 'as without it'}"]
        lines.append(f"  machine   {row['machine']}")
        if row["evidence"]:
            lines.append(f"  evidence  {row['evidence']}")
    return "\n".join([*lines, "", f"source  {factor.source}"])
