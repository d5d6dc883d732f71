//! What forwarding tables do with the traffic of a subnet: paths, their lengths, the load of links,
//! what may wait for what.

mod bisection;
mod load;
mod loops;
mod net;
mod survey;
mod toward;
mod trace;

pub use bisection::{Bisection, bisection};
pub use load::{LinkLoad, ShiftLoads, all_to_all, of_pairs, shifts};
pub use loops::{CreditLoop, credit_loop};
pub use net::{Endport, Net};
pub use survey::{Survey, Unreachable, Valley, survey};
pub use toward::{Toward, UNREACHED};
pub use trace::{Choice, Hop, PathError, trace, trace_adaptive};
