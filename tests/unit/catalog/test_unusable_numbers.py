"""Every document of the catalogue, with one value replaced by what weft cannot compute with."""

import copy
import importlib
import pkgutil
import random
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import tomli_w

import weft
from weft.catalog.document import Document, parse_document
from weft.core.errors import InputError
from weft.core.units import DEEPEST, refuse_unusable

UNUSABLE = ("nan", "inf", "-inf", "1e400", "9" * 400, str(2**63))
MARK = "c0ffee"
PLACES = 12
"""Values that are replaced in a document, drawn of all."""
Place = tuple[str | int, ...]


OF_OPTIONAL_LIBRARIES = ("__main__", "weft.api.reframe_tests", "otf2.child", "otf2.reader")
"""Ends of the names of modules that import ReFrame or OTF2's library; weft imports them only in
ReFrame, and in the process that reads an archive."""


def models() -> dict[str, type[Document]]:
    """By schema the model of every document of weft: all its modules are imported for that."""
    for module in pkgutil.walk_packages(weft.__path__, "weft."):
        if not module.name.endswith(OF_OPTIONAL_LIBRARIES):
            importlib.import_module(module.name)
    found = {}
    left = Document.__subclasses__()
    while left:
        model = left.pop()
        left += model.__subclasses__()
        schema = model.model_fields.get("schema_")
        # A model that a function makes lives only as long as no collector runs.
        is_lasting = getattr(sys.modules[model.__module__], model.__name__, None) is model
        if schema is not None and is_lasting:
            found.update(dict.fromkeys(get_args(schema.annotation), model))
    return found


IN_JSON = {"weft.check_marks/1"}
"""weft writes it into a run directory itself, and reads it by the same kind of model."""
MODELS = {schema: model for schema, model in models().items() if schema not in IN_JSON}
DOCUMENTATION = Path(__file__).parents[3] / "docs/samples"
SHIPPED = {
    tomllib.loads(path.read_text("utf-8"))["schema"]: path
    for folder in (Path(weft.__path__[0]), DOCUMENTATION)
    for path in sorted(folder.rglob("*.toml"))
    if "schema" in tomllib.loads(path.read_text("utf-8"))
}


def test_every_model_has_a_document_that_is_tried_here() -> None:
    """The other documents are tables of figures, which `figures_of` reads by the same function."""
    assert set(MODELS) <= set(SHIPPED)


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every place of a document that has a single value."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from places(inner, (*at, key))
    elif at != ("schema",):
        yield at


def with_mark(document: dict[str, Any], place: Place, mark: Any) -> dict[str, Any]:
    marked = copy.deepcopy(document)
    inner: Any = marked
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = mark
    return marked


@pytest.mark.parametrize("schema", sorted(MODELS))
def test_a_number_that_cannot_be_used_is_an_error_with_its_key(schema: str) -> None:
    document = tomllib.loads(SHIPPED[schema].read_text("utf-8"))
    every = list(places(document))
    for place in random.Random(1).sample(every, min(PLACES, len(every))):
        text = tomli_w.dumps(with_mark(document, place, MARK))
        for number in UNUSABLE:
            with pytest.raises(InputError) as refused:
                parse_document(MODELS[schema], text.replace(f'"{MARK}"', number), "x.toml", schema)
            assert refused.value.where == "x.toml"
            assert str(place[-1] if isinstance(place[-1], str) else place[0]) in str(refused.value)


@pytest.mark.parametrize("value", [-0.0, -1, "", [], {}, True, 10**18, "x"], ids=repr)
@pytest.mark.parametrize("schema", sorted(MODELS))
def test_a_value_of_the_wrong_kind_is_an_error_or_a_document(schema: str, value: Any) -> None:
    document = tomllib.loads(SHIPPED[schema].read_text("utf-8"))
    every = list(places(document))
    for place in random.Random(2).sample(every, min(PLACES, len(every))):
        text = tomli_w.dumps(with_mark(document, place, value))
        try:
            parse_document(MODELS[schema], text, "x.toml", schema)
        except InputError as refused:
            assert refused.where == "x.toml"  # noqa: PT017


@pytest.mark.parametrize("schema", sorted(MODELS))
@pytest.mark.parametrize(
    "text",
    ["", "x", "\0", f"a = {'[' * 50_000}", f"a = {'9' * 100_000}"],
    ids=["empty", "word", "nul", "deep", "long"],
)
def test_a_text_that_is_no_document_is_an_error(schema: str, text: str) -> None:
    with pytest.raises(InputError):
        parse_document(MODELS[schema], text, "x.toml", schema)


def test_nesting_is_limited() -> None:
    deep: Any = 1
    for _ in range(DEEPEST):
        deep = [deep]
    with pytest.raises(InputError, match="levels of nesting"):
        refuse_unusable({"a": deep}, "x.toml")
    refuse_unusable({"a": deep[0]}, "x.toml")


def test_the_first_wrong_key_is_named() -> None:
    with pytest.raises(InputError, match=r"key 'a\[1\]\.b' is wrong\n  expected: a finite number"):
        refuse_unusable({"a": [1, {"b": float("nan")}], "c": float("inf")}, "x.toml")
