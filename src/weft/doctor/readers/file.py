"""Any of the files: which kind it is, and its job."""

from dataclasses import replace
from pathlib import Path

from weft.core.documents.text_file import read_text_file, read_text_input
from weft.core.errors import InputError
from weft.doctor.job import CONTAINER_PREFIXES, HOLE, Job, JobKind, JobSetting, SettingOrigin
from weft.doctor.readers.conf import read_conf
from weft.doctor.readers.dockerfile import read_dockerfile
from weft.doctor.readers.edf import read_edf
from weft.doctor.readers.markdown import read_markdown
from weft.doctor.readers.modulefiles.lmod import is_lmod, read_lmod
from weft.doctor.readers.modulefiles.tcl import MAGIC, read_modulefile
from weft.doctor.readers.shell import read_script
from weft.doctor.readers.text_kind import kind_of

MOST_BYTES = 16 << 20
"""A script is smaller; whatever is larger is none."""
MOST_SETTINGS = 5_000
"""A job sets a few dozen."""
EXPECTED = "a script or a document"


def read_job(name: str, text: str, kind: JobKind | None = None) -> Job:
    """The job of a text; its kind by its name and its text where it is not given.

    Raises InputError where a document is not of its kind, is no text, or sets more than a job does.
    """
    if HOLE in text:
        raise InputError("it is not text", where=name, expected=EXPECTED)
    job = with_prefixed(_READERS[kind or kind_of(name, text)](name, text))
    n_settings, n_launches = len(job.all_settings), len(job.launches)
    if max(n_settings, n_launches) > MOST_SETTINGS:
        raise InputError(
            f"it sets {n_settings:,} variables and launches {n_launches:,} programs",
            where=name,
            expected=f"{EXPECTED} of one job, of no more than {MOST_SETTINGS:,} of either",
        )
    return job


def with_prefixed(job: Job) -> Job:
    """With NAME=VALUE for each APPTAINERENV_NAME=VALUE that programs see."""
    settings: list[JobSetting] = []
    for one in job.settings:
        settings.append(one)
        prefix = next((own for own in CONTAINER_PREFIXES if one.name.startswith(own)), None)
        if prefix is not None and one.origin is not SettingOrigin.ASSIGNED:
            name = one.name.removeprefix(prefix)
            settings.append(replace(one, name=name, origin=SettingOrigin.PREFIXED))
    return replace(job, settings=tuple(settings), parts=tuple(map(with_prefixed, job.parts)))


def _read_manifests(name: str, text: str) -> Job:
    # Imported here: most files are no YAML.
    from weft.doctor.readers.kubernetes import read_manifests

    return read_manifests(name, text)


def _read_module(name: str, text: str) -> Job:
    is_lua = is_lmod(text) and not text.startswith(MAGIC)
    return read_lmod(name, text) if is_lua else read_modulefile(name, text)


def _read_nothing(name: str, text: str) -> Job:
    return Job(name, text, JobKind.OTHER)


_READERS = {
    JobKind.SCRIPT: read_script,
    JobKind.CONF: read_conf,
    JobKind.EDF: read_edf,
    JobKind.KUBERNETES: _read_manifests,
    JobKind.MODULEFILE: _read_module,
    JobKind.DOCKERFILE: read_dockerfile,
    JobKind.MARKDOWN: read_markdown,
    JobKind.OTHER: _read_nothing,
}


def job_of(path: Path, kind: JobKind | None = None) -> Job:
    """The job of a file; '-' is standard input. Raises InputError where it cannot be read, is no
    text or is too large."""
    if str(path) == "-":
        text = read_text_input(expected=EXPECTED, most_bytes=MOST_BYTES)
        return read_job("standard input", text, kind)
    text = read_text_file(path, expected=EXPECTED, most_bytes=MOST_BYTES)
    return read_job(str(path), text, kind)
