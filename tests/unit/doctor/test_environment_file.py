"""Files that set an environment, read without running any of them."""

from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.doctor.environment_file import read_environment_file


def read(folder: Path, name: str, content: str | bytes) -> dict[str, str]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return dict(read_environment_file(str(path)).values)


def test_lines_as_env_prints_them(tmp_path: Path) -> None:
    dump = (
        "PATH=/a:/b\nPS1=\\u@\\h $ \nTWO=two words\nEMPTY=\nQUOTED='x y'\n# NOTE=1\n\n"
        "BASH_FUNC_module%%=() {  eval $x\n}\nLAST=a=b\n"
    )
    assert read(tmp_path, "good.env", dump) == {
        "PATH": "/a:/b",
        "PS1": "\\u@\\h $ ",
        "TWO": "two words",
        "EMPTY": "",
        "QUOTED": "x y",
        "BASH_FUNC_module%%": "() {  eval $x",
        "LAST": "a=b",
    }
    assert read(tmp_path, "environ", b"A=1\nof two lines\0B=2\0") == {
        "A": "1\nof two lines",
        "B": "2",
    }


def test_a_script_gives_what_programs_see(tmp_path: Path) -> None:
    script = (
        "#!/bin/bash\nexport UCX_TLS=tcp NCCL_ALGO=Ring\nLOCAL=1\nexport PATH=/x:$PATH\n"
        "export UCX_TLS=rc\nexport GONE=1\nunset GONE\n"
        "mpirun -x UCX_NET_DEVICES=mlx5_0:1 -np 2 ./a\n"
    )
    path = tmp_path / "job.sh"
    path.write_text(script)
    found = read_environment_file(str(path))
    assert found.values == {"UCX_TLS": "rc", "NCCL_ALGO": "Ring", "UCX_NET_DEVICES": "mlx5_0:1"}
    assert found.not_read == {"PATH": f"{path}:4: only a running shell knows its value"}


def test_an_nccl_conf_is_read_as_nccl_reads_it(tmp_path: Path) -> None:
    text = "NCCL_DEBUG=INFO\n# a comment\nNCCL_IB_HCA=mlx5_0,mlx5_1\n NCCL_ALGO=Ring\n"
    path = tmp_path / "nccl.conf"
    path.write_text(text)
    found = read_environment_file(str(path))
    assert found.values == {"NCCL_DEBUG": "INFO", "NCCL_IB_HCA": "mlx5_0,mlx5_1"}
    assert found.remarks == (f"{path}:4: ' NCCL_ALGO' is no name of a variable",)


def test_an_image_gives_its_variables(tmp_path: Path) -> None:
    (tmp_path / "image/etc").mkdir(parents=True)
    (tmp_path / "image/usr").mkdir()
    (tmp_path / "image/etc/environment").write_text("NCCL_VERSION=2.27\nA=/usr/lib\n")
    found = read_environment_file(str(tmp_path / "image"))
    assert found.values == {"NCCL_VERSION": "2.27", "A": "/usr/lib"}


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("empty.env", b"", "no variable is set here"),
        ("prose.txt", b"hello\n", "no variable is set here"),
        ("noise.bin", b"\xff\xfe\x00\x01", "noise.bin"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read(tmp_path, name, content)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.env"):
        read_environment_file(str(tmp_path / "no.env"))


def test_values_of_several_lines_as_env_prints_them(tmp_path: Path) -> None:
    dump = (
        "A=1\nKEY=first\nsecond line\n\nBASH_FUNC_f%%=() {  local a\n if x; then\n"
        "  INNER=1;\n fi\n}\nZ=3\n"
    )
    assert read(tmp_path, "good.env", dump) == {
        "A": "1",
        "KEY": "first\nsecond line",
        "BASH_FUNC_f%%": "() {  local a",
        "Z": "3",
    }


def test_a_script_whose_values_are_not_exported_is_no_dump(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no variable is set here"):
        read(tmp_path, "job.sh", "A=1\nmpirun -np 2 ./a\n")


def test_bash_own_list_of_exports(tmp_path: Path) -> None:
    """The output of `export -p` of bash 5.2."""
    text = (
        'declare -x A="1"\ndeclare -x B=$\'two\\nlines\'\ndeclare -x C="q\\"x\\$y"\n'
        'declare -x D=""\ndeclare -x OLDPWD\n'
    )
    assert read(tmp_path, "good.sh", text) == {"A": "1", "B": "two\nlines", "C": 'q"x$y', "D": ""}


def remarks_of(folder: Path, name: str, text: str) -> tuple[str, ...]:
    path = folder / name
    path.write_text(text)
    found = read_environment_file(str(path))
    return tuple(one.removeprefix(str(path)) for one in found.remarks)


def test_what_a_script_sets_out_of_sight_is_said(tmp_path: Path) -> None:
    script = "module load gcc/12 openmpi/5\nA=1\nB=2\nexport B UCX_TLS=rc\n"
    assert remarks_of(tmp_path, "job.sh", script) == (
        " loads modules, and weft runs none: gcc/12, openmpi/5; run the script and keep the output "
        "of env -0 as the file",
        ": assigned without export, so that no program sees it: A",
    )


def test_a_dollar_in_plain_lines_is_said(tmp_path: Path) -> None:
    lines = "LIBS=/x:$LIBS\nPS1=$USER $ \nA=100$\n"
    assert remarks_of(tmp_path, "good.env", lines) == (": '$' is kept as it stands in LIBS",)
