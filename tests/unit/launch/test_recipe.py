import shlex
import subprocess
from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.launch.mpi import Mpi
from weft.launch.recipe import Recipe, make_recipe
from weft.launch.spec import LaunchSpec

MPI = Mpi("mpich", Path("/m/mpicc"), Path("/m/mpiexec"), "hydra", "MPICH 5.0.2", "cc -lmpi")


def make_spec(**changes) -> LaunchSpec:
    fields = {
        "launcher": MPI.launcher,
        "program": ("/k", "--benchmark", "latency"),
        "hosts": ("node1", "node2"),
        "tasks_per_node": 1,
        "hostfile": Path("/run/h"),
    }
    return LaunchSpec(**(fields | changes))


def test_the_last_line_of_the_text_is_the_command_itself():
    recipe = make_recipe(MPI, make_spec(env={"A": "two words; and $more"}), Path("/tmp"))
    last = recipe.text.splitlines()[-1]
    assert tuple(shlex.split(last)) == recipe.argv


def test_pasting_the_text_does_what_the_recipe_says(tmp_path: Path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    recipe = Recipe(
        argv=("sh", "-c", 'cat hosts; printf "%s\\n" "$GREETING"; pwd'),
        env={"GREETING": "it's $HOME"},
        files={folder / "hosts": "node1\nnode 2\n"},
        cwd=folder,
    )
    done = subprocess.run(["sh"], input=recipe.text, capture_output=True, text=True, check=True)
    assert done.stdout == f"node1\nnode 2\nit's $HOME\n{folder}\n"


def test_the_host_file_is_among_the_files():
    recipe = make_recipe(MPI, make_spec(), Path("/tmp"), {Path("/run/rounds"): "0-1\n"})
    assert recipe.files == {Path("/run/rounds"): "0-1\n", Path("/run/h"): "node1\nnode2\n"}


@pytest.mark.parametrize("host", ["", "-oProxyCommand=x", "a b", "a,b", "a\nb"])
def test_a_host_that_is_no_name_is_refused(host: str):
    with pytest.raises(InputError, match="is not a host name"):
        make_recipe(MPI, make_spec(hosts=("node1", host)), Path("/tmp"))


@pytest.mark.parametrize(("name", "value"), [("A-B", "1"), ("A=B", "1"), ("", "1"), ("A", "x\ny")])
def test_a_variable_no_launcher_can_pass_on_is_refused(name: str, value: str):
    with pytest.raises(InputError, match="not an environment variable a launcher can pass on"):
        make_recipe(MPI, make_spec(env={name: value}), Path("/tmp"))
