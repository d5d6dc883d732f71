//! What happens: a [`ScenarioDocument`] becomes a [`ValidScenario`], and [`simulate`] turns that
//! into an [`Outcome`], packet by packet.
//!
//! Same scenario and seed, same outcome, on any machine and any number of threads.
//!
//! Rooms, each built on those before it: `congestion` (laws), [`document`] (as written), `model`
//! (valid), `state` (plain data), `packet`, `host`, `flow` and `in_network`, `run`.
//! `tests/test_rust_rooms.py` holds the order.
#![forbid(unsafe_code)]

mod congestion;
pub mod document;
mod error;
mod flow;
mod host;
mod in_network;
mod limits;
mod model;
mod packet;
mod run;
mod settings;
mod state;

pub use congestion::CONGESTION_LAWS;
pub use document::{Fidelity, ScenarioDocument};
pub use error::SimError;
pub use limits::MAX_RANKS;
pub use model::in_network::collective_method::CollectiveMethod;
pub use model::scenario::ValidScenario;
pub use run::monitor::{Monitor, Standing};
pub use run::simulate::{simulate, simulate_until, simulate_watched};
pub use run::sweep::{check_many, simulate_many, simulate_many_watched};
pub use state::columns::flows::FlowColumns;
pub use state::columns::load::LoadColumns;
pub use state::columns::offloads::OffloadColumns;
pub use state::columns::outcome::{Outcome, RowColumns, Status, SteadyColumns, TenantColumns};
pub use state::columns::ports::PortColumns;
