//! Bus bandwidth: how much of a link's rate a collective's speed stands for.

/// Bus bandwidth over algorithm bandwidth, where the latter is nccl-tests' size over time:
/// 2(p-1)/p for allreduce, (p-1)/p for alltoall, allgather, reduce_scatter, gather and scatter (of
/// the whole buffer, p blocks), else 1.
///
/// SOURCE: the performance notes of nccl-tests.
pub fn busbw_factor(benchmark: &str, n_ranks: u32) -> f64 {
    let share = f64::from(n_ranks.saturating_sub(1)) / f64::from(n_ranks.max(1));
    match benchmark {
        "allreduce" => 2.0 * share,
        "alltoall" | "alltoallv" | "allgather" | "reduce_scatter" | "gather" | "scatter" => share,
        _ => 1.0,
    }
}
