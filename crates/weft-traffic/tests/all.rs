//! All tests of traffic: one binary, since each takes a link of its own.

mod calls;
mod data;
mod executor;
mod phases;
mod refusals;
mod schedules;
mod sizes;
mod steps;
