"""Open documents of the catalogue by name, or of your own by path."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from weft.catalog.benchmark import Benchmark
from weft.catalog.document import Model, parse_document
from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.catalog.libraries.model_document import ModelDocument
from weft.catalog.libraries.variables import VariableList
from weft.catalog.machine import generic
from weft.catalog.machine.platform import Platform, PublishedFigure
from weft.catalog.machine.platform_recipe import platform_recipe
from weft.catalog.published_figures import (
    Fact,
    FactList,
    FigureList,
    as_figure,
    facts_of,
    figures_of,
)
from weft.catalog.threshold import FieldTests, FieldThreshold, thresholds_of
from weft.catalog.toml_file import catalogue_names, catalogue_text
from weft.core.documents.document_text import MOST_DOCUMENT_BYTES
from weft.core.documents.key_line import with_line
from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError, did_you_mean, unknown_name

THIS_MACHINE = "this-machine"


def platform(name_or_path: str) -> Platform:
    """A platform of the catalogue, or of a .toml file. Raises InputError.

    `generic-CLASS` is built from the path class where it has no document. One of the catalogue
    comes with the figures its sources published about it; `this-machine` with the facts that the
    operating system reports.
    """
    if name_or_path.startswith(generic.PREFIX) and name_or_path not in _names("platform"):
        built = generic.generic_of_name(name_or_path, platform)
        if built is not None:
            return built
    document = platform_document(name_or_path)
    if not _is_path(name_or_path):
        own = published_figures().get(document.name, ())
        document = document.model_copy(update={"figures": (*document.figures, *own)})
    if document.name == THIS_MACHINE:
        from weft.catalog.machine.host import with_facts_of_this_host

        return with_facts_of_this_host(document)
    return document


def kept_platform(path: Path) -> Platform:
    """The platform that a run directory keeps. Raises InputError for a damaged file and for one of
    another version."""
    try:
        return platform(str(path))
    except InputError as error:
        hint = f"move {path.name} away to go on without the platform"
        raise InputError(
            error.what, where=error.where, expected=error.expected, hint=hint
        ) from error


def platform_document(name_or_path: str) -> Platform:
    """A platform as its own document has it, without the figures that lists of sources add. Raises
    InputError."""
    return _document(Platform, "platform", name_or_path)


def platform_names() -> list[str]:
    """Platforms of the catalogue, sorted."""
    return _names("platform")


def benchmark(name: str) -> Benchmark:
    """A benchmark of the catalogue. Raises InputError."""
    return _document(Benchmark, "benchmark", name)


def benchmark_names() -> list[str]:
    """Benchmarks weft measures, in the order of the suite: point to point, collectives, pairs."""
    return [name for name in readable_benchmark_names() if benchmark(name).kernel]


def readable_benchmark_names() -> list[str]:
    """All benchmarks of the catalogue, those read from other tools' files too, in that order."""
    order = {"pt2pt": 0, "collective": 1, "pairs": 2}
    return sorted(_names("benchmark"), key=lambda name: (order[benchmark(name).kind], name))


def launch_recipe(name_or_path: str) -> LaunchRecipe:
    """The launch recipe of a machine, of the catalogue or of a .toml file; of a platform without
    one the advice for its links. Raises InputError."""
    if _is_path(name_or_path) or name_or_path in _names("recipe"):
        return _document(LaunchRecipe, "recipe", name_or_path)
    if name_or_path in platform_names() or name_or_path.startswith(generic.PREFIX):
        return platform_recipe(platform(name_or_path), launch_recipe)
    known = recipe_machines()
    raise unknown_name(f"no recipe '{name_or_path}' in the catalogue", name_or_path, known)


def trained_model(
    name_or_path: str, check: Callable[[ModelDocument, str], None] = lambda _model, _where: None
) -> ModelDocument:
    """A model of the catalogue, or of a .toml file, which `check` may refuse by its place too.
    Raises InputError, which names the line of a wrong key."""
    text, where = _text("model", name_or_path)
    try:
        model = parse_document(ModelDocument, text, where, "model")
        check(model, where)
        return model
    except InputError as error:
        raise with_line(error, text) from error


def trained_model_names() -> list[str]:
    """Models of the catalogue, sorted."""
    return _names("model")


def launch_recipe_names() -> list[str]:
    """Machines whose recipe is a document of the catalogue, sorted."""
    return _names("recipe")


def recipe_machines() -> list[str]:
    """Every machine that `launch_recipe` knows, sorted: all platforms but this machine, whose links
    tell its recipe."""
    return [name for name in platform_names() if name != THIS_MACHINE]


@cache
def variable_lists() -> Mapping[str, VariableList]:
    """Variables by library; NCCL's own first, so that its plug-ins' come after it."""
    names = sorted(_names(_VARIABLES), key=lambda name: (name != "nccl", name))
    lists = (_document(VariableList, _VARIABLES, name) for name in names)
    return MappingProxyType({one.library: one for one in lists})


def study_text(name_or_path: str) -> tuple[str, str]:
    """(where, TOML text) of a study. The text is not judged here. Raises InputError."""
    text, where = _text("study", name_or_path)
    return where, text


def study_names() -> list[str]:
    """Studies of the catalogue, sorted."""
    return _names("study")


@cache
def published_figures() -> Mapping[str, tuple[PublishedFigure, ...]]:
    """Figures by the platform they belong to: those of the lists first, then facts in numbers.

    Under "" stand those that belong to no platform of the catalogue.
    """
    found: dict[str, list[PublishedFigure]] = {}
    lists = (_document(FigureList, _FIGURES, name) for name in _names(_FIGURES))
    rows = [row for one in lists for row in figures_of(one)]
    rows += [(fact.platforms, figure) for fact in facts() if (figure := as_figure(fact))]
    for platforms, figure in rows:
        for owner in platforms or ("",):
            found.setdefault(owner, []).append(figure)
    return MappingProxyType({owner: tuple(own) for owner, own in found.items()})


@cache
def facts() -> tuple[Fact, ...]:
    """Facts of specifications, manuals and papers, by topic, in the order of their documents."""
    documents = (_document(FactList, _FACTS, name) for name in _names(_FACTS))
    return tuple(fact for document in documents for fact in facts_of(document))


@cache
def field_thresholds() -> tuple[FieldThreshold, ...]:
    """Thresholds of other people's checks, by source and in the order of their documents."""
    documents = (_document(FieldTests, _THRESHOLDS, name) for name in _names(_THRESHOLDS))
    return tuple(threshold for document in documents for threshold in thresholds_of(document))


_FIGURES = "list of figures"
_VARIABLES = "list of variables"
_FACTS = "list of facts"
_THRESHOLDS = "list of field thresholds"
_FOLDERS = {
    "platform": "platforms",
    "benchmark": "benchmarks",
    "study": "studies",
    "recipe": "recipes",
    "model": "models",
    _VARIABLES: "variables",
    _FIGURES: "figures",
    _FACTS: "facts",
    _THRESHOLDS: "field_thresholds",
}


def _document(model: type[Model], kind: str, name_or_path: str) -> Model:
    parse = parse_document if _is_path(name_or_path) else _parsed_once
    return parse(model, *_text(kind, name_or_path), kind)


# Documents are frozen, and verbs ask for the same ones many times.
_parsed_once = cache(parse_document)


def _names(kind: str) -> list[str]:
    return catalogue_names(_FOLDERS[kind])


def _is_path(name_or_path: str) -> bool:
    return name_or_path.endswith(".toml") or "/" in name_or_path


def _text(kind: str, name_or_path: str) -> tuple[str, str]:
    if _is_path(name_or_path):
        return _file_text(kind, Path(name_or_path))
    known = _names(kind)
    if name_or_path not in known:
        built = generic.generic_names() if kind == "platform" else []
        raise InputError(
            f"no {kind} '{name_or_path}' in the catalogue",
            expected=f"one of {', '.join(known)}, or a path to a .toml file",
            hint=did_you_mean(name_or_path, [*known, *built]),
        )
    return catalogue_text(f"{_FOLDERS[kind]}/{name_or_path}.toml")


def _file_text(kind: str, path: Path) -> tuple[str, str]:
    expected = f"a {kind} in TOML, in UTF-8"
    return read_text_file(path, expected=expected, most_bytes=MOST_DOCUMENT_BYTES), str(path)
