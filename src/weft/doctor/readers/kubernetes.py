"""Kubernetes manifests and Helm values: lists of name and value under `env`, ConfigMaps."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import yaml
from yaml.scanner import ScannerError

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

MOST_DEPTH = 100
"""Deeper than any manifest."""
LISTS = {"env", "extraenv", "extraenvs", "envvars", "extraenvvars", "environment"}
"""Keys under which manifests and charts list variables, in small letters."""


class ManifestLoader(yaml.SafeLoader):
    """Refuses brackets in brackets early: for each token PyYAML goes over all that are open."""

    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:  # noqa: N803
        """One bracket more."""
        if self.flow_level >= MOST_DEPTH:
            raise ScannerError(None, None, "nested too deeply", self.get_mark())
        super().fetch_flow_collection_start(TokenClass)


def read_manifests(name: str, text: str) -> Job:
    """Variables of all containers of all documents. Raises InputError where it is no YAML."""
    reader = _Manifests(text)
    try:
        for document in yaml.compose_all(text, Loader=ManifestLoader):
            for entries in _maps(document, 0, set()):
                reader.take(entries)
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
    settings, launches = tuple(reader.settings), tuple(reader.launches)
    return Job(name, text, JobKind.KUBERNETES, settings, launches)


_Entries = Mapping[str, yaml.Node]


def _maps(node: yaml.Node, depth: int, seen: set[int]) -> Iterator[_Entries]:
    """Every map once, though aliases may show it many times."""
    if depth > MOST_DEPTH or id(node) in seen:
        return
    seen.add(id(node))
    inside = node.value if isinstance(node, yaml.SequenceNode) else ()
    if isinstance(node, yaml.MappingNode):
        yield _entries(node)
        inside = [value for _, value in node.value]
    for value in inside:
        yield from _maps(value, depth + 1, seen)


class _Manifests:
    """Settings and launches of the maps that were read so far."""

    def __init__(self, text: str) -> None:
        self._lines = SourceLines(text)
        self.settings: list[JobSetting] = []
        self.launches: list[JobLaunch] = []

    def take(self, entries: _Entries) -> None:
        """Read a map that lists variables; of others nothing."""
        lists = [value for key, value in entries.items() if key.lower() in LISTS]
        if _text(entries.get("kind")) == "ConfigMap" and "data" in entries:
            lists.append(entries["data"])
        image = entries.get("image") if lists else None
        launch = len(self.launches) if image is not None else None
        if image is not None:
            container = Container(_text(image) or "")
            self.launches.append(JobLaunch("kubernetes", self._place(image), container=container))
        for listed in lists:
            self.settings += self._variables(listed, launch)
        if launch is not None:
            self._take_command(entries, launch)

    def _take_command(self, entries: _Entries, outer: int) -> None:
        """A launcher that a container begins with: `command: [mpirun, -np, "16", ...]`, of which
        `args` has the remaining words. Commands in a shell's text are not read."""
        words = [*self._words(entries.get("command")), *self._words(entries.get("args"))]
        name = words[0].text.rpartition("/")[2] if words else ""
        if name in LAUNCHERS:
            launch, own = read_launch(name, words, words[0].at)
            index = len(self.launches)
            self.launches.append(replace(launch, inside=outer))
            self.settings += [replace(one, launch=index, value_at=None) for one in own]

    def _words(self, node: yaml.Node | None) -> Iterator[Word]:
        for one in node.value if isinstance(node, yaml.SequenceNode) else ():
            yield Word(_known(_text(one)), replace(self._place(one), exact=False))

    def _variables(self, env: yaml.Node, launch: int | None) -> Iterator[JobSetting]:
        origin = SettingOrigin.DOCUMENT
        for one in env.value if isinstance(env, yaml.SequenceNode) else ():
            entries = _entries(one)
            name, value = _text(entries.get("name")), entries.get("value")
            if name is not None:
                is_empty = value is None and "valueFrom" not in entries
                known = "" if is_empty else _known(_text(value))
                value_at = self._place(value) if value is not None else None
                yield JobSetting(name, known, origin, self._place(one), value_at, launch)
        for key, value in env.value if isinstance(env, yaml.MappingNode) else ():
            name, shown = _text(key), _text(value)
            if name is not None and shown is not None:
                known = HOLE if "{{" in shown else shown
                at = self._lines.place(key.start_mark.index, value.end_mark.index)
                yield JobSetting(name, known, origin, at, self._place(value), launch)

    def _place(self, node: yaml.Node) -> TextPlace:
        return self._lines.place(node.start_mark.index, node.end_mark.index)


def _known(text: str | None) -> str:
    """A value, or a HOLE for one that the cluster or the chart fills in."""
    return HOLE if text is None or "$(" in text or "{{" in text else text


def _entries(node: yaml.Node) -> _Entries:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def _text(node: yaml.Node | None) -> str | None:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None
