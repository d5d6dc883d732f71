"""weft's judgement of a launch by podman, beside podman itself: its mounts, variables, devices and
links, and the ld.so of the image."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.needs import need
from tests.oracle.podman_launches import (
    FOLDERS,
    IMAGES,
    LAUNCHES,
    MOUNTS,
    PROBE,
    with_folders,
)
from tests.oracle.podman_node import PodmanNode, need_podman
from tests.oracle.podman_trees import build_host, build_image
from tests.unit.doctor.container.container_cases import need_gcc

from weft.cli import run
from weft.launch.engine_options import OPTIONS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NOT_FOUND = "cannot open shared object file: No such file or directory"
NO_VERSION = "version `QUEUE_2' not found (required by /opt/hostfabric/lib/libcxi.so.1)"
"""SOURCE: glibc 2.36, elf/dl-load.c and elf/dl-version.c."""


@dataclass(frozen=True)
class PodmanSite:
    """A node whose podman has the images as localhost/NAME:1, and in `folder` their files at `root`
    and each as an OCI layout."""

    node: PodmanNode
    folder: Path

    def options(self, image: str) -> list[str]:
        return ["doctor", "container", str(self.folder / image), "--host", str(self.node.host)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> PodmanSite:
    need_podman()
    need_gcc()
    folder = tmp_path_factory.mktemp("podman")
    node = PodmanNode(folder / "node", folder / "host", ("cxi0", "cxi1"))
    build_host(node.host, node.devices)
    build_image(folder / "root")
    lines = ["set -e", f"cd {folder}", "tar -C root -cf root.tar ."]
    for name, values in IMAGES.items():
        changes = "".join(f"--change 'ENV {one}' " for one in values)
        lines += [
            f"podman import --quiet {changes}root.tar localhost/{name}:1",
            f"podman save --quiet --format oci-dir -o {name} localhost/{name}:1",
        ]
    node.do("\n".join(lines))
    end = node.run("podman run localhost/bare:1 /bin/sh -c :")
    if end.returncode != 0:
        pytest.skip(f"podman starts no container here: {end.stderr.strip()[-200:]}")
    return PodmanSite(node, folder)


@dataclass
class SeenInside:
    """The probe's report: loaded files by path, with device and inode; device files; whether the
    plug-in opened the adapter; and an error, of the loader or of podman."""

    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    has_adapter: bool = False
    error: str = ""


def seen_by(site: PodmanSite, script: str) -> SeenInside:
    """What the probe reports of the container that a script starts."""
    end = site.node.run(script)
    seen = SeenInside(error=end.stderr)
    for line in end.stdout.splitlines():
        word, _, left = line.partition(" ")
        if word == "loaded":
            path, device, inode = left.split()
            seen.files[path] = (int(device), int(inode))
        elif word == "device":
            seen.devices.add(left)
        elif word == "adapter":
            seen.has_adapter = int(left) >= 0
        else:
            assert word == "error", line
            seen.error = left
    return seen


@dataclass(frozen=True)
class Judged:
    """weft's record of a launch, and its exit code."""

    code: int
    record: Any

    @property
    def is_good(self) -> bool:
        verdict = self.record["verdict"]
        assert (self.code, verdict) in ((0, "good"), (1, "bad")), self.record
        return self.code == 0

    @property
    def libraries(self) -> set[str]:
        return {one["file"] for one in self.record["chain"] if ".so" in one["file"]}

    @property
    def devices(self) -> set[str]:
        links = [one["file"] for one in self.record["chain"] if one["link"] == "adapter"]
        return {path for link in links for path in link.split(", ")}


class Doctor:
    """`weft doctor container` of an image of the site."""

    def __init__(self, site: PodmanSite, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.site, self.folder, self.capsys = site, folder, capsys

    def judge(self, image: str, *options: str) -> Judged:
        self.capsys.readouterr()
        code = run([*self.site.options(image), *options, "--format", "json"])
        said = self.capsys.readouterr()
        assert said.out, said.err
        return Judged(code, json.loads(said.out))

    def judge_script(self, image: str, text: str, *options: str) -> Judged:
        path = self.folder / "job.sh"
        path.write_text(text)
        return self.judge(image, "--script", str(path), *options)


@pytest.fixture
def doctor(site: PodmanSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Doctor:
    return Doctor(site, tmp_path, capsys)


def started(text: str, image: str) -> str:
    """An emitted launch with the image and the program that it leaves open."""
    return text.replace("IMAGE", f"localhost/{image}:1").replace("PROGRAM", PROBE)


def words_of(text: str) -> list[str]:
    """The words that a shell makes of an emitted launch; shlex joins no lines."""
    return shlex.split(text.replace("\\\n", " "), comments=True)


def assert_as_predicted(judged: Judged, seen: SeenInside) -> None:
    assert judged.is_good
    assert seen.has_adapter, seen.error
    assert judged.libraries <= seen.files.keys()
    assert judged.devices == seen.devices


def assert_as_mounted(site: PodmanSite, judged: Judged, seen: SeenInside) -> None:
    """Each file that weft mounts is loaded, from the host; the image has all others."""
    sources = {one["target"]: one["source"] for one in judged.record["mounts"]}
    assert sources.keys() <= seen.files.keys()
    for path, identity in seen.files.items():
        if path in sources:
            status = (site.node.host / sources[path].lstrip("/")).stat()
            assert identity == (status.st_dev, status.st_ino), path
        else:
            assert (site.folder / "root" / path.lstrip("/")).exists(), path


def test_an_image_alone_opens_no_plugin(site: PodmanSite, doctor: Doctor) -> None:
    assert not doctor.judge("bare").is_good
    seen = seen_by(site, f"podman run localhost/bare:1 {PROBE}")
    assert seen.error == f"libnccl-net.so: {NOT_FOUND}"
    assert (seen.files, seen.devices) == ({}, set())


@pytest.mark.parametrize("form", ["podman", "docker"])
@pytest.mark.parametrize("image", IMAGES)
def test_an_emitted_launch_opens_it(
    site: PodmanSite, doctor: Doctor, image: str, form: str
) -> None:
    text = started(doctor.judge(image, "--emit", form).record["text"], image)
    judged = doctor.judge_script(image, text)
    seen = seen_by(site, text)
    assert_as_predicted(judged, seen)
    assert_as_mounted(site, judged, seen)


def test_without_one_emitted_part_it_fails(site: PodmanSite, doctor: Doctor) -> None:
    words = words_of(doctor.judge("bare", "--emit", "podman").record["text"])
    at = [index for index, one in enumerate(words) if one in ("--volume", "--env")]
    assert len(at) == 5 + 2
    for index in at:
        text = started(shlex.join([*words[:index], *words[index + 2 :]]), "bare")
        assert not doctor.judge_script("bare", text).is_good
        assert seen_by(site, text).error.endswith((NOT_FOUND, NO_VERSION))


@pytest.mark.parametrize("name", LAUNCHES)
def test_podman_and_weft_say_the_same_of_a_launch(
    site: PodmanSite, doctor: Doctor, name: str
) -> None:
    launch = LAUNCHES[name]
    seen = seen_by(site, launch.text)
    assert seen.has_adapter == launch.opens, seen.error
    judged = doctor.judge_script(launch.image, launch.text)
    assert judged.is_good == launch.opens
    if launch.opens:
        assert_as_predicted(judged, seen)


@pytest.mark.parametrize(
    ("cover", "opens"),
    [
        ("--tmpfs /opt/ofi/lib", True),
        ("--tmpfs /opt:notmpcopyup", False),
        ("--mount type=tmpfs,destination=/opt,notmpcopyup", False),
        ("--mount type=volume,destination=/opt", True),
        ("--tmpfs /scratch", True),
    ],
)
def test_a_launch_that_covers_libraries_of_the_image_is_never_good(
    site: PodmanSite, doctor: Doctor, cover: str, opens: bool
) -> None:
    """podman copies what the image has into a tmpfs, unless an option says no, and into a new
    volume; docker never copies into a tmpfs. weft says that it cannot tell."""
    image, folder = "localhost/whole:1", site.folder
    changes = " ".join(f"--change 'ENV {one}'" for one in IMAGES["right"])
    site.node.do(f"""set -e
cd {folder}
[ ! -e whole ] || exit 0
tar -C root -cf whole.tar .
tar -C {site.node.host} -rf whole.tar ./opt
podman import --quiet {changes} whole.tar {image}
podman save --quiet --format oci-dir -o whole {image}""")
    start = f"podman run --device /dev/cxi0 {cover} {image} {PROBE}"
    seen = seen_by(site, start)
    assert seen.has_adapter == opens, seen.error
    path = doctor.folder / "job.sh"
    path.write_text(start)
    code = run([*site.options("whole"), "--script", str(path)])
    assert code == (0 if cover == "--tmpfs /scratch" else 5)


def test_relative_folders_begin_at_the_folder_of_the_image(
    site: PodmanSite, doctor: Doctor
) -> None:
    launch = with_folders(MOUNTS, FOLDERS.replace("/opt", "opt"), opens=True)
    assert seen_by(site, launch.text).has_adapter
    assert doctor.judge_script(launch.image, launch.text).is_good


def test_an_emission_is_added_as_it_says(site: PodmanSite, doctor: Doctor) -> None:
    own = "podman run --rm -e LD_LIBRARY_PATH=/usr/local/lib -e NCCL_NET_PLUGIN=none -e OWN=1"
    end = f" localhost/lost:1 {PROBE}"
    assert not doctor.judge_script("lost", own + end).is_good
    assert not seen_by(site, own + end).has_adapter
    emitted = doctor.judge_script("lost", own + end, "--emit", "podman").record
    for one in emitted["replaced"]:
        own = own.replace(f"-e {one['name']}={one['value']}", "")
    assert "-e OWN=1" in own
    text = f"{own} {shlex.join(words_of(emitted['text'])[2:-2])}{end}"
    judged, seen = doctor.judge_script("lost", text), seen_by(site, text)
    assert_as_predicted(judged, seen)
    assert_as_mounted(site, judged, seen)


CDI_EDITS = {
    "env": [f"LD_LIBRARY_PATH={FOLDERS}", "NCCL_NET_PLUGIN=ofi"],
    "deviceNodes": [{"path": "/dev/cxi0"}],
    "mounts": [
        {"hostPath": one, "containerPath": one, "options": ["ro", "rbind"]}
        for one in ("/opt/ofi", "/opt/fabric")
    ],
}
CDI = {
    "cdiVersion": "0.3.0",
    "kind": "site.fabric/own",
    "devices": [{"name": "all", "containerEdits": CDI_EDITS}],
}


def seen_with_cdi(site: PodmanSite, path: Path, start: str) -> SeenInside:
    return seen_by(site, f"mkdir /run/cdi\ncp {path} /run/cdi\n{start}")


@pytest.mark.parametrize("options", ["", "-e LD_LIBRARY_PATH=/a -e NCCL_NET_PLUGIN=a"])
@pytest.mark.parametrize("image", IMAGES)
def test_a_cdi_specification_wins(
    site: PodmanSite, doctor: Doctor, image: str, options: str
) -> None:
    path = doctor.folder / "site.json"
    path.write_text(json.dumps(CDI))
    start = f"podman run --device site.fabric/own=all {options} localhost/{image}:1 {PROBE}"
    judged = doctor.judge_script(image, start, "--cdi", str(path))
    assert_as_predicted(judged, seen_with_cdi(site, path, start))


@pytest.mark.parametrize("image", IMAGES)
def test_an_emitted_cdi_specification_opens_it(
    site: PodmanSite, doctor: Doctor, image: str
) -> None:
    emitted = doctor.judge(image, "--emit", "cdi").record
    path = doctor.folder / "fabric.json"
    path.write_text(emitted["text"])
    start = started(emitted["start"], image)
    judged = doctor.judge_script(image, start, "--cdi", str(path))
    seen = seen_with_cdi(site, path, start)
    assert_as_predicted(judged, seen)
    assert_as_mounted(site, judged, seen)


@pytest.mark.parametrize(("name", "opens"), [("all", True), ("one", False)])
def test_the_device_that_a_launch_names_counts(
    site: PodmanSite, doctor: Doctor, name: str, opens: bool
) -> None:
    only_nodes = {"name": "one", "containerEdits": {"deviceNodes": CDI_EDITS["deviceNodes"]}}
    path = doctor.folder / "site.json"
    path.write_text(json.dumps(CDI | {"devices": [*CDI["devices"], only_nodes]}))
    start = f"podman run --device site.fabric/own={name} localhost/bare:1 {PROBE}"
    judged = doctor.judge_script("bare", start, "--cdi", str(path))
    assert judged.is_good == seen_with_cdi(site, path, start).has_adapter == opens


OPTION = re.compile(r"^ +(?:-(\w), )?--([\w-]+)( \S+)?(?:  |$)", re.MULTILINE)


@pytest.mark.parametrize("engine", ["podman", "docker"])
@pytest.mark.parametrize("command", ["run", "create", "exec"])
def test_options_take_the_words_that_the_engine_says(engine: str, command: str) -> None:
    need(engine)
    words = [engine, command, "--help"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    _, _, listed = said.partition("\nOptions:\n")
    known = OPTIONS[command]
    found = OPTION.findall(listed)
    assert len(found) >= 8
    for letter, name, kind in found:
        for one in filter(None, (letter, name)):
            assert (one in known.valued, one in known.flags) == (bool(kind), not kind), one


WEFT = (sys.executable, "-c", "import sys; from weft.cli import run; sys.exit(run(sys.argv[1:]))")


def test_a_name_that_podman_knows(site: PodmanSite, doctor: Doctor) -> None:
    """By the storage that CONTAINERS_STORAGE_CONF names, where weft runs."""
    if Path(sys.prefix).is_relative_to("/opt"):
        pytest.skip("Python is in /opt, which the node has for its own files")
    for image in IMAGES:
        options = ["--host", str(site.node.host), "--emit", "podman", "--format", "json"]
        name = f"localhost/{image}:1"
        end = site.node.run(shlex.join([*WEFT, "doctor", "container", name, *options]))
        assert end.returncode == 0, end.stderr
        record = json.loads(end.stdout)
        assert record["text"] == doctor.judge(image, "--emit", "podman").record["text"]
        assert seen_by(site, started(record["text"], image)).has_adapter
    end = site.node.run(shlex.join([*WEFT, "doctor", "container", "localhost/none:1"]))
    assert end.returncode == 2
    assert "podman of this machine has none of that name" in end.stderr


@pytest.mark.parametrize("options", ["", "--pid=host ", "--pid private ", "--ipc=host --pid=host "])
def test_ranks_in_separate_containers_have_the_processes_that_weft_warns_of(
    site: PodmanSite, doctor: Doctor, options: str
) -> None:
    start = f"podman run {options}localhost/right:1 /bin/sh -c 'echo $$'"
    is_first = site.node.do(start).split() == ["1"]
    judged = doctor.judge_script("right", f"#SBATCH -N 1 -n 2\nsrun {start}")
    found = [one["happens"] for one in judged.record["warnings"] if one["rule"] == "own-namespaces"]
    assert any("PID" in one for one in found) == is_first == ("pid=host" not in options)


@pytest.mark.parametrize("options", ["", "--shm-size 1g ", "--ipc=host ", "--ipc private "])
def test_shared_memory_has_the_size_that_weft_warns_of(
    site: PodmanSite, doctor: Doctor, options: str
) -> None:
    """64,000 KiB are podman's default, "64m" by its manual; the node's own has 3 MB."""
    reads = 'while read a at b how; do [ "$at" != /dev/shm ] || echo "$how"; done < /proc/mounts'
    start = f"podman run {options}localhost/right:1 /bin/sh -c {shlex.quote(reads)}"
    is_small = "size=64000k" in site.node.do(start)
    judged = doctor.judge_script("right", start)
    warned = {one["rule"] for one in judged.record["warnings"]}
    assert ("shared-memory-small" in warned) == is_small == (options in ("", "--ipc private "))
