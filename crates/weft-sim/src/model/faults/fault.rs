//! One fault of the document, read: exactly one kind, with numbers that can be.

use crate::document::{CorrectedDocument, FaultDocument};
use crate::error::SimError;
use crate::model::host::{self, Noise};

/// Widest cable there is: 12x.
///
/// SOURCE: InfiniBand Architecture Specification volume 2, chapter 5 (link widths).
const MAX_LANES: u32 = 12;

/// What is broken, and how.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault<'d> {
    /// A cable, from the start or for a time.
    Link { link: &'d str, kind: LinkFault, span: Option<Span> },
    /// A node whose processors and HCAs are so many times slower.
    SlowNode { node: &'d str, factor: f64 },
    /// A node whose processors are interrupted.
    NoisyNode { node: &'d str, noise: Noise },
    /// A switch that sends packets for a node or HCA to that port.
    WrongRoute { switch: &'d str, dst: &'d str, port: u32 },
    /// One end each of two cables, in each other's places.
    Swapped { ends: &'d [String; 2] },
}

/// What a cable suffers, both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LinkFault {
    /// What is left of its rate.
    Rate(f64),
    /// Nothing passes.
    Down,
    /// Packets with an error that is corrected, at the cost of time on the link.
    Corrected {
        /// How many of 2^32 packets.
        chance: u64,
        /// How much longer the link is busy.
        cost_ps: u64,
    },
    /// How many of 2^32 packets vanish.
    Lost(u64),
}

/// When a fault holds. INVARIANT: `until_ps` is after `from_ps`, and `every_ps` longer than the
/// time between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from_ps: u64,
    pub(crate) until_ps: Option<u64>,
    pub(crate) every_ps: Option<u64>,
}

/// Keys that go together, the place first.
const KINDS: [&[&str]; 9] = [
    &["link", "rate_factor"],
    &["link", "lanes"],
    &["link", "down"],
    &["link", "corrected"],
    &["link", "lost"],
    &["node", "slow_factor"],
    &["node", "noise"],
    &["switch", "dst", "port"],
    &["swapped"],
];

const EXPECTED: &str = "link with one of rate_factor, lanes, down, corrected and lost; node with \
                        slow_factor or noise; switch with dst and port; or swapped";

/// Read a fault of the document.
pub(crate) fn read<'d>(place: &str, fault: &'d FaultDocument) -> Result<Fault<'d>, SimError> {
    let keys = keys_of(fault);
    if !KINDS.contains(&keys.as_slice()) {
        let what = format!("no such fault: {}", keys.join(" with "));
        return Err(SimError::document(place, what, EXPECTED));
    }
    let span = Span::read(place, fault)?;
    if span.is_some() && keys[0] != "link" {
        let what = format!("'{}' holds from the start", keys[0]);
        return Err(SimError::document(place, what, "no from_ns, until_ns or every_ns"));
    }
    Ok(match fault {
        FaultDocument { link: Some(link), .. } => {
            Fault::Link { link, kind: read_link(place, fault)?, span }
        }
        FaultDocument { node: Some(node), slow_factor: Some(factor), .. } => {
            Fault::SlowNode { node, factor: slow_factor(place, *factor)? }
        }
        FaultDocument { node: Some(node), noise: Some(noise), .. } => {
            Fault::NoisyNode { node, noise: Noise::read(&format!("{place}.noise"), noise)? }
        }
        FaultDocument { switch: Some(switch), dst: Some(dst), port: Some(port), .. } => {
            Fault::WrongRoute { switch, dst, port: *port }
        }
        FaultDocument { swapped: Some(ends), .. } => Fault::Swapped { ends },
        _ => unreachable!("one of the kinds above"),
    })
}

/// The keys that are given, the place first; times apart.
fn keys_of(fault: &FaultDocument) -> Vec<&'static str> {
    let given = [
        ("link", fault.link.is_some()),
        ("node", fault.node.is_some()),
        ("switch", fault.switch.is_some()),
        ("swapped", fault.swapped.is_some()),
        ("rate_factor", fault.rate_factor.is_some()),
        ("lanes", fault.lanes.is_some()),
        ("down", fault.down.is_some()),
        ("corrected", fault.corrected.is_some()),
        ("lost", fault.lost.is_some()),
        ("slow_factor", fault.slow_factor.is_some()),
        ("noise", fault.noise.is_some()),
        ("dst", fault.dst.is_some()),
        ("port", fault.port.is_some()),
    ];
    given.iter().filter(|(_, is_given)| *is_given).map(|(key, _)| *key).collect()
}

fn read_link(place: &str, fault: &FaultDocument) -> Result<LinkFault, SimError> {
    if let Some(factor) = fault.rate_factor {
        if !(factor > 0.0 && factor <= 1.0) {
            let what = format!("the factor is {factor}");
            let expected = "a number above 0, up to 1";
            return Err(SimError::document(format!("{place}.rate_factor"), what, expected));
        }
        return Ok(LinkFault::Rate(factor));
    }
    if let Some([left, all]) = fault.lanes {
        if left == 0 || left > all || all > MAX_LANES {
            let what = format!("{left} lanes of {all}");
            let expected = format!("[left, of how many], from 1 to {MAX_LANES}");
            return Err(SimError::document(format!("{place}.lanes"), what, expected));
        }
        return Ok(LinkFault::Rate(f64::from(left) / f64::from(all)));
    }
    if let Some(CorrectedDocument { probability, cost_ns }) = fault.corrected {
        let chance = chance(&format!("{place}.corrected.probability"), probability)?;
        let cost_ps = host::ps(&format!("{place}.corrected.cost_ns"), cost_ns)?;
        return Ok(LinkFault::Corrected { chance, cost_ps });
    }
    if let Some(probability) = fault.lost {
        return Ok(LinkFault::Lost(chance(&format!("{place}.lost"), probability)?));
    }
    match fault.down {
        Some(true) => Ok(LinkFault::Down),
        _ => Err(SimError::document(format!("{place}.down"), "it is false", "true")),
    }
}

/// A probability as so many of 2^32.
fn chance(place: &str, probability: f64) -> Result<u64, SimError> {
    if !(0.0..=1.0).contains(&probability) {
        let what = format!("the probability is {probability}");
        return Err(SimError::document(place, what, "a number from 0 to 1"));
    }
    Ok((probability * (1u64 << 32) as f64).round() as u64)
}

fn slow_factor(place: &str, factor: f64) -> Result<f64, SimError> {
    if !(1.0..=1000.0).contains(&factor) {
        let what = format!("the factor is {factor}");
        return Err(SimError::document(format!("{place}.slow_factor"), what, "from 1 to 1000"));
    }
    Ok(factor)
}

impl Span {
    fn read(place: &str, fault: &FaultDocument) -> Result<Option<Span>, SimError> {
        if fault.from_ns.is_none() && fault.until_ns.is_none() && fault.every_ns.is_none() {
            return Ok(None);
        }
        let time = |key: &str, ns: Option<f64>| {
            ns.map(|ns| host::ps(&format!("{place}.{key}"), ns)).transpose()
        };
        let span = Span {
            from_ps: time("from_ns", fault.from_ns)?.unwrap_or(0),
            until_ps: time("until_ns", fault.until_ns)?,
            every_ps: time("every_ns", fault.every_ns)?,
        };
        let refuse = |key: &str, what: &str, expected: &str| {
            Err(SimError::document(format!("{place}.{key}"), what, expected))
        };
        match (span.until_ps, span.every_ps) {
            (Some(until_ps), _) if until_ps <= span.from_ps => {
                refuse("until_ns", "it is over before it begins", "a time after from_ns")
            }
            (None, Some(_)) => {
                refuse("every_ns", "it never ends, so it cannot come again", "until_ns as well")
            }
            (Some(until_ps), Some(every_ps)) if every_ps <= until_ps - span.from_ps => {
                refuse("every_ns", "it comes again before it is over", "more than it lasts")
            }
            _ => Ok(Some(span)),
        }
    }
}

impl Span {
    /// Whether it holds at a time.
    pub(crate) fn holds(self, time_ps: u64) -> bool {
        let Some(since_ps) = time_ps.checked_sub(self.from_ps) else {
            return false;
        };
        let phase_ps = self.every_ps.map_or(since_ps, |every_ps| since_ps % every_ps);
        self.until_ps.is_none_or(|until_ps| phase_ps < until_ps - self.from_ps)
    }

    /// When it next begins or ends after a time; none if it stays as it is.
    pub(crate) fn next_edge(self, time_ps: u64) -> Option<u64> {
        let Some(since_ps) = time_ps.checked_sub(self.from_ps) else {
            return Some(self.from_ps);
        };
        let length_ps = self.until_ps? - self.from_ps;
        let round_ps = self.every_ps.map_or(0, |every_ps| since_ps - since_ps % every_ps);
        if since_ps - round_ps < length_ps {
            return Some(self.from_ps + round_ps + length_ps);
        }
        Some(self.from_ps + round_ps + self.every_ps?)
    }
}
