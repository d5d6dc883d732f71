//! What happens: a [`ScenarioDocument`] becomes a [`ValidScenario`], and [`simulate`] turns that
//! into an [`Outcome`], packet by packet.
//!
//! Same scenario and seed, same outcome, on any machine and any number of threads.
#![forbid(unsafe_code)]

mod adaptive;
mod arbiter;
mod auto;
mod cable;
mod calendar;
mod congestion;
mod connection;
mod counters;
mod credits;
mod crossbar;
mod dct;
mod deadlock;
mod delivery;
pub mod document;
mod egress;
mod error;
mod estimate;
mod flowlet;
mod flows;
mod fluid;
pub mod host;
mod hosts;
mod ingress;
mod inside;
mod job;
mod lane;
mod lanes;
mod look_ahead;
mod matching;
mod message;
mod monitor;
mod network;
mod outcome;
pub mod packet;
mod port;
mod probe;
mod rank;
mod refunds;
mod rendezvous;
mod rules;
pub mod scenario;
mod sender;
mod shares;
mod sim;
mod steady;
mod steering;
mod sweep;
mod throttle;
mod transport;
mod tree;
mod trouble;
mod watch;

pub use counters::PortColumns;
pub use document::ScenarioDocument;
pub use error::SimError;
pub use flows::FlowColumns;
pub use monitor::{Monitor, Standing};
pub use outcome::{Outcome, RowColumns, Status, SteadyColumns, TenantColumns};
pub use probe::LoadColumns;
pub use scenario::{MAX_RANKS, ValidScenario};
pub use sim::{simulate, simulate_until, simulate_watched};
pub use sweep::{check_many, simulate_many, simulate_many_watched};
pub use tree::{CarriedOut, OffloadColumns};
