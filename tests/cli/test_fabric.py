"""`weft fabric`: what a person types, and what comes back."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from weft.cli import run

SAMPLES = Path(__file__).resolve().parent.parent / "fixtures" / "fabric"
TREE = str(SAMPLES / "weft" / "fat-tree-6.json")
DRAGONFLY = str(SAMPLES / "weft" / "dragonfly.json")


def weft(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a call."""
    code = run(["fabric", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_show_says_what_the_fabric_is(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = weft(capsys, "show", TREE)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == (
        "6 adapters on 5 switches, 12 cables (6 2xHDR, 6 4xHDR); forwarding tables of 5 switches."
    )
    # Two hosts of 100 Gb/s below each leaf, two cables of 200 up.
    assert "0.50:1" in out


def test_show_as_json_and_csv(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = weft(capsys, "show", TREE, "--format", "json")
    assert json.loads(out)["n_cables"] == 12
    _, out, _ = weft(capsys, "show", TREE, "--format", "csv")
    assert len(out.splitlines()) == 13


def test_trace_names_every_cable_and_the_path_back(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = weft(capsys, "trace", "n001 hca0", "n006 hca0", TREE)
    assert code == 0
    there, back = out.strip().split("\n\n")
    assert there.splitlines()[0] == (
        "n001 hca0 (LID 1) to n006 hca0 (LID 6): 4 cables, 100 Gb/s at the slowest."
    )
    assert there.splitlines()[1].split("->")[0].strip() == "n001 hca0[1]"
    assert there.splitlines()[-1].split("->")[1].split("  ")[1] == "n006 hca0[1]"
    assert back.startswith("n006 hca0 (LID 6) to n001 hca0 (LID 1)")


@pytest.mark.parametrize("name", ["1", "lid:1", "0x0200000000000010", "0x0200000000000011"])
def test_a_place_may_be_a_lid_or_a_guid(capsys: pytest.CaptureFixture[str], name: str) -> None:
    _, out, _ = weft(capsys, "trace", name, "6", TREE)
    assert out.startswith("n001 hca0 (LID 1) to n006 hca0 (LID 6): 4 cables")


def test_a_misspelt_name_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = weft(capsys, "trace", "n01 hca0", "n006 hca0", TREE)
    assert (code, out) == (2, "")
    assert "no device in these files is called 'n01 hca0'" in err
    assert "did you mean 'n0" in err


def test_tracing_without_tables_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = weft(capsys, "trace", "1", "2", DRAGONFLY)
    assert code == 2
    assert "no forwarding tables were read" in err
    assert "opensm-lfts.dump" in err


def test_a_file_that_no_reader_knows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("\n\nbuy milk\n")
    code, out, err = weft(capsys, "show", str(path))
    assert (code, out) == (2, "")
    assert "buy milk" in err
    assert f"{path}:1" in err
    assert "ibnetdiscover" in err


def test_next_to_a_good_file_a_strange_one_is_reported_and_the_verdict_is_bad(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "notes"
    path.write_text("buy milk\n")
    code, out, _ = weft(capsys, "show", TREE, str(path))
    assert code == 1
    assert "buy milk" in out
    assert out.startswith("6 adapters on 5 switches")


def test_files_that_are_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = weft(capsys, "show", str(tmp_path / "absent"))
    assert code == 2
    assert "there is no file" in err
    code, _, err = weft(capsys, "show", str(tmp_path))
    assert code == 2
    assert "is a directory" in err
    empty = tmp_path / "empty"
    empty.touch()
    code, _, err = weft(capsys, "show", str(empty))
    assert code == 2
    assert "the file is empty" in err


def test_a_pipe_is_read_and_one_without_an_end_is_left() -> None:
    program = [sys.executable, "-c", "from weft.cli import main; main()", "fabric", "show", "-"]
    with Path(TREE).open() as tree:
        done = subprocess.run(
            program, stdin=tree, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.stdout.startswith("6 adapters")
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        done = subprocess.run(
            program, stdin=endless.stdout, capture_output=True, text=True, timeout=60, check=False
        )
        endless.terminate()
    assert done.returncode == 2
    assert "-:1" in done.stderr


def test_help_lists_the_verbs() -> None:
    from weft.cli import weft as group

    result = CliRunner().invoke(group, ["fabric", "--help"])
    assert "trace" in result.output
    assert "route" in result.output


def test_route_compares_what_was_read_with_the_engines(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = weft(capsys, "route", TREE, "--format", "json")
    assert (code, err) == (0, "")
    engines = {report["engine"]: report for report in json.loads(out)["engines"]}
    assert list(engines) == ["as read", "minhop", "updn", "ftree"]
    for report in engines.values():
        # Two hosts a leaf: 6 ordered pairs on one leaf, 24 over a spine.
        assert report["hops"] == {"2": 6, "4": 24}
        assert (report["n_unreachable"], report["credit_loop"]) == (0, None)
        up, down = report["tiers"]
        # Up from a leaf 2 x 4 paths over two cables, and as many down.
        assert (up["n_ports"], up["mean_paths"], down["mean_paths"]) == (6, 4, 4)
    # A cable up is twice as fast as a host's: two hosts never fill it.
    assert engines["ftree"]["bisection"]["share"] == 1.0


def test_route_as_text_names_the_best_and_as_csv_every_cable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = weft(capsys, "route", TREE, "--engine", "updn")
    assert out.startswith("Best effective bisection bandwidth: ")
    assert "ftree" not in out
    _, out, _ = weft(capsys, "route", TREE, "--engine", "updn", "--format", "csv")
    lines = out.splitlines()
    assert lines[0] == "engine,switch,port,paths"
    assert len(lines) == 1 + 2 * 12


def test_route_says_what_it_lacks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lids = str(SAMPLES / "opensm" / "guid2lid")
    code, out, err = weft(capsys, "route", lids)
    assert (code, out) == (2, "")
    assert "no adapter in these files has a LID and a cable" in err


def test_an_exported_document_is_read_back_as_the_same_fabric(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    again = tmp_path / "again.json"
    assert weft(capsys, "export", TREE, "--to", "json", "-o", str(again))[0] == 0
    first = json.loads(weft(capsys, "show", TREE, "--format", "json")[1])
    second = json.loads(weft(capsys, "show", str(again), "--format", "json")[1])
    for key in ("n_adapters", "n_switches", "rates", "levels", "n_tables", "problems"):
        assert first[key] == second[key], key
    traced = [weft(capsys, "trace", "1", "6", path)[1] for path in (TREE, str(again))]
    assert traced[0] == traced[1]


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("slurm", ["SwitchName=leaf-01 Nodes=n[001-002]"]),
        ("ibsim", ['Switch\t4 "S-0200000010000000"', '# "n001 hca0"']),
        ("graphml", ["<graphml", 'edgedefault="undirected"']),
    ],
)
def test_exports_for_other_programs(
    capsys: pytest.CaptureFixture[str], to: str, words: list[str]
) -> None:
    code, out, _ = weft(capsys, "export", TREE, "--to", to)
    assert code == 0
    for word in words:
        assert word in out


def test_a_folder_that_refuses_is_exit_3(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    code, _, err = weft(capsys, "export", TREE, "--to", "slurm", "-o", str(tmp_path / "file" / "x"))
    assert code == 3
    assert "the export cannot be written" in err


def test_a_generated_machine_is_marked_where_it_is_a_guess(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "frontera.json"
    code, out, err = weft(capsys, "generate", "frontera", "--nodes", "100", "-o", str(path))
    assert (code, out) == (0, "")
    assert "assumed: directors.spine_boards = 20 switches" in err
    _, out, _ = weft(capsys, "show", str(path))
    # 44 nodes a leaf: three leaves with 18 up-links each, to six directors.
    assert out.startswith("100 adapters on ")
    assert "100 2xHDR" in out
    assert "54 4xHDR" in out
    assert "assumed  directors.spine_boards = 20 switches" in out


def test_generating_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = weft(capsys, "generate", "frontera", "--nodes", "9000")
    assert code == 2
    assert "has 8008 nodes, not 9000" in err
    code, _, err = weft(capsys, "generate", "generic-slingshot11", "--nodes", "9")
    assert code == 2
    assert "has no fabric to simulate" in err


def test_a_name_that_many_nodes_have_is_no_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    net = (SAMPLES / "small" / "ibnetdiscover.out").read_text()
    alike = tmp_path / "net.out"
    alike.write_text(re.sub(r'"c10\d-0\d\d HCA-1"', '"localhost mlx5_0"', net))
    code, out, err = weft(capsys, "trace", "localhost", "1", str(alike))
    assert (code, out) == (2, "")
    assert "'localhost' may be any of 16 nodes that are called 'localhost mlx5_0'" in err


def test_a_misspelt_verb_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = weft(capsys, "trcae")
    assert (code, out) == (2, "")
    assert "no verb 'trcae'; did you mean 'trace'?" in err


CABLES = SAMPLES / "small" / "ibnetdiscover.out"
TABLES = SAMPLES / "opensm" / "opensm-lfts.dump"


def test_a_table_that_was_not_read_leaves_a_path_unknown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *others = TABLES.read_text().split("Unicast lids ")[1:]
    assert "leaf000" in first.splitlines()[0]
    tables = tmp_path / "lfts.dump"
    tables.write_text("".join(f"Unicast lids {block}" for block in others))
    ends = ("c101-001 HCA-1", "c104-001 HCA-1")
    code, out, _ = weft(capsys, "trace", *ends, str(CABLES), str(tables))
    assert code == 5
    assert out.startswith("UNKNOWN  cannot tell: whether a path leads from c101-001 HCA-1 (LID 1)")
    assert "no forwarding table of 'MF0;leaf000:MQM8700/U1' was read" in out


def test_a_path_that_ends_beside_lines_that_were_not_understood_is_unknown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cables = tmp_path / "net.out"
    cut = (SAMPLES / "fault" / "nd_after_unlink.out").read_text()
    ends = ("c101-001 HCA-1", "c104-001 HCA-1")
    torn = '[5]\t"S-506b4b03'
    for text, want in ((cut, 1), (f"{cut}\n{torn}\n", 5)):
        cables.write_text(text)
        code, out, _ = weft(capsys, "trace", *ends, str(cables), str(TABLES))
        assert code == want
        assert "goes out by port 5, where no cable is" in out


def test_one_adapter_is_traced_to_every_adapter_of_the_other_host(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "ndv4.json"
    weft(capsys, "generate", "azure-ndv4", "--nodes", "3", "--whole", "-o", str(path))
    code, out, _ = weft(capsys, "trace", "n001", "n003", str(path))
    assert code == 0
    # Eight rails, each there and back, over the leaf of the rail.
    assert out.count("2 cables, 200 Gb/s at the slowest.") == 16
    one = out.split(" (LID")[1].split(" to ")[1]
    for ends in ((one, "n001"), ("n001", one)):
        _, out, _ = weft(capsys, "trace", *ends, str(path))
        assert len(out.strip().split("\n\n")) == 16
