"""Common parts of catalogue documents: figures with sources; TOML read with errors that point."""

import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from weft.core.documents.document_text import toml_table
from weft.core.errors import InputError, did_you_mean
from weft.core.units import LARGEST_FIGURE

TAG = "as "
"""How tags of a union's models begin: no key of a document does, and no error names them."""

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
Text = Annotated[str, Field(min_length=1)]


def _is_a_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"a regular expression ({error})") from error
    return text


RegularExpression = Annotated[Text, AfterValidator(_is_a_pattern)]


class Document(BaseModel):
    """A frozen document: an unknown key is an error."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        allow_inf_nan=False,
        # A verb reads few of the models that it imports: the others need no validator.
        defer_build=True,
    )


class SourceClass(StrEnum):
    """How far a figure can be trusted."""

    SOURCED = "sourced"
    PUBLISHED = "published"
    FITTED = "fitted"
    ASSUMED = "assumed"
    UNVERIFIED = "unverified"


class Figure(Document):
    """A number, its unit, and where it comes from.

    `sourced` stands in a specification or a manual, `published` was measured or stated by its
    source, `fitted` follows from a published table by a stated method, `assumed` is ours (the
    source says what is assumed), `unverified` could not be read at its source and gates nothing.
    """

    value: float = Field(allow_inf_nan=False)
    unit: Text
    class_: SourceClass = Field(alias="class")
    source: Text
    conditions: str = ""
    erratum: str = ""

    @property
    def gates(self) -> bool:
        """Whether a verdict or a test may rest on it."""
        return self.class_ is not SourceClass.UNVERIFIED

    @property
    def whole(self) -> int:
        """The value as a count. Only for figures whose unit counts something."""
        return round(self.value)


def in_unit(unit: str, *, above: float | None = None, least: float = 0) -> AfterValidator:
    """What holds a figure to a unit, and above a value or to at least one."""

    def check(figure: Figure) -> Figure:
        if figure.unit != unit:
            raise ValueError(f"a figure in {unit}, not in {figure.unit}")
        if above is not None and figure.value <= above:
            raise ValueError(f"a figure above {above:g} {unit}, not {figure.value:g}")
        if above is None and figure.value < least:
            raise ValueError(f"a figure of {least:g} {unit} or more, not {figure.value:g}")
        return figure

    return AfterValidator(check)


Gbps = Annotated[Figure, in_unit("Gb/s", above=0)]
GBps = Annotated[Figure, in_unit("GB/s", above=0)]
Gpus = Annotated[Figure, in_unit("GPUs", above=0)]
Nanoseconds = Annotated[Figure, in_unit("ns")]
Bytes = Annotated[Figure, in_unit("B", least=1)]
Ports = Annotated[Figure, in_unit("ports", above=1)]
Nodes = Annotated[Figure, in_unit("nodes", above=0)]
Switches = Annotated[Figure, in_unit("switches", above=0)]
Cables = Annotated[Figure, in_unit("cables", above=0)]
Groups = Annotated[Figure, in_unit("groups", above=1)]
Probability = Annotated[Figure, in_unit("1")]


def require_once(names: Iterable[str], what: str) -> None:
    """Raises ValueError that names the first, by the alphabet, of what appears twice."""
    twice = sorted(name for name, n in Counter(names).items() if n > 1)
    if twice:
        raise ValueError(f"each {what} once: '{twice[0]}' appears twice")


Model = TypeVar("Model", bound=Document)


def parse_document(model: type[Model], text: str, where: str, kind: str) -> Model:
    """The document of a TOML text. Raises InputError naming the file, the key and the remedy."""
    table = toml_table(text, where, f"a {kind} in TOML", most=LARGEST_FIGURE)
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise _first_problem(model, error, where, kind) from error
    except InputError as error:
        # Of a validator that asked another reader of weft, which does not know the file.
        raise InputError(
            error.what, where=error.where or where, expected=error.expected, hint=error.hint
        ) from error


def to_toml(document: Document) -> str:
    """The document as TOML that `parse_document` reads back as its equal; comments are lost."""
    import tomli_w

    return tomli_w.dumps(document.model_dump(mode="json", by_alias=True, exclude_none=True))


_KINDS = {
    "tuple_type": "a list, in square brackets",
    "list_type": "a list, in square brackets",
    "dict_type": "a table",
    "mapping_type": "a table",
    "model_type": "a table",
    "string_type": "text, in quotes",
    "int_type": "a whole number",
    "bool_type": "true or false",
}
"""What a key takes, in the words of TOML, by the kind of a fault that pydantic finds."""


def _first_problem(
    model: type[Document], error: ValidationError, where: str, kind: str
) -> InputError:
    problems = error.errors(include_url=False)
    # An unknown key is named first: it is usually the missing one, misspelt.
    problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
    problem = problems[0]
    path = _key_path(tuple(part for part in problem["loc"] if not _is_tag(part)))
    if problem["type"] == "extra_forbidden":
        known = known_keys(model, problem["loc"][:-1])
        return InputError(
            f"unknown key '{path}'",
            where=where,
            expected=f"one of {', '.join(known)}" if known else f"the keys of a {kind}",
            hint=did_you_mean(str(problem["loc"][-1]), known),
        )
    if problem["type"] == "missing":
        return InputError(f"key '{path}' is missing", where=where, expected=f"a complete {kind}")
    complete = isinstance(problem["input"], str | int | float | bool)
    got = f", not {problem['input']!r}" if complete else ""
    message = _KINDS.get(problem["type"], problem["msg"])
    message = message.removeprefix("Value error, ").removeprefix("Input should be ")
    return InputError(f"key '{path}' is wrong", where=where, expected=f"{message}{got}")


def _key_path(loc: tuple[int | str, ...]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return "".join(parts).removeprefix(".")


def known_keys(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The keys a document may have at a place, by walking the model's annotations."""
    here: type[BaseModel] | None = model
    annotation: Any = None
    for part in loc:
        if _is_tag(part):
            here = _tagged(annotation, str(part))
        elif isinstance(part, str) and here is not None:
            fields = here.model_fields.items()
            found = (field.annotation for name, field in fields if part in (name, field.alias))
            annotation = next(found, None)
            here = _model_in(annotation)
    if here is None:
        return []
    return [field.alias or name for name, field in here.model_fields.items()]


def _is_tag(part: int | str) -> bool:
    return isinstance(part, str) and part.startswith(TAG)


def _tagged(annotation: Any, tag: str) -> type[BaseModel] | None:
    """The model of a union that has a tag."""
    known = (getattr(one, "tag", None) for one in getattr(annotation, "__metadata__", ()))
    if tag in known:
        return _model_in(annotation)
    inner = (_tagged(one, tag) for one in getattr(annotation, "__args__", ()))
    return next((found for found in inner if found is not None), None)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(one) for one in getattr(annotation, "__args__", ()))
    return next((found for found in inner if found is not None), None)
