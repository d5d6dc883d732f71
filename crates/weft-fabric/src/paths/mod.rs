//! Paths by forwarding tables: their lengths, the load of links, credit loops.

mod bisection;
mod credit_loop;
mod forwarding_tree;
mod load;
mod net;
mod survey;
mod trace;

pub use bisection::{Bisection, bisection};
pub use credit_loop::{CreditLoop, credit_loop};
pub use forwarding_tree::{ForwardingTree, UNREACHED};
pub use load::{LinkLoad, ShiftLoads, all_to_all, of_pairs, shifts};
pub use net::{Endport, Net};
pub use survey::{Survey, Unreachable, Valley, survey};
pub use trace::{Choice, Hop, PathError, trace, trace_adaptive};
