//! The border: documents in, columns out, ten functions at most, the GIL released.

mod column;
mod description;
mod fabric;
mod hwloc;
mod interrupt;
mod logs;
mod nccl;
mod progress;
mod subnet;
mod survey;

use interrupt::interruptible;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use weft_fabric::json::word;
use weft_sim::{
    MAX_RANKS, Monitor, OffloadColumns, Outcome, PortColumns, SteadyColumns, ValidScenario,
};
use weft_traffic::{Blocks, StepDocument, TrafficError};

fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// One scenario, or several.
#[derive(FromPyObject)]
enum Scenarios {
    One(String),
    Several(Vec<String>),
}

/// The outcome of one scenario as columns; of several, in order, on `threads` threads (0: one a
/// core). Ctrl-C ends them early.
#[pyfunction]
#[pyo3(signature = (scenarios_json, threads = 1))]
fn simulate(
    py: Python<'_>,
    scenarios_json: Scenarios,
    threads: usize,
) -> PyResult<Bound<'_, PyAny>> {
    match scenarios_json {
        Scenarios::One(text) => Ok(simulate_one(py, &text)?.into_any()),
        Scenarios::Several(texts) => {
            Ok(PyList::new(py, simulate_several(py, &texts, threads)?)?.into_any())
        }
    }
}

fn simulate_one<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let monitor = Monitor::default();
    let run = |stop: &_| {
        ValidScenario::parse(text)
            .map(|scenario| weft_sim::simulate_watched(&scenario, stop, &monitor))
    };
    let outcome = interruptible(py, || monitor.read().done, run)?;
    columns(py, outcome.map_err(refuse)?)
}

fn simulate_several<'py>(
    py: Python<'py>,
    texts: &[String],
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let monitors: Vec<Monitor> = texts.iter().map(|_| Monitor::default()).collect();
    let share_done = || {
        let done: f64 = monitors.iter().map(|one| one.read().done).sum();
        done / monitors.len().max(1) as f64
    };
    let run = |stop: &_| weft_sim::simulate_many_watched(texts, threads, stop, &monitors);
    let outcomes = interruptible(py, share_done, run)?.map_err(refuse)?;
    outcomes.into_iter().map(|outcome| columns(py, outcome)).collect()
}

/// About how many packet hops and moves of ranks each scenario is, without simulating it.
#[pyfunction]
fn count_work(py: Python<'_>, scenarios_json: Vec<String>) -> PyResult<Vec<(f64, f64)>> {
    let count = || {
        let count = |text: &String| ValidScenario::parse(text).map(|one| one.amount_of_work());
        scenarios_json.iter().map(count).collect::<Result<_, _>>()
    };
    py.detach(count).map_err(refuse)
}

/// Numeric columns of a structure into a dictionary, each by its name after a prefix.
macro_rules! set_arrays {
    ($py:ident, $out:ident, $prefix:literal, $columns:ident: $($column:ident),+) => {
        $({
            let name = concat!($prefix, stringify!($column));
            $out.set_item(name, column::array($py, $columns.$column.into_iter())?)?;
        })+
    };
}

fn columns(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("status", word(&outcome.status))?;
    out.set_item("message", outcome.message)?;
    out.set_item("fidelity", word(&outcome.fidelity))?;
    out.set_item("notes", outcome.notes)?;
    let rows = outcome.rows;
    out.set_item("rows_left_out", rows.left_out)?;
    set_arrays!(py, out, "", rows: tenant, step, pair, round, iteration, start_ps, duration_ps);
    let tenants = outcome.tenants;
    let roles: Vec<String> = tenants.role.iter().map(word).collect();
    out.set_item("tenant_name", tenants.tenant_name)?;
    out.set_item("tenant_role", roles)?;
    set_arrays!(py, out, "tenant_", tenants: start_ps, end_ps, passes);
    set_ports(py, &out, outcome.ports)?;
    out.set_item("ports_left_out", outcome.ports_left_out)?;
    let load = outcome.load;
    out.set_item("load_bin_ps", load.bin_ps)?;
    out.set_item("load_n_bins", load.n_bins)?;
    out.set_item("load_port_name", load.port_name)?;
    out.set_item("load_left_out", load.left_out)?;
    set_arrays!(py, out, "load_", load: xmit_bytes);
    let flows = outcome.flows;
    out.set_item("flows_left_out", flows.left_out)?;
    set_arrays!(py, out, "flow_", flows: tenant, src, dst, size_bytes, start_ps, end_ps, done);
    set_offloads(py, &out, outcome.offloads)?;
    set_steady(py, &out, outcome.steady)?;
    out.set_item("end_ps", outcome.end_ps)?;
    out.set_item("reconnects", outcome.reconnects)?;
    out.set_item("hops", outcome.hops)?;
    out.set_item("events", outcome.events)?;
    out.set_item("trace_hash", outcome.trace_hash)?;
    Ok(out)
}

fn set_ports(py: Python<'_>, out: &Bound<'_, PyDict>, ports: PortColumns) -> PyResult<()> {
    out.set_item("port_name", ports.port_name)?;
    set_arrays!(py, out,
        "", ports: xmit_bytes, xmit_packets, xmit_wait_ps, port_xmit_data, port_rcv_data,
        port_xmit_pkts, port_rcv_pkts, port_xmit_wait, port_xmit_discards, symbol_error_counter,
        link_error_recovery_counter, link_downed_counter, port_rcv_errors, port_xmit_fecn,
        port_rcv_fecn, port_rcv_becn
    );
    Ok(())
}

fn set_offloads(py: Python<'_>, out: &Bound<'_, PyDict>, offloads: OffloadColumns) -> PyResult<()> {
    let by: Vec<String> = offloads.by.iter().map(word).collect();
    out.set_item("offload_by", by)?;
    out.set_item("offload_reason", offloads.reason)?;
    set_arrays!(py, out, "offload_", offloads: tenant, step);
    Ok(())
}

fn set_steady(py: Python<'_>, out: &Bound<'_, PyDict>, steady: SteadyColumns) -> PyResult<()> {
    out.set_item("steady_whole_because", steady.whole_because)?;
    set_arrays!(py, out, "steady_", steady: tenant, step, round, size_bytes, moves, share, error);
    Ok(())
}

/// The exchanges of every rank in a step: one row a send or receive.
#[pyfunction]
fn expand_collective<'py>(
    py: Python<'py>,
    step_json: &str,
    n_ranks: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let moves = py.detach(|| expand(step_json, n_ranks)).map_err(refuse)?;
    let out = PyDict::new(py);
    set_arrays!(py, out, "", moves: rank, index, is_send, peer, size_bytes, first_block, n_blocks);
    Ok(out)
}

#[derive(Default)]
struct Moves {
    rank: Vec<u32>,
    index: Vec<u64>,
    is_send: Vec<bool>,
    peer: Vec<u32>,
    size_bytes: Vec<u64>,
    first_block: Vec<u32>,
    n_blocks: Vec<u32>,
}

/// Most sends and receives of an expansion: 34 bytes each.
const MAX_MOVES: usize = 1 << 22;

fn expand(step_json: &str, n_ranks: u32) -> Result<Moves, TrafficError> {
    if n_ranks as usize > MAX_RANKS {
        let expected = format!("at most {MAX_RANKS}");
        return Err(TrafficError::document("n_ranks", format!("{n_ranks} ranks"), expected));
    }
    let mut step: StepDocument = serde_json::from_str(step_json).map_err(|error| {
        TrafficError::document("step", error.to_string(), "a step of a scenario's work")
    })?;
    step.prepare("step", 1)?;
    step.check("step", n_ranks)?;
    let mut moves = Moves::default();
    for round in 0..step.n_phases() {
        let phase = step.phase("step", 0, round, n_ranks)?;
        for rank in 0..n_ranks {
            if moves.rank.len() > MAX_MOVES {
                let what = format!("more than {MAX_MOVES} sends and receives");
                return Err(TrafficError::document("step", what, "fewer ranks"));
            }
            for index in 0.. {
                let Some(exchange) = phase.exchange(rank, index) else {
                    break;
                };
                for (is_send, side) in [(false, exchange.recv), (true, exchange.send)] {
                    let Some(transfer) = side else { continue };
                    let (first_block, n_blocks) = match transfer.blocks {
                        Blocks::Range { first, count } => (first, count),
                        Blocks::Destinations { first, step } if step >= n_ranks => (first, 1),
                        _ => (0, 0),
                    };
                    moves.rank.push(rank);
                    moves.index.push(index);
                    moves.is_send.push(is_send);
                    moves.peer.push(transfer.peer);
                    moves.size_bytes.push(transfer.size_bytes);
                    moves.first_block.push(first_block);
                    moves.n_blocks.push(n_blocks);
                }
            }
        }
    }
    Ok(moves)
}

/// The engine of the twin.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<fabric::Fabric>()?;
    module.add_function(wrap_pyfunction!(fabric::build_fabric, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(count_work, module)?)?;
    module.add_function(wrap_pyfunction!(expand_collective, module)?)?;
    module.add_class::<subnet::Subnet>()?;
    module.add_function(wrap_pyfunction!(subnet::read_subnet, module)?)?;
    module.add_function(wrap_pyfunction!(subnet::route_subnet, module)?)?;
    module.add_function(wrap_pyfunction!(logs::read_logs, module)?)?;
    module.add_function(wrap_pyfunction!(hwloc::read_hwloc, module)?)?;
    module.add_function(wrap_pyfunction!(nccl::search_nccl_graphs, module)?)?;
    module.add_function(wrap_pyfunction!(progress::share_done, module)?)?;
    module.add("CONGESTION_LAWS", weft_sim::CONGESTION_LAWS)
}
