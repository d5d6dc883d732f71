"""`weft recipe isolation`: a real OpenSM loads the files, and its dumps hold what they promise."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.ibsim import Ibsim, Net, fat_tree, require_tools

from weft.cli import run
from weft.isolation.annex_a10 import opensm_lines

SERVICE = "c101-002"
TENANTS = f"""schema = "weft.tenants/1"
services = "{SERVICE}"

[[tenant]]
name = "cfd"
nodes = "c101-003,c102-[001-002],c103-[001-002]"
traffic = "allreduce:8"
target = 1.1

[[tenant]]
name = "fft"
nodes = "c101-004,c102-003,c103-003,c104-[001-002]"
traffic = "alltoall:64K"
target = 1.1

[[tenant]]
name = "loader"
nodes = "c102-004,c103-004,c104-[003-004]"
traffic = "fan_in:1M"
"""
CABLES = ("opensm-subnet.lst", "opensm-lfts.dump")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _tools() -> None:
    require_tools()


@pytest.fixture
def net() -> Net:
    return fat_tree(4, 4, 2)


@pytest.fixture
def cables(net: Net, tmp_path: Path) -> list[str]:
    """What OpenSM says of the fabric before anything is arranged."""
    with Ibsim(net.text()) as sim:
        dumps = sim.opensm("minhop")
        return [_copy(dumps / name, tmp_path / f"before-{name}") for name in CABLES]


def _copy(source: Path, target: Path) -> str:
    target.write_bytes(source.read_bytes())
    return str(target)


def compiled(
    cables: Sequence[str], folder: Path, capsys: Capture, tenants: str = TENANTS, code: int = 0
) -> Path:
    """The folder of the files."""
    (folder / "asked.toml").write_text(tenants)
    made = folder / "made"
    words = ["recipe", "isolation", "--tenants", str(folder / "asked.toml"), "--twin", "frontera"]
    words += ["--dir", str(made), "--format", "json"]
    assert run([*words, *(word for file in cables for word in ("--fabric", file))]) == code
    capsys.readouterr()
    return made


def dumps_of(net: Net, folder: Path, *, options: str, partitions: str) -> Iterator[str]:
    """What a real OpenSM with these settings and the diagnostics say."""
    with Ibsim(net.text()) as sim:
        log = sim.start_opensm(more=options, partitions=partitions)
        assert "ERR" not in log.read_text()
        for name in (*CABLES, "opensm-sl2vl.dump"):
            if (sim.dumps / name).exists():
                yield _copy(sim.dumps / name, folder / name)
        listed = (sim.dumps / "opensm-subnet.lst").read_text()
        ends = sorted(
            {(int(a, 16), int(b, 16)) for a, b in re.findall(r"LID:(\w+) PN:(\w+)", listed)}
        )
        lids = {
            name.split()[0]: int(lid, 16)
            for name, lid in re.findall(r"\{ CA[^{]*?\{([^}]*)\} LID:(\w+)", listed)
        }
        asker = net.id(f"{SERVICE} HCA-1")

        def ask(tool: str, *words: object) -> str:
            return sim.run(tool, *map(str, words), host=asker)

        shares = "".join(ask("smpquery", "vlarb", lid, port) for lid, port in ends)
        keys = "".join(ask("saquery", "--smkey", 1, "PKTR", lid) for lid in lids.values())
        paths = "".join(
            ask("saquery", "PR", "--slid", lids[a], "--dlid", lids[b])
            for a, b in (
                ("c102-001", "c103-002"), ("c101-004", "c104-001"), ("c102-004", "c104-003")
            )
        )  # fmt: skip
    for name, text in (("vlarb.txt", shares), ("keys.txt", keys), ("paths.txt", paths)):
        (folder / name).write_text(text)
        yield str(folder / name)


def judged(files: Sequence[str], tenants: Path, capsys: Capture) -> tuple[int, dict[str, Any]]:
    """Exit code and record of `--as-read`."""
    words = ["recipe", "isolation", "--tenants", str(tenants), "--twin", "frontera", "--as-read"]
    words += ["--format", "json", *(word for file in files for word in ("--fabric", file))]
    code = run(words)
    said = capsys.readouterr()
    assert said.out, said.err
    return code, json.loads(said.out)


def test_what_opensm_made_of_the_files_keeps_every_tenant_within_its_target(
    net: Net, cables: list[str], tmp_path: Path, capsys: Capture
) -> None:
    made = compiled(cables, tmp_path, capsys)
    options, partitions = (made / "opensm.conf").read_text(), (made / "partitions.conf").read_text()
    assert "qos_sl2vl 0,1,2,0" in options
    files = list(dumps_of(net, tmp_path, options=options, partitions=partitions))
    code, found = judged(files, made / "tenants.toml", capsys)
    assert (found["wrong"], found["unread"]) == ([], [])
    assert code == 0
    assert found["lanes"] == [0, 1, 2] + [0] * 13
    assert found["low"] == [[0, 64], [1, 64], [2, 64]]
    for row in found["tried"]:
        assert row["impact_most"] <= row["target"]


def test_settings_that_were_not_loaded_are_found_in_the_dumps(
    net: Net, cables: list[str], tmp_path: Path, capsys: Capture
) -> None:
    made = compiled(cables, tmp_path, capsys)
    partitions = (made / "partitions.conf").read_text()
    # No QoS, and a node of cfd without its key.
    (guid,) = {f"{net.nodes['c103-001 HCA-1'][2] + 1:#018x}"}
    assert partitions.count(guid) == 1
    partitions = partitions.replace(f"{guid}, ", "")
    files = list(dumps_of(net, tmp_path, options="", partitions=partitions))
    assert not (tmp_path / "opensm-sl2vl.dump").exists()
    code, found = judged(files, made / "tenants.toml", capsys)
    assert code == 1
    assert found["unmet"]
    # Without QoS it answers level 0 for every partition.
    assert [re.sub(r"LID.*, not", "LID, not", one) for one in found["wrong"]] == [
        "cfd: no full member of partition 0x0001: c103-001",
        "cfd: the subnet manager answers service level 0 from LID, not 1",
        "fft: the subnet manager answers service level 0 from LID, not 2",
    ]
    assert found["unread"][0].startswith("lanes of service levels")


def test_opensm_takes_every_option_as_it_is_written(
    net: Net, cables: list[str], tmp_path: Path, capsys: Capture
) -> None:
    strict = TENANTS.replace("target = 1.1", "target = 1.0")
    made = compiled(cables, tmp_path, capsys, strict, code=1)
    asked = [*(made / "opensm.conf").read_text().splitlines(), *opensm_lines({1}, 200.0)]
    asked = [line for line in asked if line and not line.startswith("#")]
    with Ibsim(net.text()) as sim:
        (sim.folder / "asked.conf").write_text("\n".join(asked) + "\n")
        written = sim.folder / "written.conf"
        sim.run("opensm", "-F", str(sim.folder / "asked.conf"), "-c", str(written))
        kept = written.read_text().splitlines()
    for line in asked:
        name, value = line.split(" ", 1)
        assert any(
            it.split(" ", 1)[0] == name and _same(it.split(" ", 1)[1], value)
            for it in kept
            if " " in it
        ), line


def _same(kept: str, asked: str) -> bool:
    """Numbers may be written in another base."""
    return kept == asked or [_number(word) for word in kept.split()] == [
        _number(word) for word in asked.split()
    ]


def _number(word: str) -> int | str:
    try:
        return int(word, 0)
    except ValueError:
        return word
