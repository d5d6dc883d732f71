"""A study document: TOML text to a Study, every mistake named where it stands."""

import tomllib
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from weft.core.errors import InputError, did_you_mean
from weft.study.model import STUDY_SCHEMA, BenchmarkUse, Factor, Setting, Study

_MODELS = {"benchmarks": BenchmarkUse, "factors": Factor, "settings": Setting}


def load_study(name_or_path: str) -> tuple[Study, str]:
    """The study of the catalogue or of a file, and its text. Raises InputError."""
    from weft.catalog.load import study_text

    where, text = study_text(name_or_path)
    return parse_study(text, where), text


def parse_study(text: str, where: str) -> Study:
    """The study of a TOML text; `where` names the file in errors. Raises InputError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"not TOML ({error})", where=where, expected=f"a study document, {STUDY_SCHEMA}"
        ) from error
    try:
        return Study.model_validate(document)
    except ValidationError as error:
        raise _first_error(error, where) from error


def _first_error(error: ValidationError, where: str) -> InputError:
    first = error.errors()[0]
    n_more = error.error_count() - 1
    also = f" (and {n_more} more)" if n_more else ""
    what, expected, hint = _explain(first)
    return InputError(
        f"{_key_path(first['loc'])}{what}{also}", where=where, expected=expected, hint=hint
    )


def _explain(detail: ErrorDetails) -> tuple[str, str | None, str | None]:
    if detail["type"] == "extra_forbidden":
        known = _known_keys(detail["loc"])
        hint = did_you_mean(str(detail["loc"][-1]), known)
        return "unknown key", "one of " + ", ".join(known), hint
    if detail["type"] == "missing":
        return "missing", f"this key is required by {STUDY_SCHEMA}", None
    shown = "" if isinstance(detail["input"], dict | list | tuple) else f" {detail['input']!r}"
    return f"cannot be{shown}", _expected(detail), None


def _expected(detail: ErrorDetails) -> str:
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return message[:1].lower() + message[1:]


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    model: type[Any] = Study
    for part in location[:-1]:
        model = _MODELS.get(str(part), model)
    return [field.alias or name for name, field in model.model_fields.items()]


def _key_path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return f"{path.lstrip('.')}: " if path else ""
