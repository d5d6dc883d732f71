//! Connections where adaptive routing lets packets overtake one another: what that costs, and that
//! nothing is lost or comes twice.

use crate::common::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use weft_sim::Status;

const RATE: u64 = 100 * GBPS;

/// Two leaves and three spines, one cable of which is slow: packets round robin over the spines
/// overtake those on it.
fn uneven(flows: impl IntoIterator<Item = (u64, u64, u64)>, out_of_order_ns: u64) -> Value {
    let case = scenario(tree(8, 4, 3, RATE, 20_000), messages(flows));
    let adaptive = json!({"granularity": "packet", "grade_bytes": 65536});
    let case = with(case, "routing", json!({"engine": "dmodk", "adaptive": adaptive}));
    let case = with(case, "transport", json!({"out_of_order_ns": out_of_order_ns}));
    with(case, "faults", json!([{"link": "leaf-01[5]", "rate_factor": 0.25}]))
}

#[test]
fn each_packet_that_was_overtaken_costs_its_receiver_the_same() {
    let flows = [(0, 4, 400_000), (1, 5, 400_000)];
    let took = |ns| durations(&uneven(flows, ns));
    let (none, some, twice) = (took(0), took(50), took(100));
    for flow in 0..2 {
        let cost = some[flow] - none[flow];
        assert!(cost > 0 && cost.is_multiple_of(50_000), "{cost}");
        assert!(cost < 50_000 * 400_000 / 4096, "not every packet is overtaken");
        assert_eq!(twice[flow] - none[flow], 2 * cost);
    }
}

#[test]
fn on_one_path_nothing_is_overtaken() {
    let near = [(0, 1, 400_000), (2, 3, 100_000), (0, 3, 50_000)];
    assert_eq!(durations(&uneven(near, 0)), durations(&uneven(near, 50)));
}

fn lossy_case() -> impl Strategy<Value = Value> {
    let flows = prop::collection::vec((0u64..8, 0u64..7, 0u64..40_000), 1..12);
    let routings = [
        json!({"engine": "dmodk", "adaptive": {"granularity": "packet"}}),
        json!({"engine": "dmodk", "adaptive": {"granularity": "flowlet", "flowlet_gap_ns": 300}}),
        json!({"engine": "ecmp"}),
    ];
    let routing = prop::sample::select(routings.to_vec());
    (flows, 1u64..9, any::<u64>(), (0.0f64..0.1, routing), 0u64..40).prop_map(
        |(flows, ack_every, seed, (probability, routing), out_of_order_ns)| {
            let flows = flows.into_iter().map(|(s, d, size)| (s, d + u64::from(d >= s), size));
            let case = uneven(flows, 0);
            let transport = json!({"ack_every": ack_every, "timeout_exponent": 6,
                                   "out_of_order_ns": out_of_order_ns});
            let case = with(case, "transport", transport);
            let regimes = json!([{"max_bytes": 2000}, {"protocol": "rendezvous"}]);
            let case = with(case, "host", json!({"regimes": regimes}));
            let faults = json!([{"link": "leaf-01[5]", "rate_factor": 0.25},
                                {"link": "n002/hca0[1]", "lost": probability},
                                {"link": "leaf-02[6]", "lost": probability}]);
            let case = with(case, "routing", routing);
            with(with(case, "faults", faults), "seed", json!(seed))
        },
    )
}

fn few_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(8);
    ProptestConfig { cases: 40, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(few_cases())]

    /// That every byte comes once, and credits and packets are whole, is asserted in every run.
    #[test]
    fn whatever_is_lost_or_late_comes_in_the_end_and_the_oracle_agrees(case in lossy_case()) {
        let elided = run(&case);
        prop_assert!(
            matches!(elided.status, Status::Complete | Status::Failed), "{}", &elided.message
        );
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&elided), physics(&oracle));
    }
}

/// More connections than there are ever messages: a packet's way is its connection's.
#[test]
fn a_queue_pair_keeps_its_hashed_path_where_packets_are_numbered() {
    let work = json!([{"benchmark": "alltoall", "size_bytes": 9000}]);
    let case = scenario(tree(16, 4, 3, RATE, 20_000), work);
    let case = with(case, "routing", json!({"engine": "ecmp"}));
    let case = with(case, "transport", json!({}));
    let later = json!([{"link": "n001/hca0[1]", "lost": 1, "from_ns": 1e12}]);
    let (plain, numbered) = (run(&case), run(&with(case, "faults", later)));
    assert_eq!(plain.rows, numbered.rows);
    assert_eq!(plain.trace_hash, numbered.trace_hash);
}
