"""A run directory as its writer holds it: claimed once, its files and folders, its sample files."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from weft.core.errors import InputError, MissingError, StorageError
from weft.core.files import HeldFolder, is_partial, storage_error
from weft.core.jsonl import LineWriter

RUN_FILE = "run.toml"
FILES = (
    RUN_FILE, "plan.jsonl", "platform.toml", "machine.toml", "detected.toml", "marks.json",
    "fabric.json",
)  # fmt: skip
SAMPLES = "samples"
FOLDERS = (SAMPLES, "recipes", "raw")
EARLIER = "earlier"
"""The folder of the runs that a check discarded, numbered."""


class RunFolder(HeldFolder):
    """A run directory that this process writes into. Raises StorageError on a disk that refuses."""

    def __init__(self, path: Path, created: tuple[str, ...] = ()) -> None:
        with disk_errors(path):
            super().__init__(path)
        self._created = created

    @staticmethod
    def claim(path: Path, text: str) -> "RunFolder":
        """Write run.toml into a new or empty directory, made where there is none. Raises
        InputError where another run, or anything else, is in it."""
        with disk_errors(path):
            existed = path.is_dir()
            path.mkdir(parents=True, exist_ok=True)
            created = (*FILES, *FOLDERS)
            folder = RunFolder(path, created if existed else (*created, "."))
            if any(not _may_stay(one) for one in path.iterdir()):
                raise _not_empty(path)
            try:
                folder.write_new(RUN_FILE, text)
            except FileExistsError as error:
                raise _not_empty(path) from error
        try:
            folder._make_folders()
        except StorageError:
            folder.abandon()
            raise
        return folder

    @staticmethod
    def open(path: Path) -> "RunFolder":
        """The directory of a run to go on with."""
        folder = RunFolder(path)
        folder._make_folders()
        return folder

    def abandon(self) -> None:
        """Remove the files of `claim` if the run could not be prepared, so that the next try
        finds the directory free. If it holds other files, all of it stays."""
        with contextlib.suppress(OSError, StorageError):
            self.refuse_lost()
            folders = [self.path / name for name in FOLDERS if (self.path / name).is_dir()]
            if any(any(folder.iterdir()) for folder in folders):
                return
            for name in self._created:
                if name in FILES:
                    (self.path / name).unlink(missing_ok=True)
                else:
                    with contextlib.suppress(FileNotFoundError):
                        (self.path / name).rmdir()

    def claim_samples(self) -> LineWriter:
        """A file with one writer: exclusive create decides, on any file system, among any hosts."""
        self.refuse_lost()
        directory = self.path / SAMPLES
        host = socket.gethostname().split(".")[0] or "host"
        with disk_errors(directory):
            for counter in range(10_000):
                with contextlib.suppress(FileExistsError):
                    return LineWriter(directory / f"{host}-{os.getpid()}-{counter}.jsonl")
        raise MissingError("no free writer name", where=str(directory), expected="a new file name")

    def _make_folders(self) -> None:
        with disk_errors(self.path):
            for name in FOLDERS:
                _refuse_link(self.path / name)
            self.make_folders(FOLDERS)


def _refuse_link(path: Path) -> None:
    """Files of a run do not leave its directory."""
    if path.is_symlink():
        raise InputError(
            "is a link",
            where=str(path),
            expected=f"a directory in {path.parent}",
            hint="name the other place with --dir: the run directory itself may be a link",
        )


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of writing there into its StorageError; InputError where `path` is no
    directory."""
    try:
        yield
    except FileExistsError as error:
        raise InputError("exists and is not a directory", where=str(path)) from error
    except OSError as error:
        raise storage_error("the run", path, error) from error


def _may_stay(path: Path) -> bool:
    """Earlier runs of a check, and what a killed process left of `claim` and `abandon`."""
    is_empty_folder = path.name in FOLDERS and path.is_dir() and not any(path.iterdir())
    return path.name == EARLIER or is_empty_folder or is_partial(path, RUN_FILE)


def _not_empty(path: Path) -> InputError:
    return InputError(
        "this directory is not empty",
        where=str(path),
        expected="a new or empty directory",
        hint="continue an interrupted run with --resume, or choose another --dir",
    )
