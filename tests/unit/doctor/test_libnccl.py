"""NCCL's library: names and version of whole ones, a refusal of damaged ones."""

import sys
from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.doctor.libnccl import read_libnccl

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from fuzz_documents import nccl_library

READ_ONLY = b"NCCL_DEBUG\0NCCL_ALGO\0NCCL version 2.26.5+cuda12.8\0"
LISTED = b"%s/Plugin: Could not find:%s%s%s\0"


def test_names_and_version_are_read(tmp_path: Path) -> None:
    path = tmp_path / "libnccl.so"
    path.write_bytes(nccl_library(READ_ONLY))
    library = read_libnccl(path)
    assert library.version == "2.26.5"
    assert library.names == {"NCCL_DEBUG", "NCCL_ALGO"}


@pytest.mark.parametrize(
    ("texts", "form", "has_attention"),
    [
        (b"", "", False),
        (LISTED, "list", False),
        (LISTED + b"[%d] %s:%d NCCL ATTN %s\n\0", "list", True),
        (LISTED + b"NET/Plugin: Failed to find ncclNetPlugin_v10 symbol.\0", "", False),
    ],
)
def test_the_form_of_lines_about_plugins(
    tmp_path: Path, texts: bytes, form: str, has_attention: bool
) -> None:
    """NCCL 2.27.3 logs interfaces that it does not find; how a list goes with it, no test shows."""
    path = tmp_path / "libnccl.so"
    path.write_bytes(nccl_library(READ_ONLY + texts))
    library = read_libnccl(path)
    assert (library.plugin_form, library.has_attention) == (form, has_attention)


@pytest.mark.parametrize("n_bytes", [2**16, 2**40, 2**64 - 1])
def test_a_count_of_data_beyond_the_file_is_refused(tmp_path: Path, n_bytes: int) -> None:
    path = tmp_path / "libnccl.so"
    path.write_bytes(nccl_library(READ_ONLY, n_bytes))
    with pytest.raises(InputError, match="more read-only data than the file has"):
        read_libnccl(path)
