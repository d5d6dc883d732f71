"""`weft expect`: the value first, what binds, what nothing beats, the next command."""

import csv
import io
import json
import shlex
from pathlib import Path

import pytest

from weft.catalog.document import to_toml
from weft.catalog.load import platform
from weft.cli import run

Capture = pytest.CaptureFixture[str]


def text_of(capsys: Capture, *argv: str) -> str:
    assert run(["expect", *argv]) == 0
    return capsys.readouterr().out


def test_the_first_line_is_the_value_with_its_interval(capsys: Capture) -> None:
    asked = ["azure-ndv5", "all_reduce_perf", "--gpus", "512", "--size", "16G"]
    lines = text_of(capsys, *asked)
    first, second, third = lines.splitlines()[:3]
    assert first.startswith("EXPECT   362.")
    assert "GB/s bus bandwidth (" in first
    assert first.endswith("NCCL allreduce of 16 GiB on azure-ndv5, 64 nodes x 8 GPUs")
    assert (
        second == "BINDS    8 NVLSTree channels of 45.5 GB/s over 8 x PCIe of 48 GB/s (adapter 50)"
    )
    assert third.startswith("LIMIT    ")
    assert "more is impossible" in third
    assert lines.splitlines()[-1] == (
        "next: weft expect azure-ndv5 all_reduce_perf --gpus 512 --size 16G --explain"
    )


def test_the_next_command_runs_as_it_stands(capsys: Capture) -> None:
    asked = ["azure-ndv5", "allreduce", "--nccl", "2.26.5", "--without-gpudirect"]
    for _ in range(2):
        line = text_of(capsys, *asked).splitlines()[-1]
        words = shlex.split(line.removeprefix("next: weft "))
        asked = words[1:]
        assert run(words) == 0
        capsys.readouterr()
        if words[0] != "expect":
            break
    assert words == ["platform", "show", "azure-ndv5"]


def test_a_machine_with_gpus_answers_for_them_first(capsys: Capture) -> None:
    # Names of ours say nothing of the library; those of a tool do.
    def heads(*argv: str) -> list[str]:
        lines = text_of(capsys, *argv).splitlines()
        return [line.split("): ")[1] for line in lines if line.startswith("EXPECT")]

    assert [head.split(" on ")[0] for head in heads("azure-ndv5", "allreduce")] == [
        "NCCL allreduce of 1 GiB",
        "MPI allreduce of 8 B",
    ]
    assert [head.split(" on ")[0] for head in heads("azure-ndv5", "latency")] == [
        "MPI latency of 8 B in GPU memory",
        "MPI latency of 8 B",
    ]
    assert len(heads("azure-ndv5", "allreduce", "--tasks-per-node", "96")) == 1
    assert len(heads("azure-ndv5", "osu_latency")) == 1
    assert len(heads("azure-ndv5", "latency", "--memory", "host")) == 1
    assert len(heads("azure-ndv5", "barrier")) == 1
    assert len(heads("azure-hbv3", "allreduce")) == 1
    (nvls,) = heads("azure-ndv5", "allreduce", "--algorithm", "NVLSTree")
    (rabenseifner,) = heads("azure-ndv5", "allreduce", "--algorithm", "rabenseifner")
    assert (nvls[:4], rabenseifner[:3]) == ("NCCL", "MPI")


@pytest.mark.parametrize("platform_name", ["azure-ndv5", "azure-hbv3"])
def test_a_platform_alone_lists_its_usual_values(platform_name: str, capsys: Capture) -> None:
    lines = text_of(capsys, platform_name).splitlines()
    assert lines[0] == f"EXPECT   the usual values of {platform_name}"
    rows = lines[3 : lines.index("", 3)]
    libraries = [row.split()[0] + (" GPU" if "GPU memory" in row else "") for row in rows]
    has_gpus = platform_name == "azure-ndv5"
    of_gpus = ["NCCL"] * 2 + ["MPI GPU"] * 3
    assert libraries == [*(of_gpus if has_gpus else []), *["MPI"] * 4]
    assert lines[-1] == f"next: weft expect {platform_name} --explain"


def test_a_message_rate_has_the_published_limit_of_the_adapter(capsys: Capture) -> None:
    line = text_of(capsys, "azure-hbv3", "osu_mbw_mr", "--size", "8").splitlines()[2]
    assert line.startswith("LIMIT    215.1 million/s; more is impossible: message rate of the adap")


def test_parts_of_the_time_add_up_to_a_hundred_per_cent(capsys: Capture) -> None:
    assert run(["expect", "azure-hbv2", "osu_latency", "--size", "1K", "--format", "json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["expectations"]
    assert sum(part["time_us"] for part in one["parts"]) == pytest.approx(one["value"])
    text = text_of(capsys, "azure-hbv2", "osu_latency", "--size", "1K")
    assert "part of the time" in text
    shares = [int(line.split(" %")[0].split()[-1]) for line in text.splitlines() if " %  " in line]
    assert sum(shares) == pytest.approx(100, abs=3)


def test_several_sizes_are_a_table_of_value_low_high_and_bound(capsys: Capture) -> None:
    text = text_of(capsys, "frontera", "alltoall", "--nodes", "512", "--size", "8:64K")
    rows = [line for line in text.splitlines() if " KiB  " in line or " B  " in line]
    assert len(rows) == 14
    assert "size  expected" in text
    first = text.splitlines()[0]
    assert first.endswith("us at 64 KiB: MPI alltoall of 8 B to 64 KiB on frontera, 512 nodes")
    assert "taper" in rows[-1]


def test_a_bus_bandwidth_has_its_time_next_to(capsys: Capture) -> None:
    # busbw = bytes x 2 (n - 1) / n / time (NVIDIA/nccl-tests, doc/PERFORMANCE.md).
    argv = ["azure-ndv4", "all_reduce_perf", "--gpus", "16"]
    assert run(["expect", *argv, "--size", "8", "--format", "json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["expectations"]
    time_us = 8 * 30 / 16 / one["value"] / 1e3
    (line,) = (x for x in text_of(capsys, *argv, "--size", "8").splitlines() if "a call" in x)
    assert float(line.split()[1]) == pytest.approx(time_us, rel=1e-3)
    table = text_of(capsys, *argv, "--size", "8,1M").splitlines()
    assert table[2].split()[:3] == ["size", "time", "us"]
    assert float(table[3].split()[2]) == pytest.approx(time_us, rel=1e-3)
    assert "time us" not in text_of(capsys, "azure-hbv3", "osu_latency", "--size", "8,64")


def test_csv_has_a_row_a_size(capsys: Capture) -> None:
    rows = list(
        csv.DictReader(
            io.StringIO(text_of(capsys, "fat-tree", "osu_bw", "--size", "8,4M", "--format", "csv"))
        )
    )
    assert [int(row["size_bytes"]) for row in rows] == [8, 4 << 20]
    assert all(float(row["low"]) <= float(row["value"]) <= float(row["high"]) for row in rows)


def test_explain_lists_every_figure_with_its_source(capsys: Capture) -> None:
    plain = text_of(capsys, "azure-ndv4", "ib_write_bw")
    explained = text_of(capsys, "azure-ndv4", "ib_write_bw", "--explain")
    assert "FIGURES" not in plain
    assert "links.host.rate" in explained
    assert "Jose & Shainer" in explained
    assert "Azure/azurehpc-health-checks" in explained


def test_conditions_reach_the_model(capsys: Capture) -> None:
    def value(*more: str) -> float:
        argv = ["azure-ndv4", "all_reduce_perf", "--gpus", "32", "--size", "1G", *more]
        return float(
            json.loads(text_of(capsys, *argv, "--format", "json"))["expectations"][0]["value"]
        )

    healthy = value()
    assert value("--hcas", "1") < healthy / 6
    assert value("--transport", "sockets") < healthy / 4
    assert value("--without-gpudirect") < healthy
    assert value("--algorithm", "Tree", "--protocol", "LL") < healthy / 2


def test_a_platform_of_your_own_works_without_a_twin(tmp_path: Path, capsys: Capture) -> None:
    absent = {"fabric": None, "host": None, "switch": None, "packets": None}
    mine = platform("generic-ndr").model_copy(update={**absent, "name": "mine"})
    path = tmp_path / "mine.toml"
    path.write_text(to_toml(mine), "utf-8")
    text = text_of(capsys, str(path), "osu_bw")
    assert "link rate 400 Gb/s" in text


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["azure-hb", "all_reduce_perf"], "platform 'azure-hb' has no GPUs"),
        (["azure-hb", "latency", "--gpus", "8"], "platform 'azure-hb' has no GPUs"),
        (["azure-hb", "latency", "--memory", "gpu"], "platform 'azure-hb' has no GPUs"),
        (["azure-hbv", "latency"], "no platform 'azure-hbv' in the catalogue"),
        (["azure-hb", "osu_bww"], "did you mean 'osu_bw'?"),
        (["frontera", "latency", "--nodes", "9000"], "at most 8008"),
        (["azure-ndv5", "all_reduce_perf", "--gpus", "30", "--nodes", "4"], "30 GPUs on 4 nodes"),
        (["azure-ndv5", "all_reduce_perf", "--algorithm", "rings"], "did you mean 'ring'?"),
        (["azure-ndv5", "barrier", "--library", "nccl"], "NCCL has no 'barrier'"),
        (["fat-tree", "bandwidth", "--size", "0"], "no bandwidth of 64 messages of 0 B"),
        (["fat-tree", "latency", "--size", "4X"], "'4X' is not a size"),
        (["azure-hc", "allreduce", "--tasks-per-node", "45"], "45 tasks on a node"),
        (["this-machine", "latency"], "has no network figures"),
        (["fat-tree", "latency", "--window", "0"], "--window"),
        (["fat-tree", "barrier", "--size", "8"], "--size does not apply to barrier"),
        (["fat-tree", "latency", "--algorithm", "ring"], "--algorithm does not apply to latency"),
        (["azure-ndv5", "osu_allreduce", "--protocol", "LL"], "--protocol does not apply to allr"),
        (["azure-ndv5", "osu_allreduce", "--nccl", "2.28"], "--nccl does not apply to allreduce"),
        (["azure-ndv5", "latency", "--nccl", "2.28"], "--nccl does not apply to latency"),
        (["azure-ndv5", "all_reduce_perf", "--memory", "host"], "--memory host does not apply"),
        (["azure-ndv5", "osu_bw", "--without-gpudirect"], "(mpi, host memory)"),
    ],
)
def test_what_cannot_be_expected_exits_2_and_says_why(
    argv: list[str], message: str, capsys: Capture
) -> None:
    assert run(["expect", *argv]) == 2
    streams = capsys.readouterr()
    assert message in streams.err
    assert streams.out == ""


def test_a_generic_gpu_without_a_benchmark_is_a_platform(capsys: Capture) -> None:
    assert run(["expect", "generic-mi300x"]) == 0
    assert "the usual values of generic-mi300x" in capsys.readouterr().out


def test_a_word_that_is_neither_platform_nor_benchmark_is_said_to_be(capsys: Capture) -> None:
    assert run(["expect", "azure-ndv"]) == 2
    err = capsys.readouterr().err
    assert "'azure-ndv' is no platform and no benchmark" in err
    assert "weft platform list" in err
    assert "did you mean 'azure-ndv" in err


def test_a_version_of_nccl_is_refused_where_rccl_runs(capsys: Capture) -> None:
    assert run(["expect", "azure-mi300x", "allreduce", "--gpus", "16", "--nccl", "2.26.5"]) == 2
    assert "--nccl 2.26.5 has no effect on AMD's GPUs" in capsys.readouterr().err
