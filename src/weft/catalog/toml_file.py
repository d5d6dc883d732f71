"""TOML files in the folder of the code that uses them: documents, and dataclasses of figures."""

from importlib import resources
from typing import Any, Literal, TypeVar, get_type_hints

from pydantic import Field, create_model

from weft.catalog.document import Document, Model, Text, parse_document

Record = TypeVar("Record")


class _Number(Document):
    """A figure above 0, its unit, and why it is what it is."""

    value: float = Field(gt=0, allow_inf_nan=False, strict=True)
    unit: Text
    source: Text


class _Count(Document):
    """The same of what comes in whole numbers."""

    value: int = Field(gt=0, strict=True)
    unit: Text
    source: Text


def catalogue_document(model: type[Model], name: str, kind: str) -> Model:
    """A document below the folder of the catalogue, by its path there. Raises InputError."""
    return parse_document(model, *catalogue_text(name), kind)


def catalogue_text(name: str) -> tuple[str, str]:
    """(text, where) of a file below the folder of the catalogue."""
    return resources.files("weft.catalog").joinpath(name).read_text("utf-8"), f"catalog/{name}"


def catalogue_names(folder: str) -> list[str]:
    """Documents of a folder of the catalogue, sorted."""
    names = (entry.name for entry in resources.files("weft.catalog").joinpath(folder).iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def shipped_document(model: type[Model], name: str, kind: str) -> Model:
    """The document in a file in the folder of `model`. Raises InputError."""
    return parse_document(model, *_text_near(model, name), kind)


def shipped_figures(record: type[Record], name: str, schema: str) -> Record:
    """The dataclass `record` filled from a file in its folder. Raises InputError."""
    return figures_of(record, *_text_near(record, name), schema)


def figures_of(record: type[Record], text: str, where: str, schema: str) -> Record:
    """The dataclass `record` filled from a TOML text: for each field a table with `value` (whole
    where the field is an int), `unit` and `source`. Raises InputError naming `where` and the key.
    """
    fields = get_type_hints(record)
    tables: dict[str, Any] = {
        name: (_Count if kind is int else _Number, ...) for name, kind in fields.items()
    }
    tables["schema_"] = (Literal[schema], Field(alias="schema"))
    model = create_model("_Figures", __base__=Document, **tables)
    file = parse_document(model, text, where, "table of figures")
    return record(**{name: getattr(file, name).value for name in fields})


def _text_near(defined: type, name: str) -> tuple[str, str]:
    """The text of a file in the folder of a class, and its path in the package."""
    package = defined.__module__.rpartition(".")[0]
    folder = package.removeprefix("weft.").replace(".", "/")
    return resources.files(package).joinpath(name).read_text("utf-8"), f"{folder}/{name}"
