"""Kubernetes manifests, Helm values and charts, compose files: variables listed under `env`, files
in ConfigMaps, and scripts in any string."""

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
from weft.doctor.numbers import whole
from weft.doctor.readers.conf import read_conf
from weft.doctor.readers.kubernetes_scripts import (
    MOST_CHARACTERS,
    MOST_SCRIPTS,
    is_script,
    script_of,
    without_templates,
)
from weft.doctor.readers.launchers import read_launch
from weft.doctor.readers.shell import read_script
from weft.launch.command_words import LAUNCHERS

MOST_DEPTH = 100
"""Deeper than any manifest."""
LISTS = {
    *("env", "envs", "envvars", "env_vars", "environment", "environment_variables"),
    *("extraenv", "extraenvs", "extraenvvars"),
}
"""Keys under which manifests and charts list variables, in small letters."""
WORKERS = {"worker", "workers"}
NODE_COUNTS = {"num_nodes", "numnodes", "nnodes", "parallelism", "completions"}
"""Keys whose number is that of pods or nodes, in small letters."""


class ManifestLoader(yaml.SafeLoader):
    """Refuses brackets in brackets early: for each token PyYAML goes over all that are open."""

    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:  # noqa: N803
        """One bracket more."""
        if self.flow_level >= MOST_DEPTH:
            raise ScannerError(None, None, "nested too deeply", self.get_mark())
        super().fetch_flow_collection_start(TokenClass)


def read_manifests(name: str, text: str) -> Job:
    """Variables of all containers of all documents, and scripts as `parts`. Raises InputError where
    it is no YAML."""
    plain = without_templates(text) if "{{" in text else text
    reader = _Manifests(text)
    try:
        for document in yaml.compose_all(plain, Loader=ManifestLoader):
            reader.begin(document)
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
    counts = (max(reader.node_counts),) if reader.node_counts else ()
    return Job(
        name,
        text,
        JobKind.KUBERNETES,
        tuple(reader.settings),
        tuple(reader.launches),
        node_counts=counts,
        parts=tuple(_parts(name, reader, counts)),
    )


def _parts(name: str, reader: "_Manifests", counts: tuple[int, ...]) -> Iterator[Job]:
    """The scripts in a document, each with the variables of its container."""
    for node, own in reader.scripts[:MOST_SCRIPTS]:
        text, is_exact = script_of(reader.text, node)
        if reader.is_conf(node):
            yield read_conf(name, text, whole=reader.text)
            continue
        script = read_script(name, text, whole=reader.text)
        for job in (script, *script.parts):
            settings = [
                replace(
                    one,
                    at=replace(one.at, exact=is_exact),
                    value_at=one.value_at if is_exact else None,
                )
                for one in job.settings
            ]
            own_counts = (*job.node_counts, *counts)
            yield replace(job, settings=(*own, *settings), node_counts=own_counts, parts=())


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
        self.text = text
        self._lines = SourceLines(text)
        self._is_manifest = False
        self._confs: set[int] = set()
        self.settings: list[JobSetting] = []
        self.launches: list[JobLaunch] = []
        self.scripts: list[tuple[yaml.Node, tuple[JobSetting, ...]]] = []
        self.node_counts: list[int] = []

    def begin(self, document: yaml.Node) -> None:
        """A new document. Of one without `kind` (values of a chart) empty values are to be filled
        in."""
        self._is_manifest = "kind" in _entries(document)

    def is_conf(self, node: yaml.Node) -> bool:
        """Whether a string is a file nccl.conf."""
        return id(node) in self._confs

    def take(self, entries: _Entries) -> None:
        """Read a map that lists variables, counts nodes, or has a script in it."""
        self._count(entries)
        lists = [value for key, value in entries.items() if key.lower() in LISTS]
        if _text(entries.get("kind")) == "ConfigMap" and "data" in entries:
            lists.append(entries["data"])
        first = len(self.settings)
        self._take_lists(entries, lists)
        own = tuple(replace(one, launch=None) for one in self.settings[first:])
        if len(self.text) > MOST_CHARACTERS:
            return
        for key, value in entries.items():
            if key.rpartition("/")[2] in ("nccl.conf", ".nccl.conf"):
                self._confs.add(id(value))
            inner = value.value if isinstance(value, yaml.SequenceNode) else [value]
            is_own = key in ("command", "args", "run", "entrypoint")
            self.scripts += [
                (one, own if is_own else ())
                for one in inner
                if key.lower() not in LISTS and is_script(one)
            ]

    def _count(self, entries: _Entries) -> None:
        for key, value in entries.items():
            shown = _text(value)
            if key.lower() in WORKERS:
                shown = _text(_entries(value).get("replicas"))
            elif key.lower() not in NODE_COUNTS:
                continue
            number = whole(shown or "")
            self.node_counts += [number] if number else []

    def _take_lists(self, entries: _Entries, lists: list[yaml.Node]) -> None:
        image = entries.get("image") if lists or self._starts_ranks(entries) else None
        launch = len(self.launches) if image is not None else None
        if image is not None:
            container = Container(_text(image) or "")
            self.launches.append(JobLaunch("kubernetes", self._place(image), container=container))
        for listed in lists:
            self.settings += self._variables(listed, launch)
        if launch is not None:
            self._take_command(entries, launch)

    def _command(self, entries: _Entries) -> list[Word]:
        return [*self._words(entries.get("command")), *self._words(entries.get("args"))]

    def _starts_ranks(self, entries: _Entries) -> bool:
        words = self._command(entries)
        return bool(words) and words[0].text.rpartition("/")[2] in LAUNCHERS

    def _take_command(self, entries: _Entries, outer: int) -> None:
        """A launcher that a container begins with: `command: [mpirun, -np, "16", ...]`, of which
        `args` has the remaining words. Commands in a shell's text are not read."""
        if self._starts_ranks(entries):
            words = self._command(entries)
            name = words[0].text.rpartition("/")[2]
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
            # A compose file lists NAME=VALUE.
            own, equals, listed = (_text(one) or "").partition("=")
            if equals:
                known = HOLE if "$" in listed or self._is_template(one) else listed
                yield JobSetting(own, known, origin, self._place(one), None, launch)
            entries = _entries(one)
            name, value = _text(entries.get("name")), entries.get("value")
            if name is not None:
                is_empty = value is None and "valueFrom" not in entries
                known = "" if is_empty else _known(_text(value))
                if value is not None and self._is_template(value):
                    known = HOLE
                value_at = self._place(value) if value is not None else None
                yield JobSetting(name, known, origin, self._place(one), value_at, launch)
        for key, value in env.value if isinstance(env, yaml.MappingNode) else ():
            name, shown = _text(key), _text(value)
            if name is not None and shown is not None and not (is_script(value) and "\n" in shown):
                known = HOLE if self._is_template(value) or "${" in shown else shown
                if not known and not self._is_manifest:
                    continue
                at = self._lines.place(key.start_mark.index, value.end_mark.index)
                yield JobSetting(name, known, origin, at, self._place(value), launch)

    def _is_template(self, node: yaml.Node) -> bool:
        return "{{" in self.text[node.start_mark.index : node.end_mark.index]

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
