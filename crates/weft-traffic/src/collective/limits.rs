//! How large a collective may be.

use super::{Algorithm, Collective, Operation};
use crate::error::{TrafficError, refuse};

/// Largest message or buffer: 1 TiB.
pub(crate) const MAX_SIZE_BYTES: u64 = 1 << 40;
/// Most segments of a buffer.
const MAX_SEGMENTS: u64 = 1 << 20;

/// Refuse a collective whose moves or messages are too many or too large.
pub(crate) fn check_collective(place: &str, collective: &Collective) -> Result<(), TrafficError> {
    let (n, size_bytes) = (u64::from(collective.n), collective.size_bytes);
    let tasks = collective.tasks_per_node;
    if !collective.n.is_multiple_of(tasks) {
        let what = format!("{n} ranks are no whole nodes of {tasks}");
        return refuse(place, "tasks_per_node", what, "a divisor of the number of ranks");
    }
    let n_segments = match collective.n_segmented_parts() {
        0 => 1,
        n_parts => size_bytes.div_ceil(n_parts * collective.segment_bytes),
    };
    if n_segments > MAX_SEGMENTS {
        let what = format!("{n_segments} segments");
        return refuse(place, "segment_bytes", what, format!("at most {MAX_SEGMENTS}"));
    }
    let per_block = !matches!(
        collective.operation,
        Operation::Barrier
            | Operation::Allreduce
            | Operation::ReduceScatter
            | Operation::Broadcast
            | Operation::Reduce
    );
    let combined = !matches!(
        collective.algorithm,
        Algorithm::Pairwise | Algorithm::Linear | Algorithm::Ring | Algorithm::NeighborExchange
    );
    if per_block && combined && size_bytes.saturating_mul(n) > MAX_SIZE_BYTES {
        let what = format!("blocks of {size_bytes} bytes of {n} ranks in one message");
        return refuse(place, "size_bytes", what, "at most 1 TiB together");
    }
    Ok(())
}
