"""Stand-ins for libnccl.so, compiled once."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("stand_in.c")
CRASH, HANG, REFUSAL, OTHER, DROP = 1, 2, 3, 4, 5


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The stand-in with each fault."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc)")
    folder = tmp_path_factory.mktemp("libnccl")
    # The name of a source file tells weft where a structure is described.
    (folder / "graph").mkdir()
    shutil.copy(SOURCE, folder / "graph/search.cc")
    found = {}
    for fault in range(6):
        found[fault] = folder / f"libnccl{fault}.so"
        how = ["-g", "-shared", "-fPIC", "-fcf-protection=none", f"-DFAULT={fault}", "-x", "c"]
        words = [compiler, *how, "graph/search.cc", "-o", str(found[fault])]
        subprocess.run(words, cwd=folder, check=True, timeout=60)
    return found
