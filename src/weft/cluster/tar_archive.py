"""Files as one tar archive, for standard input of a remote command."""

import io
import tarfile
from collections.abc import Collection, Mapping


def packed(files: Mapping[str, bytes], programs: Collection[str] = ()) -> bytes:
    """`files` by their path in the archive; `programs` of them can be run."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755 if name in programs else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()
