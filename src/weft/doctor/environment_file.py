"""The variables that a program sees with a file: NAME=value lines, a script, an nccl.conf, a
recipe's output, an image. Nothing in it is run."""

import codecs
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weft.core.documents.text_file import open_file, read_file_bytes
from weft.core.errors import InputError
from weft.core.words import first_few
from weft.doctor.container.image.image import EXPECTED as EXPECTED_IMAGE
from weft.doctor.container.image.image import MOST_ARCHIVE_BYTES, open_image
from weft.doctor.job import HOLE, Job, JobKind, JobSetting, SettingOrigin
from weft.doctor.readers.conf import read_conf
from weft.doctor.readers.file import MOST_BYTES, read_job
from weft.doctor.readers.text_kind import kind_of

EXPECTED = (
    "NAME=value lines, a script of exports, the output of weft recipe, an nccl.conf, or an image"
)
_SNIFFED_BYTES = 512
_SHOWN = 4
_OF_A_SHELL = ("BASH_FUNC_", "PS")
_DOLLAR = re.compile(r"\$[\w{(]")
_LINE = re.compile(r"\s*(?P<name>[A-Za-z_][\w.%()-]*)=(?P<value>.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_SHELL_WORD = re.compile(r"\s*(?:#!|(?:export|declare|source|module|set|unset|srun|mpirun)\s)")
_FUNCTION_END = re.compile(r"\s*\}\s*")


@dataclass(frozen=True, slots=True)
class EnvironmentFile:
    """The variables by name. `not_read`: names whose value only a running shell knows, each with
    the reason. `remarks` are sentences about the reading."""

    name: str
    kind: str
    values: Mapping[str, str]
    not_read: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def read_environment_file(name: str) -> EnvironmentFile:
    """The variables of a file, a folder or a named image. Raises InputError where it is none of
    these, or sets nothing that weft can read."""
    path = Path(name)
    if path.is_dir() or (not path.exists() and ":" in name):
        return _image(path)
    if path.is_file() and _is_packed(path):
        return _image(path)
    content = read_file_bytes(path, expected=EXPECTED, most_bytes=MOST_BYTES)
    found = _of_text(name, content)
    if not found.values and not found.not_read:
        raise InputError(
            "no variable is set here",
            where=name,
            expected=EXPECTED,
            hint="weft doctor env FILE shows what it reads of a file",
        )
    return found


def _of_text(name: str, content: bytes) -> EnvironmentFile:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("it is not text", where=name, expected=EXPECTED) from error
    if HOLE in text:
        return _lines(name, "NUL-separated environment", text.split(HOLE))
    lines = text.splitlines()
    told = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    kind = kind_of(name, text)
    if kind is JobKind.CONF:
        return _of_settings(name, read_conf(name, text))
    if told and (_LINE.fullmatch(told[0]) and not _needs_a_shell(told)):
        return _lines(name, "NAME=value lines", lines)
    found = _of_settings(name, read_job(name, text, kind))
    if told and not found.values and not found.not_read and _is_dump(told):
        return _lines(name, "NAME=value lines", lines)
    return found


def _is_dump(lines: Sequence[str]) -> bool:
    """Whether `env` may have printed it: values of several lines among NAME=value."""
    return _LINE.fullmatch(lines[0]) is not None and not any(map(_SHELL_WORD.match, lines))


def _needs_a_shell(lines: Iterable[str]) -> bool:
    """Whether a line is neither NAME=value nor the inside of a function that `env` prints."""
    is_inside = False
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is not None:
            is_inside = found["value"].startswith("() {")
        elif not is_inside:
            return True
        is_inside &= not _FUNCTION_END.fullmatch(line)
    return False


def _lines(name: str, kind: str, lines: Iterable[str]) -> EnvironmentFile:
    """Values as they stand, as `env` and docker's --env-file have them, without a pair of quotes
    around the whole."""
    values: dict[str, str] = {}
    last, is_function = "", False
    for line in lines:
        if is_function:
            is_function = not _FUNCTION_END.fullmatch(line)
            continue
        found = _LINE.match(line.rstrip("\r\n"))
        if found is not None and not line.lstrip().startswith("#"):
            value = found["value"]
            quote = value[:1]
            if quote in ("'", '"') and len(value) > 1 and value.endswith(quote):
                value = value[1:-1]
            is_function = value.startswith("() {") and not value.endswith("}")
            last = found["name"]
            values[last] = value
        elif found is None and last and not line.lstrip().startswith("#"):
            values[last] += f"\n{line}"
    values = {one: value.rstrip("\n") for one, value in values.items()}
    return EnvironmentFile(name, kind, values, {}, _dollar_remarks(name, values))


def _dollar_remarks(name: str, values: Mapping[str, str]) -> tuple[str, ...]:
    """A file of lines is often written for a shell, which would fill these in."""
    names = [
        one
        for one, value in values.items()
        if _DOLLAR.search(value) and not one.startswith(_OF_A_SHELL)
    ]
    if not names:
        return ()
    return (f"{name}: '$' is kept as it stands in {first_few(names[:_SHOWN], len(names))}",)


def _of_settings(name: str, job: Job) -> EnvironmentFile:
    """What programs see: the last value of each name, with what the first launch adds."""
    values: dict[str, str] = {}
    not_read: dict[str, str] = {}
    remarks = []
    for one in _seen(job):
        setting = one.name
        if job.kind is JobKind.CONF and not _NAME.fullmatch(setting):
            remarks.append(f"{name}:{one.at.line}: '{setting[:40]}' is no name of a variable")
            continue
        values.pop(setting, None)
        not_read.pop(setting, None)
        if one.value is None:
            continue
        if one.known is None:
            not_read[setting] = f"{name}:{one.at.line}: only a running shell knows its value"
        else:
            values[setting] = one.known
        if one.is_optional:
            remarks.append(f"{name}:{one.at.line}: {setting} is set in a branch, taken as set")
    if job.sourced:
        remarks.append(f"{name} reads other files, which weft does not: {', '.join(job.sourced)}")
    if job.unseen:
        remarks.append(f"{name}: variables of these commands are not seen: {', '.join(job.unseen)}")
    remarks += _unseen_remarks(name, job, values.keys() | not_read.keys())
    return EnvironmentFile(name, job.kind.value, values, not_read, tuple(remarks))


def _unseen_remarks(name: str, job: Job, seen: Collection[str]) -> Iterable[str]:
    """What a user may take for read: modules, and values that no program gets."""
    if job.modules:
        modules = list(dict.fromkeys(one.text for one in job.modules))
        yield (
            f"{name} loads modules, and weft runs none: {first_few(modules[:_SHOWN], len(modules))}"
            "; run the script and keep the output of env -0 as the file"
        )
    assigned = (one.name for one in job.settings if one.origin is SettingOrigin.ASSIGNED)
    kept = [one for one in dict.fromkeys(assigned) if one not in seen]
    if kept:
        shown = first_few(kept[:_SHOWN], len(kept))
        yield f"{name}: assigned without export, so that no program sees it: {shown}"


def _seen(job: Job) -> Iterable[JobSetting]:
    launches = [one.launch for one in job.settings if one.launch is not None]
    first = min(launches, default=None)
    return (
        one
        for one in job.settings
        if one.origin is not SettingOrigin.ASSIGNED and one.launch in (None, first)
    )


def _is_packed(path: Path) -> bool:
    """Whether a file is an image: bytes that are no text, and no NUL-separated environment."""
    with open_file(path, expected=EXPECTED, most_bytes=MOST_ARCHIVE_BYTES) as file:
        head = file.read(_SNIFFED_BYTES)
    if b"\0" in head:
        return b"=" not in head.split(b"\0")[0]
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return True
    return False


def _image(path: Path) -> EnvironmentFile:
    image = open_image(path)
    try:
        known = {one.name: one.value for one in image.variables if HOLE not in one.value}
        not_read = {
            one.name: f"{one.origin}: only a running container knows its value"
            for one in image.variables
            if HOLE in one.value
        }
    finally:
        image.close()
    if not known and not not_read:
        missing = "; ".join(image.not_seen) or "it sets none"
        raise InputError(
            f"no variable of the image is known: {missing}",
            where=str(path),
            expected=EXPECTED_IMAGE,
        )
    return EnvironmentFile(image.name, image.kind, known, not_read)
