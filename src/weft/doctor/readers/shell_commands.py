"""Commands of a shell in the order in which it meets them: what they set, start and hand on."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, pairwise

from weft.doctor.job import HOLE, JobLaunch, JobSetting, SettingOrigin, TextPlace, Word
from weft.doctor.numbers import whole
from weft.doctor.readers.launchers import read_launch
from weft.doctor.readers.scheduler import nodes_of_hosts, nodes_of_program
from weft.doctor.readers.shell_words import ASSIGNMENT, NAME, Words
from weft.launch.command_words import LAUNCHERS

BEFORE_A_COMMAND = {"exec", "nohup", "time", "command", "stdbuf", "numactl", "taskset", "sudo"}
"""Commands that run the one behind their options."""
MOST_LAUNCHES = 4
"""One inside another."""
HANDS_ON = {"-e", "-x", "--env", "--export"}
"""Options of wrappers, which pass NAME=VALUE on to a container or to ranks."""
SOURCES = {"source", "."}
HOSTS = ("host", "H", "hostfile")
_UPPER = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")


@dataclass(frozen=True, slots=True)
class Scope:
    """Variables of a shell at one moment."""

    known: dict[str, str]
    exported: set[str]
    exports_all: bool
    unset: set[str]


class Commands:
    """Settings and launches so far. `place` gives the place of bytes of the text."""

    def __init__(
        self,
        text: bytes,
        place: Callable[[int, int, bool], TextPlace],
        *,
        exports_all: bool = False,
    ) -> None:
        self.words = Words(text, place)
        self.settings: list[JobSetting] = []
        self.launches: list[JobLaunch] = []
        self.modules: list[Word] = []
        self.unset: set[str] = set()
        self.sourced: list[str] = []
        self.node_counts: list[int] = []
        self.broken: list[JobSetting] = []
        self.unseen: list[str] = []
        self.is_optional = False
        """Within a branch that may not be taken."""
        self.is_written = False
        """Within a text that goes into a file."""
        self._exported: set[str] = set()
        self._exports_all = exports_all
        self._order = 0

    def scope(self) -> Scope:
        """A copy of the variables, to come back to."""
        known, exported = {**self.words.known}, {*self._exported}
        return Scope(known, exported, self._exports_all, {*self.unset})

    def back_to(self, scope: Scope) -> None:
        """End a shell of its own: its variables end with it."""
        self.words.known, self._exported = scope.known, scope.exported
        self._exports_all, self.unset = scope.exports_all, scope.unset

    def set(
        self, name: str, value: str, at: TextPlace, value_at: TextPlace | None, *, exported: bool
    ) -> None:
        """A variable that the shell itself sets; one that is exported stays so."""
        is_default = self.words.used_default
        if HOLE in value or is_default:
            self.words.known.pop(name, None)
        else:
            self.words.known[name] = value
        origin = SettingOrigin.ASSIGNED
        if self.is_written:
            origin = SettingOrigin.WRITTEN
        elif exported or name in self._exported or self._exports_all:
            self._exported.add(name)
            origin = SettingOrigin.EXPORT
        is_optional = self.is_optional or is_default
        self.settings.append(
            JobSetting(name, value, origin, at, value_at, None, is_optional, self._next())
        )

    def export(self, name: str) -> None:
        """A value that was only assigned before counts from here on."""
        self._exported.add(name)
        for index, setting in enumerate(self.settings):
            if setting.name == name and setting.origin is SettingOrigin.ASSIGNED:
                self.settings[index] = replace(setting, origin=SettingOrigin.EXPORT)

    def take_back(self, name: str) -> None:
        """`unset NAME`."""
        self.unset.add(name)
        self.words.known.pop(name, None)
        self._exported.discard(name)
        self.settings = [one for one in self.settings if one.name != name or one.launch is not None]

    def take(self, words: Sequence[Word], before: list[JobSetting], at: TextPlace) -> None:
        """One command: its settings and its launches."""
        left = list(words)
        while left:
            name = left[0].text.rpartition("/")[2]
            if name == "env":
                left = self._env(left[1:], before)
            elif name == "timeout":
                left = _behind_timeout(left[1:])
            elif name in BEFORE_A_COMMAND:
                left = list(dropwhile(lambda word: word.text.startswith("-"), left[1:]))
            else:
                break
        if not left:
            return
        name = left[0].text.rpartition("/")[2]
        self.node_counts += nodes_of_program(left)
        if name in LAUNCHERS:
            self._launch(name, left, before, at)
        elif before or not self._of_the_shell(name, left, at):
            self._handed_on(left)
            if before:
                self._launch("", left, before, at)

    def _of_the_shell(self, name: str, left: Sequence[Word], at: TextPlace) -> bool:
        """Whether it is a command that changes the shell itself, which then does."""
        if name == "setenv" and len(left) > 1 and NAME.fullmatch(left[1].text):
            value, value_at = (left[2].text, left[2].at) if len(left) > 2 else ("", None)
            self.words.used_default = False
            self.set(left[1].text, value, left[1].at, value_at, exported=True)
        elif name in ("module", "ml"):
            self.modules += [word for word in left[1:] if word.text not in ("load", "add", "use")]
        elif name == "set":
            self._positional(left[1:])
            texts = {word.text for word in left[1:]}
            if texts & {"-a", "allexport"}:
                self._exports_all = "+o" not in texts
            elif "+a" in texts:
                self._exports_all = False
        elif name in SOURCES or (name == "eval" and any(HOLE in word.text for word in left[1:])):
            self._elsewhere(name, left[1:], at)
        elif name == "shift":
            self.words.positional = self._shifted([word.text for word in left[1:]])
        elif name in ("read", "mapfile", "readarray"):
            for word in left[1:]:
                self.words.known.pop(word.text, None)
        elif len(left) > 1 and left[1].text.startswith("=") and _UPPER.fullmatch(name):
            value = "".join(word.text for word in left[1:]).removeprefix("=")
            self.broken.append(JobSetting(name, value, SettingOrigin.ASSIGNED, at))
        else:
            return False
        return True

    def _positional(self, words: Sequence[Word]) -> None:
        """`set -- WORDS` gives `$@` a value."""
        if words and words[0].text == "--":
            texts = [word.text for word in words[1:]]
            self.words.positional = None if self.is_optional else texts

    def _shifted(self, words: Sequence[str]) -> list[str] | None:
        """`$@` without its first words, as many as `shift` is told."""
        count = whole(words[0]) if words else 1
        before = self.words.positional
        if before is None or count is None or self.is_optional:
            return None
        return before[count:]

    def _elsewhere(self, name: str, words: Sequence[Word], at: TextPlace) -> None:
        """Commands that are not in this text."""
        if name == "eval":
            self.unseen.append(f"the commands that eval runs (line {at.line})")
        elif words and HOLE not in words[0].text:
            self.sourced.append(words[0].text)
        elif words:
            self.unseen.append(f"the file that line {at.line} sources")

    def _handed_on(self, words: Sequence[Word]) -> None:
        """`-e NAME=VALUE` of a wrapper (`bash run_cluster.sh image -e NAME=VALUE`)."""
        for option, word in pairwise(words):
            name, equals, value = word.text.partition("=")
            if option.text in HANDS_ON and equals and _UPPER.fullmatch(name):
                origin = SettingOrigin.LAUNCHER
                self.settings.append(
                    JobSetting(
                        name, value, origin, word.at, word.value_at, None, self.is_optional,
                        self._next(),
                    )
                )  # fmt: skip

    def _env(self, words: list[Word], before: list[JobSetting]) -> list[Word]:
        while words and (words[0].text.startswith("-") or ASSIGNMENT.match(words[0].text)):
            word = words.pop(0)
            if word.text in ("-u", "-C", "-S") and words:
                words.pop(0)
            name, equals, value = word.text.partition("=")
            if equals and not word.text.startswith("-"):
                before.append(JobSetting(name, value, SettingOrigin.BEFORE, word.at, word.value_at))
        return words

    def _launch(
        self, name: str, words: Sequence[Word], before: Sequence[JobSetting], at: TextPlace
    ) -> None:
        inside: int | None = None
        for _ in range(MOST_LAUNCHES):
            index = len(self.launches)
            launch, settings = read_launch(name, words, at)
            self.launches.append(replace(launch, inside=inside, order=self._next()))
            self._count_hosts(launch)
            self.settings += [
                replace(one, launch=index, is_optional=self.is_optional, order=self._next())
                for one in (*before, *settings)
            ]
            words = launch.program
            name = words[0].text.rpartition("/")[2] if words else ""
            if name not in LAUNCHERS:
                return
            # One launcher may start another: srun apptainer exec image program.
            at = replace(words[0].at, end=at.end)
            inside, before = index, ()

    def _count_hosts(self, launch: JobLaunch) -> None:
        for option in HOSTS:
            if option in launch.options:
                number = nodes_of_hosts(launch.options[option].text, option)
                self.node_counts += [] if number is None else [number]

    def _next(self) -> int:
        self._order += 1
        return self._order


def _behind_timeout(words: list[Word]) -> list[Word]:
    """The command behind `timeout [OPTION] DURATION`. SOURCE: timeout(1) of GNU coreutils."""
    left = list(words)
    while left and left[0].text.startswith("-"):
        if left.pop(0).text in ("-k", "-s", "--kill-after", "--signal") and left:
            del left[0]
    return left[1:]
