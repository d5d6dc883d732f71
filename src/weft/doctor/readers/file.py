"""Any of the files: which kind it is, and its job."""

from pathlib import Path

from weft.core.errors import InputError
from weft.core.text_file import read_text_file, read_text_input
from weft.doctor.job import HOLE, Job, JobKind
from weft.doctor.readers.conf import read_conf
from weft.doctor.readers.dockerfile import read_dockerfile
from weft.doctor.readers.edf import read_edf
from weft.doctor.readers.modulefile import read_modulefile
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
    job = _READERS[kind or kind_of(name, text)](name, text)
    n_settings, n_launches = len(job.all_settings), len(job.launches)
    if max(n_settings, n_launches) > MOST_SETTINGS:
        raise InputError(
            f"it sets {n_settings:,} variables and launches {n_launches:,} programs",
            where=name,
            expected=f"{EXPECTED} of one job, of no more than {MOST_SETTINGS:,} of either",
        )
    return job


def _read_manifests(name: str, text: str) -> Job:
    # Imported here: most files are no YAML.
    from weft.doctor.readers.kubernetes import read_manifests

    return read_manifests(name, text)


def _read_nothing(name: str, text: str) -> Job:
    return Job(name, text, JobKind.OTHER)


_READERS = {
    JobKind.SCRIPT: read_script,
    JobKind.CONF: read_conf,
    JobKind.EDF: read_edf,
    JobKind.KUBERNETES: _read_manifests,
    JobKind.MODULEFILE: read_modulefile,
    JobKind.DOCKERFILE: read_dockerfile,
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
