"""The border: documents in, columns out, errors as text, the GIL released."""

import ast
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import _engine as engine

FABRIC = {
    "generate": "fat_tree",
    "levels": 2,
    "nodes": 8,
    "nodes_per_leaf": 4,
    "spines": 2,
    "host_bits_per_s": 100_000_000_000,
    "switch_bits_per_s": 100_000_000_000,
    "host_delay_ps": 5000,
    "switch_delay_ps": 5000,
}


def scenario(*work: dict[str, Any], **changes: Any) -> str:
    document = {
        "schema": "weft.scenario/1",
        "fabric": FABRIC,
        "host": {"regimes": [{"send_overhead_ns": 300, "recv_overhead_ns": 300}]},
        "work": list(work),
        **changes,
    }
    return json.dumps(document)


BARRIER = {"benchmark": "barrier", "iterations": 3, "warmup": 1}


def test_rows_and_ports_are_columns_of_one_length_and_documented_type() -> None:
    outcome = engine.simulate(scenario(BARRIER, {"benchmark": "alltoall", "size_bytes": 64}))
    assert (outcome["status"], outcome["message"]) == ("complete", "")
    rows = {name: outcome[name] for name in ("step", "pair", "round", "iteration")}
    times = {name: outcome[name] for name in ("start_ps", "duration_ps")}
    assert {column.dtype for column in rows.values()} == {np.dtype(np.uint32)}
    assert {column.dtype for column in times.values()} == {np.dtype(np.uint64)}
    assert {len(column) for column in (*rows.values(), *times.values())} == {4}
    assert outcome["step"].tolist() == [0, 0, 0, 1]
    ports = [outcome[name] for name in ("xmit_bytes", "xmit_packets", "xmit_wait_ps")]
    # Eight HCA cables and four between switches, two ends each.
    assert {len(column) for column in (*ports, outcome["port_name"])} == {24}
    assert outcome["end_ps"] == int(outcome["start_ps"][-1] + outcome["duration_ps"][-1])
    assert outcome["hops"] == int(outcome["xmit_packets"].sum())


def test_many_outcomes_come_in_the_order_asked_for_on_any_number_of_threads() -> None:
    asked = [scenario({**BARRIER, "iterations": n}) for n in (1, 4, 2)]
    for threads in (1, 2):
        outcomes = engine.simulate(asked, threads)
        assert [len(outcome["duration_ps"]) for outcome in outcomes] == [1, 4, 2]


def test_threads_are_no_more_than_scenarios() -> None:
    outcomes = engine.simulate([scenario(BARRIER)], 10**9)
    assert outcomes[0]["status"] == "complete"
    assert engine.simulate([], 4) == []


def test_tenants_flows_and_loads_are_columns_too() -> None:
    victim = {"name": "v", "placement": {"nodes": ["n001", "n005"]}, "work": [BARRIER]}
    flow = [{"src": 0, "dst": 1, "size_bytes": 10_000}]
    aggressor = {
        "name": "a",
        "role": "aggressor",
        "repeat": True,
        "start_ns": 100,
        "placement": {"nodes": ["n002", "n006"]},
        "work": [{"benchmark": "messages", "messages": flow}],
    }
    document = json.loads(scenario())
    del document["work"]
    document |= {
        "tenants": [aggressor, victim],
        "probes": {"flows": 3, "load_bin_ns": 50, "load_ports": 2, "top_ports": 5},
    }
    outcome = engine.simulate(json.dumps(document))
    assert (outcome["status"], outcome["rows_left_out"]) == ("complete", 0)
    assert (outcome["tenant_name"], outcome["tenant_role"]) == (["a", "v"], ["aggressor", "victim"])
    assert outcome["tenant_start_ps"].tolist() == [100_000, 0]
    assert outcome["tenant_passes"].dtype == np.uint32
    assert (outcome["tenant_end_ps"] > 0).all()
    assert (outcome["tenant"] == 1).sum() == BARRIER["iterations"]
    # The victim's warm-up first: a barrier of two ranks is an empty message each way.
    assert outcome["flow_tenant"].tolist()[:2] == [1, 1]
    assert outcome["flow_src"].tolist()[:2] == [0, 1]
    assert outcome["flow_dst"].tolist()[:2] == [1, 0]
    assert outcome["flow_size_bytes"].dtype == np.uint64
    assert outcome["flow_done"].tolist() == [True] * 3
    assert (outcome["flow_end_ps"] > outcome["flow_start_ps"]).all()
    assert outcome["flows_left_out"] > 0
    assert len(outcome["port_name"]) == 5
    assert outcome["ports_left_out"] == 24 - 5
    n_bins = outcome["load_n_bins"]
    assert len(outcome["load_xmit_bytes"]) == len(outcome["load_port_name"]) * n_bins == 2 * n_bins
    assert outcome["load_bin_ps"] % 50_000 == 0
    # The busiest port's bytes over time sum to its counter.
    busiest = outcome["port_name"].index(outcome["load_port_name"][0])
    assert outcome["load_xmit_bytes"][:n_bins].sum() == outcome["xmit_bytes"][busiest]


def test_an_expansion_without_end_is_refused() -> None:
    pair = json.dumps({"benchmark": "alltoall", "size_bytes": 1})
    with pytest.raises(ValueError, match=r"^step: more than 4194304 sends and receives"):
        engine.expand_collective(pair, 1 << 12)
    with pytest.raises(ValueError, match=r"^n_ranks: 4294967295 ranks\n  expected: at most"):
        engine.expand_collective(pair, 2**32 - 1)


def test_the_gil_is_released_while_the_engine_runs() -> None:
    running = threading.Event()
    outcome: dict[str, Any] = {}
    long = scenario({"benchmark": "alltoall", "size_bytes": 1 << 20, "iterations": 20})

    def simulate() -> None:
        running.set()
        outcome.update(engine.simulate(long))

    thread = threading.Thread(target=simulate)
    thread.start()
    running.wait()
    ticks = 0
    while thread.is_alive():
        thread.join(timeout=0.001)
        ticks += 1
    assert outcome["status"] == "complete"
    # Holding the lock, the engine would let this loop turn once or twice.
    assert ticks > 10


def test_a_wrong_document_is_a_value_error_with_place_and_expectation() -> None:
    with pytest.raises(ValueError, match=r"^work\[0\]\.window: 'window' has no meaning") as caught:
        engine.simulate(scenario({"benchmark": "latency", "window": 4}))
    assert "\n  expected: " in str(caught.value)
    with pytest.raises(ValueError, match=r"^scenario: EOF while parsing"):
        engine.simulate("{")
    with pytest.raises(ValueError, match=r"^scenarios\[1\]: scenario: missing field"):
        engine.simulate([scenario(BARRIER), "{}"], 1)
    with pytest.raises(ValueError, match=r"^fabric: missing field `schema`"):
        engine.build_fabric("{}")
    with pytest.raises(ValueError, match=r"^routing.engine: unknown engine 'magic'"):
        trace([("n001", "n002")], "magic")
    with pytest.raises(ValueError, match=r"^down\[0\]: .*leaf-99"):
        trace([("n001", "n002")], "minhop", ["leaf-99[1]"])
    with pytest.raises(ValueError, match=r"^down: no engine is named"):
        trace([("n001", "n002")], None, ["leaf-01[1]"])
    with pytest.raises(ValueError, match=r"^step: "):
        engine.expand_collective("{}", 4)


PAIR_FABRIC: dict[str, Any] = {
    "schema": "weft.fabric/1",
    "nodes": [{"name": "a", "hcas": ["a/h"]}, {"name": "b", "hcas": ["b/h"]}],
    "switches": [{"name": "s", "ports": 2, "level": 1}, {"name": "t", "ports": 2, "level": 1}],
    "links": [
        {"a": "a/h[1]", "b": "s[1]", "bits_per_s": 100_000_000_000, "delay_ps": 5},
        {"a": "b/h[1]", "b": "t[1]", "bits_per_s": 100_000_000_000, "delay_ps": 5},
        {"a": "s[2]", "b": "t[2]", "bits_per_s": 100_000_000_000, "delay_ps": 5},
    ],
}


def changed(**fabric: Any) -> dict[str, Any]:
    return {"fabric": {**PAIR_FABRIC, **fabric}}


def links(**last: Any) -> list[dict[str, Any]]:
    *others, link = PAIR_FABRIC["links"]
    return [*others, {**link, **last}]


@pytest.mark.parametrize(
    ("step", "changes", "said"),
    [
        (BARRIER, changed(links=links(b="t[3]")), r"fabric\.links\[2\]\.b: 't' has no port 3"),
        (BARRIER, changed(links=links(bits_per_s=0)), r"fabric\.links\[2\]: the rate is zero"),
        ({"benchmark": "bandwidth", "window": 2**40}, {}, r"work\[0\]\.window: .*1099511627776"),
        ({**BARRIER, "iterations": 2**40}, {}, r"work\[0\]\.iterations: .*1099511627776"),
        ({**BARRIER, "iteration": 3}, {}, r"work\[0\]\.iteration: unknown field `iteration`"),
        (
            BARRIER,
            # To b, s sends over the cable to t, and t sends it back.
            changed(lfts={"s": [1, 2], "t": [2, 2]}),
            r"the route to 'b/h' comes back to the same switch",
        ),
    ],
    ids=["missing port", "zero rate", "2^40 messages", "2^40 rounds", "unknown key", "loop"],
)
def test_bad_input_is_refused_at_once_with_its_place(
    step: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    assert engine.simulate(scenario(BARRIER, **changed()))["status"] == "complete"
    started = time.process_time()
    with pytest.raises(ValueError, match=said) as caught:
        engine.simulate(scenario(step, **changes))
    assert "\n  expected: " in str(caught.value)
    assert time.process_time() - started < 5


def trace(*question: Any) -> None:
    engine.build_fabric(json.dumps(FABRIC)).trace(*question)


def document_of(spec: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(engine.build_fabric(json.dumps(spec)).document())
    return document


def test_a_built_fabric_carries_the_tables_of_the_engine_it_names_and_no_engine() -> None:
    """The schema first, by which readers of files know it."""
    built = document_of({**FABRIC, "routing": {"engine": "updn"}})
    assert next(iter(built)) == "schema"
    assert set(built["lfts"]) == {"leaf-01", "leaf-02", "spine-01", "spine-02"}
    assert {len(table) for table in built["lfts"].values()} == {8}
    assert "routing" not in built
    assert "lfts" not in document_of(FABRIC)


def test_a_collective_expands_into_what_every_rank_exchanges() -> None:
    step = {"benchmark": "allreduce", "algorithm": "ring", "size_bytes": 400}
    moves = engine.expand_collective(json.dumps(step), 4)
    sends = moves["is_send"]
    assert sends.sum() == (~sends).sum() == 4 * 2 * 3
    assert set(moves["size_bytes"].tolist()) == {100}
    to_the_right = (moves["rank"][sends] + 1) % 4
    assert moves["peer"][sends].tolist() == to_the_right.tolist()


def test_the_border_has_at_most_ten_functions_and_all_are_described() -> None:
    stub = Path(engine.__file__ or "").parent / "_engine.pyi"
    parts = ast.parse(stub.read_text()).body
    functions = [part for part in parts if isinstance(part, ast.FunctionDef)]
    classes = [part for part in parts if isinstance(part, ast.ClassDef)]
    handles = {part.name: part for part in classes if not part.bases}
    public = {name for name in dir(engine) if not name.startswith("__")}
    built = {name for name in public if callable(getattr(engine, name))} - set(handles)
    lists = {str(part.target.id) for part in parts if isinstance(part, ast.AnnAssign)}
    assert set(handles) == {"Fabric", "Subnet"}
    assert {function.name for function in functions} == built
    assert lists == public - built - set(handles) == {"CONGESTION_LAWS"}
    assert len(built) <= 10
    for name, handle in handles.items():
        methods = [part for part in handle.body if isinstance(part, ast.FunctionDef)]
        held = {method for method in dir(getattr(engine, name)) if not method.startswith("__")}
        assert {method.name for method in methods} == held
        assert len(held) <= 10
        functions += methods
    assert all(ast.get_docstring(function) for function in functions)


def test_ctrl_c_ends_a_long_simulation_within_seconds() -> None:
    endless = scenario({"benchmark": "alltoall", "size_bytes": 1_000_000, "iterations": 100_000})
    program = (
        "import sys; from weft._engine import simulate\n"
        "print('started', flush=True); simulate(sys.argv[1])\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, endless],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "started\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors
    assert child.returncode != 0
