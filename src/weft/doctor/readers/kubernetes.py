"""Kubernetes manifests and Helm values: lists of name and value under `env`, ConfigMaps."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from weft.core.errors import InputError
from weft.doctor.job import (
    HOLE,
    Container,
    Job,
    JobKind,
    JobLaunch,
    JobSetting,
    SettingOrigin,
    SourceLines,
    TextPlace,
    Word,
)
from weft.doctor.readers.launchers import read_launch
from weft.launch.command_words import LAUNCHERS

LISTS = {"env", "extraenv", "extraenvs", "envvars", "extraenvvars", "environment"}
"""Keys under which manifests and charts list variables, in small letters."""


def read_manifests(name: str, text: str) -> Job:
    """Variables of all containers of all documents. Raises InputError where it is no YAML."""
    import yaml

    from weft.doctor.readers.manifest_loader import ManifestLoader

    lines = SourceLines(text)
    settings: list[JobSetting] = []
    launches: list[JobLaunch] = []
    try:
        for document in yaml.compose_all(text, Loader=ManifestLoader):
            for node in _maps(document, 0, set()):
                _take(node, lines, settings, launches)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}" if mark is not None else ""
        raise InputError(
            f"not YAML ({getattr(error, 'problem', error)})",
            where=f"{name}{place}",
            expected="Kubernetes manifests or Helm values",
        ) from error
    except RecursionError as error:
        raise InputError("nested too deeply", where=name, expected="manifests") from error
    return Job(name, text, JobKind.KUBERNETES, tuple(settings), tuple(launches))


def _maps(node: object, depth: int, seen: set[int]) -> Iterator[object]:
    """Every map once, though aliases may show it many times."""
    import yaml

    from weft.doctor.readers.manifest_loader import MOST_DEPTH

    if depth > MOST_DEPTH or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, value in node.value:
            yield from _maps(value, depth + 1, seen)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _maps(value, depth + 1, seen)


def _take(
    node: object, lines: SourceLines, settings: list[JobSetting], launches: list[JobLaunch]
) -> None:
    entries = _entries(node)
    lists = [value for key, value in entries.items() if key.lower() in LISTS]
    if _text(entries.get("kind")) == "ConfigMap" and "data" in entries:
        lists.append(entries["data"])
    if not lists:
        return
    launch: int | None = None
    if "image" in entries:
        launch = len(launches)
        image = _text(entries["image"]) or ""
        at = _place(lines, entries["image"])
        launches.append(JobLaunch("kubernetes", at, container=Container(image)))
    for listed in lists:
        settings += _variables(listed, lines, launch)
    if launch is not None:
        _take_command(entries, lines, launch, settings, launches)


def _take_command(
    entries: Mapping[str, object],
    lines: SourceLines,
    outer: int,
    settings: list[JobSetting],
    launches: list[JobLaunch],
) -> None:
    """A launcher that a container begins with: `command: [mpirun, -np, "16", ...]`, of which `args`
    has the remaining words. Commands in a shell's text are not read."""
    words = [*_words(entries.get("command"), lines), *_words(entries.get("args"), lines)]
    name = words[0].text.rpartition("/")[2] if words else ""
    if name in LAUNCHERS:
        launch, own = read_launch(name, words, words[0].at)
        index = len(launches)
        launches.append(replace(launch, inside=outer))
        settings += [replace(one, launch=index, value_at=None) for one in own]


def _words(node: object, lines: SourceLines) -> Iterator[Word]:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield Word(_known(_text(one)), replace(_place(lines, one), exact=False))


def _known(text: str | None) -> str:
    """A value, or a HOLE for one that the cluster or the chart fills in."""
    return HOLE if text is None or "$(" in text or "{{" in text else text


def _variables(env: object, lines: SourceLines, launch: int | None) -> Iterator[JobSetting]:
    import yaml

    origin = SettingOrigin.DOCUMENT
    if isinstance(env, yaml.SequenceNode):
        for one in env.value:
            entries = _entries(one)
            name, value = _text(entries.get("name")), entries.get("value")
            if name is None:
                continue
            at, value_at = _place(lines, one), _place(lines, value) if value is not None else None
            known = _known(_text(value)) if value is not None else ""
            if value is None and "valueFrom" in entries:
                known = HOLE
            yield JobSetting(name, known, origin, at, value_at, launch)
    elif isinstance(env, yaml.MappingNode):
        for key, value in env.value:
            name, shown = _text(key), _text(value)
            if name is not None and shown is not None:
                known = HOLE if "{{" in shown else shown
                at = lines.place(key.start_mark.index, value.end_mark.index)
                yield JobSetting(name, known, origin, at, _place(lines, value), launch)


def _entries(node: object) -> dict[str, object]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def _text(node: object) -> str | None:
    import yaml

    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def _place(lines: SourceLines, node: object) -> TextPlace:
    start, end = node.start_mark.index, node.end_mark.index  # type: ignore[attr-defined]
    return lines.place(start, end)
