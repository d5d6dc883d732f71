"""`--emit`: what it writes makes the image right, as its own readers, jsonschema and ld.so say."""

import json
import os
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path
from random import Random

import jsonschema
import pytest
from elftools.elf.elffile import ELFFile
from tests.unit.doctor.container.container_cases import verdict_of
from tests.unit.doctor.container.container_trees import (
    LIBFABRIC_SOURCE,
    LIBRARY_FOLDER,
    PLAIN_LIBFABRIC_SOURCE,
    PLUGIN_SOURCE,
    PROVIDER_SOURCE,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.image.image_archives import layer_of, oci_layout
from tests.unit.doctor.container.real_loader import real_loads
from tests.unit.doctor.container.remedy.cdi_schemas import CDI_SCHEMA, published_validator
from tests.unit.doctor.container.remedy.emissions import remedy_of, written

from weft.core.errors import InputError, MissingError
from weft.core.finding import Severity
from weft.doctor.container.remedy.additions import FOLDER, Additions
from weft.doctor.container.remedy.emission import emission_of
from weft.doctor.container.remedy.emission_forms import FORMS
from weft.doctor.container.remedy.search import ContainerRemedy

GOOD = (Severity.GOOD, set())


def needs_more(node: SlingshotNode, name: str, *, versions: str = "") -> Path:
    """libcxi of the host needs one library more, which is in a folder of the host's loader."""
    more = node.host / LIBRARY_FOLDER / name
    compile_library(more, "int more(void) { return 1; }", versions=versions)
    source = "int more(void); int cxil_open(void) { return more(); }"
    compile_library(node.host / "opt/libfabric/libcxi.so.1", source, needs=[more])
    return more


def apply(node: SlingshotNode, remedy: ContainerRemedy) -> set[str]:
    """Copy what is mounted into the image; the names."""
    for one in remedy.added.mounts:
        target = node.image / one.target.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(node.host / one.source.lstrip("/"), target)
    return {Path(one.target).name for one in remedy.added.mounts}


@pytest.mark.parametrize("form", FORMS)
def test_each_format_makes_a_bare_image_good(
    node: SlingshotNode, tmp_path: Path, form: str
) -> None:
    assert verdict_of(node.image, node.host)[0] is Severity.BAD
    remedy = remedy_of(node.image, node.host, form)
    assert remedy.chain.verdict() is Severity.GOOD
    assert verdict_of(node.image, node.host, **written(remedy, tmp_path)) == GOOD
    sources = {one.source for one in remedy.added.mounts}
    fast = {"/opt/libfabric/libfabric.so.1", "/opt/libfabric/libcxi.so.1"}
    assert sources == {"/opt/ofi/libnccl-net-ofi.so", *fast}
    assert all(one.reason for one in (*remedy.added.mounts, *remedy.added.variables))


LACKS = {
    "libnccl-net-ofi.so": {"plugin-not-mounted"},
    "libfabric.so.1": {"libfabric-absent"},
    "libcxi.so.1": {"dependency-missing"},
    "NCCL_NET_PLUGIN": {"plugin-not-selected"},
    "LD_LIBRARY_PATH": {"plugin-not-on-path", "libfabric-not-on-path"},
    "devices": {"device-missing"},
}


@pytest.mark.parametrize("form", FORMS)
def test_without_one_of_its_entries_it_is_not_good(
    node: SlingshotNode, tmp_path: Path, form: str
) -> None:
    """No entry is there for nothing: the rest, written again, lacks it."""
    whole = remedy_of(node.image, node.host, form)
    added = whole.added
    entries = {Path(one.target).name: one for one in added.mounts}
    entries |= {one.name: one for one in added.variables}
    assert set(entries) == set(LACKS) - {"devices"}
    for name in [*entries, *(["devices"] if added.devices else [])]:
        rest = Additions(
            tuple(one for one in added.mounts if one is not entries.get(name)),
            added.devices if name != "devices" else (),
            tuple(one for one in added.variables if one is not entries.get(name)),
        )
        emission = emission_of(FORMS[form], rest, whole.case.plan.runtime.name)
        lesser = replace(whole, added=rest, emission=emission)
        verdict, rules = verdict_of(node.image, node.host, **written(lesser, tmp_path))
        # A site of CE or Sarus may bring the devices itself.
        is_open = name == "devices" and whole.case.plan.runtime.has_devices is None
        expected = (Severity.UNKNOWN, set()) if is_open else (Severity.BAD, LACKS[name])
        assert (verdict, rules) == expected, name


def test_a_specification_is_valid(node: SlingshotNode) -> None:
    document = json.loads(remedy_of(node.image, node.host, "cdi").emission.text)
    jsonschema.validate(document, CDI_SCHEMA)


def test_a_specification_is_valid_by_the_published_schema(node: SlingshotNode) -> None:
    validator = published_validator()
    document = json.loads(remedy_of(node.image, node.host, "cdi").emission.text)
    validator.validate(document)
    # The schema's definitions are read, too.
    (device,) = document["devices"]
    edits = device["containerEdits"]
    for name, needed in (("mounts", "containerPath"), ("deviceNodes", "path")):
        entries = [{**edits[name][0]}, *edits[name][1:]]
        del entries[0][needed]
        broken = {**device, "containerEdits": {**edits, name: entries}}
        assert not validator.is_valid({**document, "devices": [broken]}), name


def test_an_edf_is_toml(node: SlingshotNode) -> None:
    table = tomllib.loads(remedy_of(node.image, node.host, "edf").emission.text)
    assert set(table) == {"image", "mounts", "env"}
    assert table["env"] == {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": FOLDER}
    assert "/dev/cxi0:/dev/cxi0" in table["mounts"]


def test_libraries_that_the_added_ones_need_come_with_them(
    node: SlingshotNode, tmp_path: Path
) -> None:
    needs_more(node, "libjson-c.so.5")
    remedy = remedy_of(node.image, node.host, "podman")
    assert f"{FOLDER}/libjson-c.so.5" in {one.target for one in remedy.added.mounts}
    assert verdict_of(node.image, node.host, **written(remedy, tmp_path)) == GOOD
    # The image's own is taken where it has one.
    compile_library(node.image / LIBRARY_FOLDER / "libjson-c.so.5", "int more(void) { return 1; }")
    remedy = remedy_of(node.image, node.host, "podman")
    assert f"{FOLDER}/libjson-c.so.5" not in {one.target for one in remedy.added.mounts}
    assert remedy.chain.verdict() is Severity.GOOD


def test_the_real_loader_finds_all_of_it(node: SlingshotNode) -> None:
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    needs_more(node, "libjson-c.so.5", versions="JSONC_1 { more; };")
    remedy = remedy_of(node.image, node.host, "podman")
    apply(node, remedy)
    env = {one.name: one.value for one in remedy.added.variables}
    found = real_loads(f"{FOLDER}/libnccl-net-ofi.so", env, node.image)
    assert found.paths["libjson-c.so.5"] == f"{FOLDER}/libjson-c.so.5"
    assert "not found" not in found.paths.values()
    assert not found.versions


@pytest.mark.parametrize(
    ("of_image", "of_host", "is_added", "verdict"),
    [
        (("M_1", "M_2"), ("M_1",), False, Severity.GOOD),
        (("M_1",), ("M_1", "M_2"), True, Severity.GOOD),
        (("M_1", "M_3"), ("M_1", "M_2"), False, Severity.BAD),
    ],
)
def test_a_library_of_the_host_replaces_none_that_has_more(
    node: SlingshotNode,
    of_image: tuple[str, ...],
    of_host: tuple[str, ...],
    is_added: bool,
    verdict: Severity,
) -> None:
    """libstdc++'s case: the newest of the host's versions is needed, the image has own ones."""

    def script(names: tuple[str, ...]) -> str:
        own = [f"{one} {{ {'more' if one == needed else f'x{one}'}; }};" for one in names]
        return " ".join(own)

    needed = of_host[-1]
    library = needs_more(node, "libstdc++.so.6", versions=script(of_host))
    assert library.exists()
    source = "int more(void) { return 1; }"
    compile_library(
        node.image / LIBRARY_FOLDER / "libstdc++.so.6", source, versions=script(of_image)
    )
    remedy = remedy_of(node.image, node.host, "podman")
    assert (f"{FOLDER}/libstdc++.so.6" in {one.target for one in remedy.added.mounts}) is is_added
    assert remedy.chain.verdict() is verdict


@pytest.mark.parametrize("form", FORMS)
def test_a_newer_glibc_stays_a_fault(node: SlingshotNode, form: str) -> None:
    """The container keeps its own C library, even where the host's has all that the image's has."""
    with (node.image / LIBRARY_FOLDER / "libc.so.6").open("rb") as file:
        table = ELFFile(file).get_section_by_name(".gnu.version_d")
        own = [next(iter(names)).name for _, names in table.iter_versions()]
    names = [*(one for one in own if one.startswith("GLIBC_")), "GLIBC_2.99"]
    script = " ".join(f"{one} {{ own{number}; }};" for number, one in enumerate(names))
    source = "".join(f"int own{number}(void) {{ return 1; }}" for number in range(len(names)))
    newer = node.host / LIBRARY_FOLDER / "libc.so.6"
    compile_library(newer, source, versions=script)
    last = f"own{len(names) - 1}(void)"
    source = f"int {last}; int cxil_open(void) {{ return {last.replace('void', '')}; }}"
    compile_library(node.host / "opt/libfabric/libcxi.so.1", source, needs=[newer])
    remedy = remedy_of(node.image, node.host, form)
    assert [one.rule.id for one in remedy.chain.faults] == ["version-missing"]
    assert not any("libc.so.6" in one.target for one in remedy.added.mounts)


def test_a_provider_in_a_file_of_its_own_is_found(node: SlingshotNode, tmp_path: Path) -> None:
    fast = node.host / "opt/libfabric"
    source = LIBFABRIC_SOURCE.replace("cxip_", "none_").replace("cxil_open()", "0")
    source = source.replace("/usr/lib64/libfabric", "/opt/libfabric/prov")
    compile_library(fast / "libfabric.so.1", source)
    compile_library(fast / "prov/libcxi-fi.so", PROVIDER_SOURCE, needs=[fast / "libcxi.so.1"])
    remedy = remedy_of(node.image, node.host, "podman")
    assert ("FI_PROVIDER_PATH", FOLDER) in {(x.name, x.value) for x in remedy.added.variables}
    assert verdict_of(node.image, node.host, **written(remedy, tmp_path)) == GOOD


def test_a_libfabric_of_the_image_without_the_provider_comes_second(node: SlingshotNode) -> None:
    own = node.image / LIBRARY_FOLDER / "libfabric.so.1"
    compile_library(own, PLAIN_LIBFABRIC_SOURCE)
    remedy = remedy_of(node.image, node.host, "apptainer")
    assert remedy.chain.verdict() is Severity.GOOD
    assert f"{FOLDER}/libfabric.so.1" in {one.target for one in remedy.added.mounts}


def test_the_library_of_the_driver_comes_from_the_host_with_libfabric(node: SlingshotNode) -> None:
    """libcxi talks to the driver of the host: the image may have one of another release."""
    own = node.image / LIBRARY_FOLDER / "libcxi.so.1"
    shutil.copy(node.host / "opt/libfabric/libcxi.so.1", own)
    remedy = remedy_of(node.image, node.host, "podman")
    assert f"{FOLDER}/libcxi.so.1" in {one.target for one in remedy.added.mounts}


def test_an_image_with_its_own_stack_gets_variables_and_devices_only(node: SlingshotNode) -> None:
    for name in ("ofi", "libfabric"):
        shutil.copytree(node.host / "opt" / name, node.image / "opt" / name)
        shutil.rmtree(node.host / "opt" / name)
    remedy = remedy_of(node.image, node.host, "docker")
    assert remedy.chain.verdict() is Severity.GOOD
    assert not remedy.added.mounts
    found = {one.name: one.value for one in remedy.added.variables}
    assert found["NCCL_NET_PLUGIN"] == "ofi"
    assert set(found["LD_LIBRARY_PATH"].split(":")) == {"/opt/ofi", "/opt/libfabric"}


def test_the_plugin_that_this_nccl_takes_is_chosen(node: SlingshotNode) -> None:
    fabric = node.host / "opt/libfabric/libfabric.so.1"
    newer = node.host / "opt/ofi/9/libnccl-net-ofi.so"
    compile_library(newer, PLUGIN_SOURCE % 9, needs=[fabric], soname="libnccl-net.so")
    remedy = remedy_of(node.image, node.host, "podman")
    assert remedy.chain.verdict() is Severity.GOOD
    assert remedy.added.mounts[0].source == "/opt/ofi/libnccl-net-ofi.so"


def test_a_job_gets_only_what_it_lacks(node: SlingshotNode, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    line = "srun --container-image=i --container-mounts={} ./a\n"
    mounts = "/opt/ofi:/opt/ofi,/opt/libfabric:/opt/libfabric"
    exports = "export LD_LIBRARY_PATH=/opt/ofi:/opt/libfabric\nexport NCCL_NET=Socket\n"
    script.write_text(exports + line.format(mounts))
    remedy = remedy_of(node.image, node.host, "pyxis", script=script)
    assert remedy.chain.verdict() is Severity.GOOD
    assert not remedy.added.mounts
    found = {one.name: one.value for one in remedy.added.variables}
    assert found == {"NCCL_NET": "AWS Libfabric", "NCCL_NET_PLUGIN": "ofi"}
    with pytest.raises(InputError, match="the launch is by pyxis"):
        remedy_of(node.image, node.host, "podman", script=script)


def test_options_of_the_command_line_are_written_too(node: SlingshotNode, tmp_path: Path) -> None:
    SlingshotNode.add_file(node.host / "scratch/x")
    options = {"mounts": ["/scratch:/scratch"], "env": ["LD_LIBRARY_PATH=/usr/local/cuda/lib64"]}
    remedy = remedy_of(node.image, node.host, "podman", recipe="alps-gh200", **options)
    assert "/scratch:/scratch" in remedy.emission.text
    found = {one.name: one for one in remedy.added.variables}
    assert found["LD_LIBRARY_PATH"].value == f"{FOLDER}:/usr/local/cuda/lib64"
    assert (
        found["NCCL_CROSS_NIC"].reason
        == "rings may change rails: the network has no rails of its own"
    )
    assert verdict_of(node.image, node.host, **written(remedy, tmp_path)) == GOOD


def test_the_image_keeps_its_own_library_path(node: SlingshotNode, tmp_path: Path) -> None:
    own = ["LD_LIBRARY_PATH=/usr/local/cuda/lib64", "NCCL_NET_PLUGIN=none"]
    image = oci_layout(tmp_path / "oci", [layer_of(node.image)], own)
    remedy = remedy_of(image, node.host, "cdi")
    found = {one.name: one.value for one in remedy.added.variables}
    assert found["LD_LIBRARY_PATH"] == f"{FOLDER}:/usr/local/cuda/lib64"
    assert found["NCCL_NET_PLUGIN"] == "ofi"
    assert verdict_of(image, node.host, **written(remedy, tmp_path)) == GOOD


def test_an_open_question_stays_open(node: SlingshotNode, tmp_path: Path) -> None:
    """A program may hold NCCL inside: what is written may be right, and no evidence says so."""
    (node.image / LIBRARY_FOLDER / "libnccl.so.2").unlink()
    remedy = remedy_of(node.image, node.host, "podman")
    assert remedy.chain.verdict() is Severity.UNKNOWN
    found = verdict_of(node.image, node.host, **written(remedy, tmp_path))
    assert found == (Severity.UNKNOWN, set())


def test_a_value_that_the_environment_hands_on_is_not_written(node: SlingshotNode) -> None:
    remedy = remedy_of(node.image, node.host, "podman", recipe=handing_on(node.folder))
    found = {one.name: one.value for one in remedy.added.variables}
    assert found == {"LD_LIBRARY_PATH": FOLDER, "NCCL_NET_PLUGIN": "ofi"}


def handing_on(folder: Path) -> str:
    """A recipe with LD_LIBRARY_PATH of the environment, as two of the catalogue have it."""
    path = folder / "own.toml"
    head = 'schema = "weft.launch-recipe/1"\nname = "own"\ntitle = "Own"\ndate = "2026"\n'
    setting = 'name = "LD_LIBRARY_PATH"\nvalue = "$LD_LIBRARY_PATH"\nreason = "r"\nsource = "s"\n'
    path.write_text(f'{head}source = "s"\nfabric = "slingshot"\n[[setting]]\n{setting}')
    return str(path)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_libraries_are_all_found_by_the_real_loader(node: SlingshotNode, seed: int) -> None:
    """Libraries that need each other, some in the image, too: what is added is what ld.so lacks."""
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    chance = Random(seed)
    names = [f"libdrawn{number}.so.1" for number in range(6)]
    there = node.host / LIBRARY_FOLDER
    for number, name in reversed(list(enumerate(names))):
        needs = [there / one for one in names[number + 1 :] if chance.random() < 0.5]
        compile_library(there / name, f"int own{number}(void) {{ return 1; }}", needs=needs)
        if chance.random() < 0.4:
            shutil.copy(there / name, node.image / LIBRARY_FOLDER / name)
    source = "int own0(void); int cxil_open(void) { return own0(); }"
    compile_library(
        node.host / "opt/libfabric/libcxi.so.1",
        source,
        needs=[there / one for one in chance.sample(names, 2)],
    )
    before = {one.name for one in (node.image / LIBRARY_FOLDER).iterdir()}
    remedy = remedy_of(node.image, node.host, "podman")
    assert remedy.chain.verdict() is Severity.GOOD
    added = apply(node, remedy)
    assert not added & before
    env = {one.name: one.value for one in remedy.added.variables}
    found = real_loads(f"{FOLDER}/libnccl-net-ofi.so", env, node.image)
    assert "not found" not in found.paths.values()
    loaded = {Path(path).name for path in found.paths.values() if path.startswith(FOLDER)}
    assert added == {*loaded, "libnccl-net-ofi.so"}


@pytest.mark.parametrize(
    ("lost", "form", "words"),
    [
        ("opt/ofi", "podman", "NCCL's plug-in for libfabric was not found, neither in the"),
        ("opt/libfabric", "cdi", "libfabric with the provider cxi was not found, neither in the"),
        ("dev", "podman", r"a device /dev/cxi\* was not found"),
    ],
)
def test_what_neither_has_is_named(node: SlingshotNode, lost: str, form: str, words: str) -> None:
    shutil.rmtree(node.host / lost)
    with pytest.raises(MissingError, match=words):
        remedy_of(node.image, node.host, form, recipe="alps-gh200")


def test_a_folder_that_only_the_job_knows_is_refused(node: SlingshotNode, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("export LD_LIBRARY_PATH=$SITE:/a\nsrun --container-image=i ./a\n")
    with pytest.raises(InputError, match="LD_LIBRARY_PATH has folders that only the job knows"):
        remedy_of(node.image, node.host, "pyxis", script=script)


@pytest.mark.parametrize("name", ["a b", "a;reboot", "a,b", "a$(id)", "a\nb"])
def test_a_path_that_a_shell_would_take_apart_is_refused(node: SlingshotNode, name: str) -> None:
    (node.host / "opt/ofi").rename(node.host / "opt" / name)
    with pytest.raises(InputError, match="cannot be written as a mount"):
        remedy_of(node.image, node.host, "podman")
