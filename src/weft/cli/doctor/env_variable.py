"""`weft doctor env --explain NAME`: the catalogue's entry of one variable."""

from typing import Any

from weft.catalog.libraries.variables import Variable, VariableList
from weft.catalog.load import variable_lists
from weft.cli.output import emit
from weft.core.errors import InputError, did_you_mean


def explain(name: str, format_: str) -> None:
    """Print one variable of any library. Raises InputError for a name that none of them has."""
    lists = variable_lists().values()
    found = next((one for one in lists if name in one.by_name), None)
    if found is None:
        known = [each for one in lists for each in one.by_name]
        raise InputError(f"no library reads '{name}'", hint=did_you_mean(name, known))
    variable = found.by_name[name]
    record = _record(variable, found)
    rows = [
        {
            key: value if isinstance(value, str) else "; ".join(value)
            for key, value in record.items()
        }
    ]
    emit(
        format_,
        text=lambda: _text(name, rows[0]),
        record={"schema": "weft.variable/1", **record},
        rows=rows,
    )


def _record(variable: Variable, listed: VariableList) -> dict[str, Any]:
    """Plain values; "" and empty lists where nothing is known."""
    bounds = (variable.least, variable.most)
    least, most = ("any" if one is None else str(one) for one in bounds)
    later = dict(variable.choices_since)
    words = [f"{one} (since {later[one]})" if one in later else one for one in variable.choices]
    if variable.boolean_since:
        words.append(f"a boolean since {variable.boolean_since}")
    return {
        "name": variable.name,
        "library": listed.title,
        "says": variable.says,
        "reads": variable.reads.value,
        "unit": variable.unit,
        "values": words or ([] if bounds == (None, None) else [f"{least} to {most}"]),
        "defaults": [f"{value} since {since}" for since, value in variable.defaults if value],
        "since": variable.since,
        "until": variable.until,
        "instead": variable.instead,
        "not_needed": variable.not_needed,
        "conflicts": [f"{other}: {what}" for other, what in variable.conflicts],
        "source": variable.source or listed.source,
    }


def _text(name: str, row: dict[str, str]) -> str:
    shown = [key for key, value in row.items() if value and key != "name"]
    width = max(len(key) for key in shown)
    return "\n".join([name, *(f"  {key.replace('_', ' '):{width}}  {row[key]}" for key in shown)])
