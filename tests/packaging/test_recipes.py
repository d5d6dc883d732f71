"""The recipes of packaging/ name what this checkout builds, and the real tools take them."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
SPACK_REPOSITORY = PACKAGING / "spack/spack_repo/weft"
SPACK = SPACK_REPOSITORY / "packages/weft/package.py"
(EASYCONFIG,) = PACKAGING.glob("easybuild/*.eb")
CONTAINER = PACKAGING / "Containerfile"
EASYBUILD = Path(os.environ.get("WEFT_EXPORT_READERS", Path(sys.prefix) / "opt/exports"))
"""The folder of the packages of requirements/exports.lock."""
READ_EASYCONFIG = """
import json, sys
from easybuild.tools.options import set_up_configuration
# With --fetch EasyBuild asks for no modules. Nothing is installed, so root may read it.
options = ["--fetch", "--allow-use-as-root-and-accept-consequences"]
set_up_configuration(args=options, silent=True)
from easybuild.framework.easyconfig.easyconfig import EasyConfig
read = EasyConfig(sys.argv[1], validate=False)
read.validate(check_osdeps=False)
from easybuild.framework.easyconfig.easyconfig import get_easyblock_class
get_easyblock_class(read["easyblock"])(read)
wanted = ("name", "version", "easyblock", "sources")
print(json.dumps({key: read[key] for key in wanted}, default=str))
"""


def project_version() -> str:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert isinstance(version, str)
    return version


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("Cargo.toml", r'^version = "(.+)"$'),
        ("src/weft/__init__.py", r'^__version__ = "(.+)"$'),
        ("CHANGELOG.md", r"^## (\S+)"),
        (str(SPACK.relative_to(ROOT)), r'^    version\("(.+)"\)$'),
        (str(EASYCONFIG.relative_to(ROOT)), r"^version = '(.+)'$"),
    ],
)
def test_every_place_has_the_same_version(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)
    assert found is not None, file
    assert found[1] == project_version(), file


def test_recipes_ask_for_the_archive_by_the_name_that_make_dist_gives() -> None:
    script = (ROOT / "scripts/make_dist.py").read_text()
    name = re.search(r'return f"weft-\{version\}-(wheelhouse)-\{python\}-(linux_)', script)
    assert name is not None
    for recipe in (SPACK, EASYCONFIG, CONTAINER):
        assert re.search(rf"-{name[1]}-cp\S*-{name[2]}", recipe.read_text()), recipe.name


def test_the_spack_recipe_asks_for_a_python_that_weft_takes() -> None:
    names = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(SPACK.read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    least = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert tuple(map(int, names["PYTHON"].split("."))) >= tuple(
        map(int, least.removeprefix(">=").split("."))
    )


@pytest.mark.slow
def test_easybuild_reads_its_recipe(tmp_path: Path) -> None:
    if not (EASYBUILD / "easybuild/framework").is_dir():
        pytest.skip(f"no EasyBuild in {EASYBUILD} (make exports)")
    argv = [sys.executable, "-c", READ_EASYCONFIG, str(EASYCONFIG)]
    # EasyBuild makes a folder below HOME.
    around = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(EASYBUILD)}
    done = subprocess.run(
        argv, env=around, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    read = json.loads(done.stdout.splitlines()[-1])
    assert (read["name"], read["version"]) == ("weft", project_version())
    assert read["easyblock"] == "Binary"
    assert f"weft-{project_version()}-wheelhouse-cp313-linux_" in str(read["sources"])
    assert EASYCONFIG.stem == f"weft-{project_version()}-GCCcore-14.3.0"


@pytest.mark.slow
def test_spack_reads_its_recipe() -> None:
    spack = shutil.which("spack")
    if spack is None:
        pytest.skip("no spack on PATH (PyPI has none)")
    argv = [spack, "--config", f"repos:weft:{SPACK_REPOSITORY}", "info", "--no-versions", "weft"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert "python@3." in done.stdout


def container_steps() -> list[tuple[str, str]]:
    """Instructions with their text, continuation lines joined."""
    text = re.sub(r"\\\n\s*", "", CONTAINER.read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2]) for line in lines]


def test_the_container_starts_what_it_installs_and_copies_what_is_there() -> None:
    steps = container_steps()
    known = {"ARG", "FROM", "RUN", "COPY", "ENV", "WORKDIR", "ENTRYPOINT"}
    assert {name for name, _ in steps} <= known
    copied = [text.split() for name, text in steps if name == "COPY"]
    stages = [text.split()[2] for name, text in steps if name == "FROM" and " AS " in text]
    for words in copied:
        if words[0].startswith("--from="):
            assert words[0].removeprefix("--from=") in stages
    assert ("RUN", "/tmp/weft/install.sh /opt/weft") in steps
    assert ("ENV", "PATH=/opt/weft/bin:$PATH") in steps
    assert steps[-1] == ("ENTRYPOINT", '["weft"]')
