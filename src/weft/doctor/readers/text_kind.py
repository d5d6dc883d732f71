"""The kind of a file, by its name and its content."""

import re
from pathlib import Path

from weft.core.documents.document_text import toml_table
from weft.core.errors import InputError
from weft.doctor.job import JobKind
from weft.doctor.readers.edf import is_edf
from weft.doctor.readers.modulefiles.lmod import is_lmod
from weft.doctor.readers.modulefiles.tcl import MAGIC

PROGRAMS = {
    *(".py", ".ipynb", ".c", ".cc", ".cpp", ".cu", ".h", ".rs", ".go", ".java", ".js", ".ts"),
    *(".json", ".rst", ".html", ".xml", ".ini", ".service", ".tf", ".rb", ".pl", ".lua"),
}
_OF_SUFFIX = {
    **dict.fromkeys(PROGRAMS, JobKind.OTHER),
    ".md": JobKind.MARKDOWN,
    ".markdown": JobKind.MARKDOWN,
    ".toml": JobKind.EDF,
    ".dockerfile": JobKind.DOCKERFILE,
    ".yaml": JobKind.KUBERNETES,
    ".yml": JobKind.KUBERNETES,
}
_OF_PYTHON = re.compile(r"^(?:import \w|from [\w.]+ import |def \w+\(|class \w+[(:])", re.M)
_OTHER_SHEBANG = re.compile(r"#!.*\b(?:python|perl|ruby|node|lua)")
_FROM = re.compile(r"\s*(?:(?:#|ARG\b)[^\n]*\n\s*)*FROM[ \t]+\S+", re.IGNORECASE)
_PLAIN = re.compile(r"[ \t]*(?:export[ \t]+)?[A-Za-z_]\w*[ \t]*=[^\n]*")
_EXPORT = re.compile(r"[ \t]*export[ \t]")
_SHELL = re.compile(
    r"^#!|\$[\w({]|`|^\s*(?:if|then|fi|for|do|done|case|esac|source|function|module|srun)\b",
    re.M,
)
MOST_CHARACTERS = 1 << 20
"""Of a text, that are looked at."""


def kind_of(name: str, text: str) -> JobKind:
    """The kind of a file."""
    text = text[:MOST_CHARACTERS]
    if text.startswith(MAGIC):
        return JobKind.MODULEFILE
    path = Path(name)
    suffix, base = path.suffix.lower(), path.name.lower()
    is_nccl = is_nccl_conf(name)
    if base.startswith(("dockerfile", "containerfile")):
        return JobKind.DOCKERFILE
    if suffix == ".lua" and is_lmod(text):
        return JobKind.MODULEFILE
    if is_nccl or suffix == ".conf":
        return _kind_of_conf(is_nccl, text)
    return _OF_SUFFIX.get(suffix) or _kind_of_content(text)


def is_nccl_conf(name: str) -> bool:
    """Whether it is the name of a file that NCCL itself reads."""
    return Path(name).name.lower().lstrip(".") == "nccl.conf"


def is_edf_text(text: str) -> bool:
    """Whether it is an EDF by its content alone."""
    if not is_edf(text):
        return False
    try:
        toml_table(text, "EDF", "TOML")
    except InputError:
        return False
    return True


def _kind_of_content(text: str) -> JobKind:
    if is_edf_text(text):
        return JobKind.EDF
    if re.search(r"^apiVersion:", text[:4096], re.M):
        return JobKind.KUBERNETES
    if _FROM.match(text):
        return JobKind.DOCKERFILE
    is_python = _OF_PYTHON.search(text) is not None and not text.startswith("#!")
    return JobKind.OTHER if is_python or _OTHER_SHEBANG.match(text) else JobKind.SCRIPT


def _kind_of_conf(is_nccl: bool, text: str) -> JobKind:
    """NCCL reads lines NAME=VALUE as they stand; a file that a shell reads has a shell's words."""
    lines = [
        line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")
    ]
    plain = [line for line in lines if _PLAIN.fullmatch(line.rstrip("\r"))]
    if is_nccl:
        is_shell = _SHELL.search("\n".join(lines)) or text.startswith("#!")
        all_exported = len(lines) > 1 and all(map(_EXPORT.match, lines))
        return JobKind.SCRIPT if is_shell or all_exported else JobKind.CONF
    if _SHELL.search(text) or any(map(_EXPORT.match, lines)):
        return JobKind.SCRIPT
    return JobKind.CONF if 2 * len(plain) >= len(lines) else JobKind.OTHER
