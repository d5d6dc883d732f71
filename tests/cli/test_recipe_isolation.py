"""`weft recipe isolation`, on what a real OpenSM and the diagnostics printed of a small fabric."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from weft.cli import run
from weft.isolation.tenant_twin import TenantTwin
from weft.isolation.tenants import Tenancy

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "tests/fixtures/fabric/opensm_tenants"
CABLES = ("opensm-subnet.lst", "opensm-lfts.dump")
SETTINGS = ("opensm-sl2vl.dump", "vlarb.txt", "keys.txt", "paths.txt")
TENANTS = """schema = "weft.tenants/1"
services = "c101-002"

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
Capture = pytest.CaptureFixture[str]


def isolation(tmp_path: Path, *words: str, tenants: str = TENANTS, files: Any = CABLES) -> int:
    """The exit code. `files` are names of samples, or paths."""
    (tmp_path / "tenants.toml").write_text(tenants)
    options = [word for file in files for word in ("--fabric", str(FILES / file))]
    asked = ["recipe", "isolation", "--tenants", str(tmp_path / "tenants.toml")]
    return run([*asked, "--twin", "frontera", *options, *words])


def pinned() -> str:
    """The tenants with the service levels that were loaded."""
    text = TENANTS.replace("[[tenant]]", 'congestion_control = "off"\n\n[[tenant]]', 1)
    for level, target in ((1, "8"), (2, "64K"), (0, "1M")):
        text = text.replace(f':{target}"\n', f':{target}"\nservice_level = {level}\n')
    return text


def test_the_least_that_keeps_every_target_is_written(tmp_path: Path, capsys: Capture) -> None:
    made = tmp_path / "made"
    assert isolation(tmp_path, "--dir", str(made)) == 0
    said = capsys.readouterr().out
    assert said.startswith("GOOD  every target is met with lanes\n")
    files = ["cfd.env", "fft.env", "loader.env", "opensm.conf", "partitions.conf", "tenants.toml"]
    assert sorted(path.name for path in made.iterdir()) == files
    partitions = (made / "partitions.conf").read_text()
    assert "cfd=0x0001, ipoib, sl=1, defmember=full :" in partitions
    # The port GUIDs of fft's nodes, as opensm-subnet.lst has them.
    fft = partitions.split("fft=0x0002")[1].split(";")[0]
    assert fft.count("0x98039b03") == 5
    assert (made / "fft.env").read_text().splitlines() == [
        "UCX_IB_PKEY=0x0002", "UCX_IB_SL=2", "NCCL_IB_PKEY=1", "NCCL_IB_SL=2",
    ]  # fmt: skip
    assert isolation(tmp_path, "--dir", str(made)) == 2
    assert "there is a file 'partitions.conf'" in capsys.readouterr().err


def test_a_target_that_nothing_meets_is_named_with_its_cable(
    tmp_path: Path, capsys: Capture
) -> None:
    tenants = TENANTS.replace("target = 1.1\n", "target = 1.0\n", 1)
    assert isolation(tmp_path, "--format", "json", tenants=tenants) == 1
    found = json.loads(capsys.readouterr().out)
    tried = list(dict.fromkeys(row["arrangement"] for row in found["tried"]))
    assert len(tried) == 6
    (why,) = found["unmet"]
    assert why.startswith("why: of all cables that paths of cfd and of others share, ")
    worst = {
        words: max(row["impact_most"] / row["target"] for row in rows)
        for words in tried
        if (rows := [row for row in found["tried"] if row["arrangement"] == words])
    }
    assert found["arrangement"] == min(worst, key=lambda words: worst[words])


def test_tenants_that_share_no_cable_need_one_lane(tmp_path: Path, capsys: Capture) -> None:
    tenants = (
        TENANTS.split("[[tenant]]", maxsplit=1)[0]
        + """
[[tenant]]
name = "a"
nodes = "c101-[003-004]"
traffic = "alltoall:64K"
target = 1.0

[[tenant]]
name = "b"
nodes = "c102-[001-004]"
traffic = "fan_in:1M"
"""
    )
    assert isolation(tmp_path, "--format", "json", tenants=tenants) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["arrangement"] == "one lane"
    assert [row["impact_most"] for row in found["tried"]] == [1.0]
    assert "qos_vlarb_low 0:64\n" in found["files"]["opensm.conf"]


def test_settings_in_force_are_judged_by_what_was_read(tmp_path: Path, capsys: Capture) -> None:
    everything = (*CABLES, *SETTINGS)
    assert isolation(tmp_path, "--as-read", tenants=pinned(), files=everything) == 0
    assert capsys.readouterr().out.startswith("GOOD  every target is met with the settings read\n")
    for left_out, says in (
        ("vlarb.txt", "shares of lanes"),
        (
            "keys.txt",
            "partition keys (saquery PKTR LID) of 16 ports of hosts, c101-001 HCA-1[1] first",
        ),
        ("paths.txt", "service levels of paths (saquery PR) of cfd, fft, loader"),
        ("opensm-lfts.dump", "forwarding tables"),
    ):
        files = [file for file in everything if file != left_out]
        assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) == 5
        said = capsys.readouterr().out
        assert said.startswith("UNKNOWN  targets are met, if what was not read is so: ")
        assert f"not read: {says}" in said
    # What a half of the ports does is not known of the other.
    for file, says in (
        ("vlarb.txt", "shares of lanes of 24 ports, c101-004"),
        ("opensm-sl2vl.dump", "lanes of service levels of 66 paths"),
        ("keys.txt", "partition keys (saquery PKTR LID) of 8 ports of hosts"),
    ):
        lines = (FILES / file).read_text().splitlines(keepends=True)
        (tmp_path / file).write_text("".join(lines[: len(lines) // 2]))
        files = [tmp_path / one if one == file else one for one in everything]
        assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) == 5
        assert f"not read: {says}" in capsys.readouterr().out
    # Without lanes the incast is felt.
    files = [file for file in everything if file != "opensm-sl2vl.dump"]
    assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) == 5
    said = capsys.readouterr().out
    assert said.startswith("UNKNOWN  a target is missed (cfd ")
    assert "not read: lanes of service levels" in said
    # One lane that was read is a miss.
    dump = (FILES / "opensm-sl2vl.dump").read_text()
    (tmp_path / "opensm-sl2vl.dump").write_text(dump.replace(": 0  1  2  0", ": 0  0  0  0"))
    files = [tmp_path / one if one == "opensm-sl2vl.dump" else one for one in everything]
    assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) == 1
    assert capsys.readouterr().out.startswith("BAD  the settings in force miss: cfd ")


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("keys.txt", "0x7fff 0x8001", "0x7fff 0x0001", "cfd: no full member of partition 0x0001"),
        (
            "keys.txt",
            "0x7fff 0x8003",
            "0x8001 0x8003",
            "cfd: others are in its partition: c104-004",
        ),
        ("paths.txt", "0x1\n", "0x3\n", "cfd: the subnet manager answers service level 3 from LID"),
    ],
)
def test_a_setting_that_is_not_the_tenants_own_is_named(
    tmp_path: Path, capsys: Capture, file: str, old: str, new: str, says: str
) -> None:
    text = (FILES / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1))
    files = [*CABLES, *(tmp_path / one if one == file else one for one in SETTINGS)]
    assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) == 1
    assert f"BAD  {says}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (
            "opensm-sl2vl.dump",
            "1   1   : 0  1  2",
            "1   1   : 0  1  1",
            "2 lists of lanes by service level",
        ),
        ("vlarb.txt", "|0x40|0x40|0x40|", "|0x40|0x20|0x40|", "2 pairs of arbitration tables"),
    ],
)
def test_ports_that_differ_are_refused(
    tmp_path: Path, capsys: Capture, file: str, old: str, new: str, says: str
) -> None:
    text = (FILES / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1))
    files = [*CABLES, *(tmp_path / one if one == file else one for one in SETTINGS)]
    assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) == 2
    assert says in capsys.readouterr().err


def test_a_lane_that_no_port_serves_is_refused(tmp_path: Path, capsys: Capture) -> None:
    text = (FILES / "vlarb.txt").read_text()
    (tmp_path / "vlarb.txt").write_text(text.replace("|0x40|0x40|0x40|", "|0x40|0x0 |0x40|"))
    files = [*CABLES, *(tmp_path / one if one == "vlarb.txt" else one for one in SETTINGS)]
    assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) == 2
    assert "lane 1 is in no arbitration table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--as-read", "--dir", "d"), "--as-read and --dir contradict each other"),
        (("--as-read",), "tenant 'cfd' has no service_level"),
        (("--iterations", "0"), "--iterations"),
    ],
)
def test_what_contradicts_itself_is_refused(
    tmp_path: Path, capsys: Capture, words: tuple[str, ...], says: str
) -> None:
    assert isolation(tmp_path, *words) == 2
    assert says in capsys.readouterr().err


def test_tenants_that_share_another_partition_are_found(tmp_path: Path, capsys: Capture) -> None:
    text = (FILES / "keys.txt").read_text()
    for old, new, says in (
        ("0x7fff 0x", "0xffff 0x", "tenants' nodes are full members of the default partition"),
        ("0x8001 0x0000", "0x8001 0x9000", "partition 0x1000 has nodes of"),
        ("0x7fff 0x", "0x0000 0x", "not in the default partition, so no service"),
    ):
        changed = text.replace(old, new)
        if "0x9000" in new:
            changed = changed.replace("0x8002 0x0000", "0x8002 0x9000")
        (tmp_path / "keys.txt").write_text(changed)
        files = [*CABLES, *(tmp_path / one if one == "keys.txt" else one for one in SETTINGS)]
        assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) == 1
        assert f"wrong: {says}" in capsys.readouterr().out


def test_what_goes_first_without_a_known_limit_is_no_proof(tmp_path: Path, capsys: Capture) -> None:
    text = (FILES / "vlarb.txt").read_text()
    none = "WEIGHT: |0x0 |0x0 |"
    assert text.count(none) == 48
    (tmp_path / "vlarb.txt").write_text(text.replace(none, "WEIGHT: |0x40|0x0 |"))
    files = [*CABLES, *(tmp_path / one if one == "vlarb.txt" else one for one in SETTINGS)]
    assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) in {1, 5}
    said = capsys.readouterr().out
    assert "not read: how much high priority sends before low (VLHighLimit)" in said
    assert "! Lanes with priority go first without limit: they can starve the others." in said


def test_a_level_of_a_path_between_others_is_no_evidence(tmp_path: Path, capsys: Capture) -> None:
    text = (FILES / "paths.txt").read_text()
    (tmp_path / "paths.txt").write_text(
        re.sub(r"slid\.+(\d+)", "slid....................60000", text, count=1)
    )
    files = [*CABLES, *(tmp_path / one if one == "paths.txt" else one for one in SETTINGS)]
    assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) == 5
    assert "not read: service levels of paths (saquery PR) of cfd" in capsys.readouterr().out


def test_a_level_whose_packets_are_dropped_is_refused(tmp_path: Path, capsys: Capture) -> None:
    dump = (FILES / "opensm-sl2vl.dump").read_text()
    (tmp_path / "opensm-sl2vl.dump").write_text(dump.replace(": 0  1  2  0", ": 0  15 2  0"))
    files = [*CABLES, *(tmp_path / one if "sl2vl" in one else one for one in SETTINGS)]
    assert isolation(tmp_path, "--as-read", tenants=pinned(), files=files) == 2
    assert "packets of service level 1 are dropped (lane 15)" in capsys.readouterr().err


def test_congestion_control_is_no_part_of_the_time_alone(tmp_path: Path, capsys: Capture) -> None:
    # The cost of the law to the tenant itself counts: alone is without it for all arrangements.
    tenants = TENANTS.replace("target = 1.1\n", "target = 1.0\n", 1)
    assert isolation(tmp_path, "--format", "json", tenants=tenants) == 1
    found = json.loads(capsys.readouterr().out)
    for name in ("cfd", "fft"):
        assert len({row["alone_us"] for row in found["tried"] if row["tenant"] == name}) == 1


def test_tables_that_need_their_lanes_are_refused() -> None:
    tenancy = Tenancy.model_validate({"schema": "weft.tenants/1", "tenant": [
        {"name": "a", "nodes": "n[1-2]", "traffic": "allreduce:8", "target": 1.1}
    ]})  # fmt: skip
    from weft.catalog.load import platform
    from weft.core.errors import InputError

    with pytest.raises(InputError, match="need their virtual lanes"):
        TenantTwin(platform("frontera"), {"lanes": {}}, tenancy, iterations=1, seed=1)
