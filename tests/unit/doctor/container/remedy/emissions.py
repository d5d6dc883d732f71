"""Emissions of `weft doctor container --emit` as files, read back by the options of the verb."""

from pathlib import Path
from typing import Any

from weft.cli.doctor.images.case import cases_of
from weft.doctor.container.remedy.emission_forms import FORMS
from weft.doctor.container.remedy.search import ContainerRemedy, find_remedy


def remedy_of(image: Path, host: Path | None, form: str, **options: Any) -> ContainerRemedy:
    """The remedy of the one launch."""
    options = {"recipe": None, "edf": None, "script": None, **options}
    for name in ("cdi", "hook"):
        options[f"{name}s"] = [options.pop(name)] if name in options else ()
    mounts, variables = options.pop("mounts", ()), options.pop("env", ())
    with cases_of(image, host=host, mounts=mounts, variables=variables, **options) as cases:
        (case,) = cases
        return find_remedy(case, FORMS[form])


def written(remedy: ContainerRemedy, folder: Path) -> dict[str, Any]:
    """The options of a command that takes the text as a file."""
    option = remedy.emission.form.option.removeprefix("--")
    path = folder / f"emitted.{'toml' if option == 'edf' else 'txt'}"
    path.write_text(remedy.emission.text)
    if option != "hook":
        return {option: path}
    return {"hook": path, "env": [f"{one.name}={one.value}" for one in remedy.added.variables]}
