"""The JSON that nccl-tests writes with -J (versions 1 to 3)."""

from collections.abc import Mapping
from typing import Any

from weft.results.lines.json_values import amount, count, loaded, text_of
from weft.results.lines.launch_line import shown
from weft.results.model import JsonResult, Row, Table
from weft.results.nccl.header import IN_PLACE, OUT_OF_PLACE
from weft.results.nccl.job import Device, JobFacts, facts_of_devices
from weft.results.nccl.names import BENCHMARK_OF_TEST, test_in, version_text

_PLACEMENTS = (("out_of_place", OUT_OF_PLACE), ("in_place", IN_PLACE))
_METRICS = {
    "time": "latency_us",
    "cpu_time": "latency_us",
    "alg_bw": "algbw_gb_s",
    "bus_bw": "busbw_gb_s",
    "nwrong": "n_wrong",
}
_REQUIRED = frozenset({"latency_us", "algbw_gb_s", "busbw_gb_s"})
_PER_ITERATION = {
    "min_us": "latency_us_min",
    "max_us": "latency_us_max",
    "p50_us": "latency_us_p50",
    "p95_us": "latency_us_p95",
    "p99_us": "latency_us_p99",
    "stdev_us": "latency_us_stdev",
    "cv_pct": "latency_us_cv_percent",
}
_SETTINGS = {
    "nthreads": "threads",
    "ngpus": "gpus_per_thread",
    "warmup_iters": "warmup_iterations",
    "iterations": "iterations",
    "aggregated_iterations": "aggregated_iterations",
    "validation": "validation",
    "graph": "cuda_graphs",
    "blocking_collectives": "blocking",
}
_MAX_RANKS = 1 << 20
_MOST_GPUS_OF_A_PROCESS = 640
"""SOURCE: NCCL 2.30, src/include/graph.h, NCCL_TOPO_MAX_NODES: GPUs one topology holds."""
_LARGEST_VERSION = 10**7


def read_json(text: str) -> JsonResult | None:
    """The table of a document of nccl-tests, or None where it is none. The environment is the
    whole environment of the process that wrote it: the caller redacts it."""
    if '"results"' not in text or ('_place"' not in text and '"nccl_version"' not in text):
        return None
    document = loaded(text)
    if not isinstance(document, dict) or not isinstance(document.get("results"), list):
        return None
    rows, n_refused = _rows(document["results"])
    remarks = [f"{n_refused} results without a size, a time or a bandwidth"] if n_refused else []
    remarks += [f"the tool reports: {text_of(e)}" for e in _list(document.get("errors")) if e]
    if not rows:
        return JsonResult((), _environment(document.get("env")), tuple(remarks))
    facts, why_uncounted = _job(_mapping(document.get("config")))
    remarks += [why_uncounted] if why_uncounted else []
    tables = (_table(document, rows, facts),)
    return JsonResult(tables, _environment(document.get("env")), tuple(remarks))


def _rows(results: list[Any]) -> tuple[list[Row], int]:
    rows: list[Row] = []
    n_refused = 0
    for result in results:
        record = _mapping(result)
        size = count(record.get("size"))
        found = [] if size is None else _rows_of(record, size)
        n_refused += not found
        rows += found
    return rows, n_refused


def _rows_of(record: Mapping[str, Any], size: int) -> list[Row]:
    labels = {key: text_of(record.get(key)) for key in ("type", "redop", "root")}
    other = {k: text_of(record[k]) for k in ("count", "actual_iterations") if k in record}
    rows = []
    for key, placement in _PLACEMENTS:
        body = _mapping(record.get(key))
        metrics = _metrics(body, _METRICS)
        if not metrics.keys() >= _REQUIRED:
            continue
        metrics |= _metrics(_mapping(record.get(f"{key}_per_iter")), _PER_ITERATION)
        own = {"placement": placement, **labels}
        if "n_wrong" not in metrics:
            own["validation"] = "N/A"
        rows.append(Row(1, size, metrics, own, other))
    return rows


def _metrics(body: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, float]:
    found = {metric: amount(body.get(name)) for name, metric in names.items() if name in body}
    return {metric: value for metric, value in found.items() if value is not None}


def _table(document: Mapping[str, Any], rows: list[Row], facts: JobFacts) -> Table:
    config = _mapping(document.get("config"))
    arguments = [text_of(argument) for argument in _list(document.get("args"))[:64]]
    test = test_in(arguments[0].rpartition("/")[2]) if arguments else ""
    conditions = {own: text_of(config[key]) for key, own in _SETTINGS.items() if key in config}
    conditions |= facts.conditions
    version = count(document.get("nccl_version"))
    if version is not None and 1000 <= version <= _LARGEST_VERSION:
        conditions["nccl_version"] = version_text(version)
    average = amount(_mapping(document.get("average_bus_bandwidth")).get("bandwidth"))
    if average is not None:
        conditions["average_bus_bandwidth_gb_s"] = f"{average:g}"
    wrong = count(_mapping(document.get("out_of_bounds")).get("count"))
    if wrong is not None:
        conditions["out_of_bounds"] = str(wrong)
    if arguments:
        conditions["launch"] = shown(" ".join(arguments))
    return Table(
        tool="rccl-tests" if any("AMD" in name for name in facts.devices) else "nccl-tests",
        test=test,
        benchmark=BENCHMARK_OF_TEST.get(test, ""),
        rows=tuple(rows),
        first_line=1,
        memory="gpu",
        conditions=conditions,
        **facts.of_table,
    )


def _job(config: Mapping[str, Any]) -> tuple[JobFacts, str]:
    """The job, and why its ranks were not counted, or "".

    Where a process drives several GPUs, the document names only the first of each (its writer reads
    one line of a process's several); the others are filled in, unless their number is damaged.
    """
    listed = _listed(config)
    each = (count(config.get("nthreads")) or 1) * (count(config.get("ngpus")) or 1)
    spaced = [device.rank for device in listed] == [each * i for i in range(len(listed))]
    if not listed or each == 1 or not spaced:
        return facts_of_devices(listed), ""
    if each > _MOST_GPUS_OF_A_PROCESS or each * len(listed) > _MAX_RANKS:
        facts = facts_of_devices(listed)
        why = f"ranks not counted: {each} GPUs a process, {len(listed)} listed: no job has so many"
        return JobFacts(n_nodes=facts.n_nodes, devices=facts.devices), why
    return facts_of_devices([d._replace(rank=d.rank + i) for d in listed for i in range(each)]), ""


def _listed(config: Mapping[str, Any]) -> list[Device]:
    """The device list as it was written."""
    listed = [_mapping(device) for device in _list(config.get("devices"))[:_MAX_RANKS]]
    return [
        Device(
            rank,
            count(device.get("group")) or 0,
            text_of(device.get("pid")),
            text_of(device.get("hostname")),
            text_of(device.get("device_info")),
        )
        for device in listed
        if (rank := count(device.get("rank"))) is not None
    ]


def _environment(value: Any) -> dict[str, str]:
    entries = [entry for entry in _list(value) if isinstance(entry, str)]
    return {name: value for name, _, value in (entry.partition("=") for entry in entries) if name}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
