"""The kernel's cache, with a compiler that only counts how often it is called."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import weft.launch.kernel as kernel_module
from weft.core.errors import ExitCode, MissingError
from weft.launch.kernel import build_kernel, cache_folder, digest, kernel_sources
from weft.launch.mpi import Mpi


@pytest.fixture
def compiler(tmp_path: Path) -> Mpi:
    wrapper = tmp_path / "mpicc"
    wrapper.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {tmp_path}/calls\n'
        "while [ $# -gt 0 ]; do case $1 in -o) printf '#!/bin/sh\\n' > $2; chmod +x $2;; esac; "
        "shift; done\n"
    )
    wrapper.chmod(0o755)
    return Mpi("mpich", wrapper, wrapper, "hydra", "MPICH 5.0.2", "cc -lmpi")


def calls(mpi: Mpi) -> list[str]:
    return (mpi.mpicc.parent / "calls").read_text().splitlines()


def test_the_kernel_is_compiled_once_and_portably(compiler: Mpi, tmp_path: Path):
    first = build_kernel(compiler, tmp_path)
    second = build_kernel(compiler, tmp_path)
    assert first == second
    assert os.access(first, os.X_OK)
    (line,) = calls(compiler)
    assert "-std=c11 -O2 -Wall -Wextra" in line
    assert "-march=native" not in line
    assert line.endswith("-lm")


def test_a_kernel_the_administrator_compiled_is_used_where_it_is(
    compiler: Mpi, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(kernel_module.sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    installed = build_kernel(compiler)
    monkeypatch.setattr(kernel_module, "cache_folder", lambda: tmp_path / "cache")
    assert build_kernel(compiler) == installed
    assert len(calls(compiler)) == 1


def test_another_mpi_or_another_source_is_another_kernel(compiler: Mpi, tmp_path: Path):
    source = tmp_path / "main.c"
    source.write_text("int main(void) { return 0; }\n")
    before = digest(compiler, [source])
    assert digest(replace(compiler, version="MPICH 4.0.2"), [source]) != before
    assert digest(replace(compiler, library="cc -lmpi_abi"), [source]) != before
    source.write_text("int main(void) { return 1; }\n")
    assert digest(compiler, [source]) != before


def test_nothing_unfinished_is_left_when_the_compiler_fails(compiler: Mpi, tmp_path: Path):
    compiler.mpicc.write_text("#!/bin/sh\necho 'main.c:1: error: no mpi.h' >&2\nexit 1\n")
    cache = tmp_path / "cache"
    cache.mkdir()
    with pytest.raises(MissingError, match=r"main\.c:1: error: no mpi\.h") as caught:
        build_kernel(compiler, cache)
    assert caught.value.exit_code == ExitCode.MISSING
    assert list(cache.iterdir()) == []


def test_a_compiler_that_is_not_there_is_missing(compiler: Mpi, tmp_path: Path):
    with pytest.raises(MissingError, match="the kernel does not compile"):
        build_kernel(replace(compiler, mpicc=tmp_path / "nosuch"), tmp_path)


def test_two_processes_that_build_at_once_both_get_a_whole_kernel(compiler: Mpi, tmp_path: Path):
    compiler.mpicc.write_text(compiler.mpicc.read_text().replace("while", "sleep 0.3\nwhile", 1))
    script = (
        "from pathlib import Path; from weft.launch.mpi import Mpi;"
        "from weft.launch.kernel import build_kernel;"
        f"p = Path({str(compiler.mpicc)!r});"
        "m = Mpi('mpich', p, p, 'hydra', 'MPICH 5.0.2', 'cc -lmpi');"
        f"print(build_kernel(m, Path({str(tmp_path)!r})))"
    )
    argv = [os.sys.executable, "-c", script]
    both = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = {process.communicate(timeout=60)[0].strip() for process in both}
    assert len(paths) == 1
    assert subprocess.run([paths.pop()], check=False).returncode == 0
    assert len(calls(compiler)) == 2


def test_without_sources_the_message_says_where_they_should_be(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(kernel_module.weft, "__file__", str(tmp_path / "src/weft/__init__.py"))
    with pytest.raises(MissingError, match="C sources are missing"):
        kernel_sources()


def test_a_prefix_that_cannot_be_written_falls_back_to_the_users_cache(tmp_path: Path, monkeypatch):
    blocked = tmp_path / "prefix"
    blocked.write_text("a file where a folder should be")
    monkeypatch.setattr(kernel_module.sys, "prefix", str(blocked))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache/weft/kernels"


def test_without_any_writable_folder_the_hint_names_the_variable(tmp_path: Path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr(kernel_module.sys, "prefix", str(blocked))
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    with pytest.raises(MissingError, match="no folder to keep the compiled kernel in") as caught:
        cache_folder()
    assert "XDG_CACHE_HOME" in str(caught.value)
