//! Effective bisection bandwidth: what random halves of a machine get when they talk to each other.
//!
//! SOURCE: Hoefler, Schneider, Lumsdaine, "Multistage switches are not crossbars: effects of static
//! routing in high-performance networks" (Cluster 2008): each pair gets the share of the fullest
//! cable on its path; the mean over pairs, over many random matchings of two halves.

use super::load::{Counts, walk};
use super::net::{Net, SOCKETS};
use crate::subnet::End;
use serde::Serialize;

/// The effective bisection bandwidth, as a share of the rate of the end ports' own cables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bisection {
    /// Mean over matchings, 1 where nothing is shared.
    pub mean: f64,
    /// Standard error of that mean.
    pub standard_error: f64,
    /// The share of the worst and the best matching.
    pub least: f64,
    /// See `least`.
    pub most: f64,
    /// The share of every matching.
    pub shares: Vec<f64>,
}

/// The bisection bandwidth from `n_matchings` random ones of a seed; none with fewer than two end
/// ports. Both directions of every pair send at once. A pair without a path gets nothing.
pub fn bisection(net: &Net<'_>, n_matchings: u32, seed: u64) -> Option<Bisection> {
    let n = net.endports.len() as u32;
    if n < 2 || n_matchings == 0 {
        return None;
    }
    let rates = Rates::of(net);
    let mut counts = Counts::new(net);
    let mut shares = Vec::with_capacity(n_matchings as usize);
    for matching in 0..u64::from(n_matchings) {
        let order = shuffled(n, mixed(seed ^ mixed(matching)));
        let (half, other) = order.split_at(n as usize / 2);
        let pairs = || half.iter().zip(other).flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        for (src, dst) in pairs() {
            counts.add(net, src, dst);
        }
        let total: f64 = pairs().map(|(src, dst)| share(net, &rates, &counts, src, dst)).sum();
        shares.push(total / (2 * half.len()) as f64);
        counts.clear();
    }
    let n = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / n;
    let spread = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>();
    Some(Bisection {
        mean,
        standard_error: if n > 1.0 { (spread / (n - 1.0) / n).sqrt() } else { f64::NAN },
        least: shares.iter().copied().fold(f64::INFINITY, f64::min),
        most: shares.iter().copied().fold(0.0, f64::max),
        shares,
    })
}

/// Data rates in bits a second; all 1 where a file leaves some rate open.
struct Rates {
    /// By switch and port.
    switches: Vec<f64>,
    /// By end port.
    endports: Vec<f64>,
}

impl Rates {
    fn of(net: &Net<'_>) -> Rates {
        let cabled = |end: End| net.subnet.port(end).filter(|port| port.peer.is_some());
        let rate =
            |end: End| cabled(end).map_or(Some(1.0), |port| Some(port.rate?.data_rate().0 as f64));
        let ports = (0..net.n_switches() as u32)
            .flat_map(|switch| (0..=u8::MAX).map(move |port| (switch, port)));
        let switches: Option<Vec<f64>> =
            ports.map(|(switch, port)| rate(net.end(switch, port))).collect();
        let endports: Option<Vec<f64>> = net.endports.iter().map(|it| rate(it.end)).collect();
        match (switches, endports) {
            (Some(switches), Some(endports)) => Rates { switches, endports },
            _ => Rates {
                switches: vec![1.0; net.n_switches() * SOCKETS],
                endports: vec![1.0; net.endports.len()],
            },
        }
    }
}

/// The share of a pair in the rate of its slower end.
fn share(net: &Net<'_>, rates: &Rates, counts: &Counts, src: u32, dst: u32) -> f64 {
    let wanted = rates.endports[src as usize].min(rates.endports[dst as usize]);
    let mut least = wanted;
    let arrives = walk(net, src, dst, |index| {
        least = least.min(rates.switches[index] / f64::from(counts.paths[index]));
    });
    if arrives { least / wanted } else { 0.0 }
}

/// 0 .. n in the order of a seed: Fisher and Yates.
fn shuffled(n: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    for last in (1..n as usize).rev() {
        let other = mixed(seed.wrapping_add(last as u64)) % (last as u64 + 1);
        order.swap(last, other as usize);
    }
    order
}

/// A 64-bit number with its bits well mixed.
///
/// SOURCE: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn mixed(key: u64) -> u64 {
    let key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}
