//! Rates after whatever begins and ends.

use crate::flow::max_min::{FairShares, Flow, Use};

const G: f64 = 1e9;

fn shares(capacities: &[f64]) -> FairShares {
    FairShares::new(capacities.iter().copied())
}

fn begin(shares: &mut FairShares, links: &[u32]) -> u32 {
    shares.begin(&links.iter().map(|link| Use::new(*link, 1.0)).collect::<Vec<_>>()).0
}

fn solved(shares: &mut FairShares) -> Vec<u32> {
    let mut changed = Vec::new();
    shares.solve(&mut changed);
    changed.sort_unstable();
    changed
}

/// Every flow has a link that is full and on which no flow is faster.
fn assert_fair(shares: &FairShares) {
    let is_fair = |flow: &Flow| {
        flow.uses.iter().any(|each| {
            let link = &shares.links[each.link as usize];
            let flows = || link.crossing.iter().map(|(id, _)| &shares.flows[*id as usize]);
            let on = |flow: &Flow| {
                flow.uses.iter().find(|other| other.link == each.link).unwrap().weight
            };
            let load: f64 = flows().map(|flow| flow.rate * on(flow)).sum();
            let full = (load / link.capacity - 1.0).abs() < 1e-8;
            full && flows().all(|other| other.rate <= flow.rate * (1.0 + 1e-8))
        })
    };
    for flow in shares.flows.iter().filter(|flow| !flow.uses.is_empty()) {
        assert!(is_fair(flow), "{flow:?}");
    }
}

#[test]
fn a_flow_alone_has_the_least_of_its_links_at_once() {
    let mut shares = shares(&[3.0 * G, 2.0 * G, 5.0 * G]);
    let flow = begin(&mut shares, &[0, 1, 2]);
    assert!(!shares.is_dirty());
    assert_eq!(shares.flows[flow as usize].rate, 2.0 * G);
}

#[test]
fn what_is_left_of_a_link_is_for_whoever_is_held_up_by_nothing_else() {
    let mut shares = shares(&[10.0 * G, 2.0 * G]);
    begin(&mut shares, &[0, 1]);
    let second = begin(&mut shares, &[0]);
    assert!(!shares.is_dirty(), "it takes nothing from the first");
    assert_eq!(shares.flows[second as usize].rate, 8.0 * G);
    begin(&mut shares, &[0]);
    assert_eq!(solved(&mut shares), [1, 2]);
    assert_eq!(shares.flows.iter().map(|f| f.rate / G).collect::<Vec<_>>(), [2.0, 4.0, 4.0]);
    shares.end(0);
    assert_eq!(solved(&mut shares), [1, 2]);
    assert_eq!(shares.flows[1].rate, 5.0 * G);
}

#[test]
fn flows_that_share_nothing_full_are_left_alone() {
    let mut shares = shares(&[G, G, 9.0 * G]);
    begin(&mut shares, &[0, 2]);
    begin(&mut shares, &[1, 2]);
    begin(&mut shares, &[1, 2]);
    assert_eq!(solved(&mut shares), [1, 2]);
    assert_fair(&shares);
}

#[test]
fn split_flows_share_links_by_what_crosses_them() {
    let mut shares = shares(&[4.0 * G, G, G, 4.0 * G]);
    let split = [(0, 1.0), (1, 0.5), (2, 0.5), (3, 1.0)];
    shares.begin(&split.map(|(link, weight)| Use::new(link, weight)));
    assert_eq!(shares.flows[0].rate, 2.0 * G);
    begin(&mut shares, &[1]);
    solved(&mut shares);
    // Half of the first and all of the second: r / 2 + r = 1.
    assert!((shares.flows[0].rate / G - 2.0 / 3.0).abs() < 1e-9);
    assert_fair(&shares);
}

/// Random beginnings and ends; after each batch all is fair, whatever was left alone.
#[test]
fn whatever_begins_and_ends_the_rates_are_max_min() {
    let mut seed = 7u64;
    let mut draw = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % n
    };
    for _ in 0..60 {
        let capacities: Vec<f64> = (0..12).map(|_| (1 + draw(4)) as f64 * G).collect();
        let mut shares = shares(&capacities);
        let mut live = Vec::new();
        for _ in 0..120 {
            for _ in 0..=draw(4) {
                if live.len() > 3 && draw(2) == 0 {
                    shares.end(live.swap_remove(draw(live.len() as u64) as usize));
                    continue;
                }
                let first = draw(12) as u32;
                let n = 1 + draw(5) as u32;
                let links: Vec<u32> = (0..n).map(|k| (first + 5 * k) % 12).collect();
                live.push(begin(&mut shares, &links));
            }
            solved(&mut shares);
            assert_fair(&shares);
        }
    }
}
