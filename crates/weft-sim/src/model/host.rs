//! The host model in picoseconds: LogGP regimes, the HCA's gap, the channel inside a node, noise.

use crate::document::{
    HostDocument, Matching, MatchingDocument, NoiseDocument, Protocol, RegimeDocument,
};
use crate::error::SimError;
use crate::limits::{CLOCK_END_PS, MIN_BITS_PER_S, ps};
use rand_core::Rng;
use rand_pcg::Pcg32;

/// Most regimes of a host: a message carries the number of its own in a byte.
pub(crate) const MAX_REGIMES: usize = 255;

/// LogGP costs of messages up to a size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Regime {
    max_bytes: u64,
    /// How the two ends agree.
    pub protocol: Protocol,
    /// Processor time of a send.
    pub(crate) send: Cost,
    /// Processor time of a receive.
    pub(crate) recv: Cost,
    /// Time of a message that occupies neither processor nor link.
    pub(crate) latency: Cost,
    /// Least time from a message that leaves a rank to the next one.
    pub(crate) gap: Cost,
}

/// A cost that grows with the size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    fixed_ps: u64,
    ps_per_byte: f64,
}

impl Cost {
    const NONE: Cost = Cost { fixed_ps: 0, ps_per_byte: 0.0 };

    /// The costs of a message of that size.
    #[inline]
    pub(crate) fn ps(self, size_bytes: u64) -> u64 {
        if self.ps_per_byte == 0.0 {
            return self.fixed_ps;
        }
        self.fixed_ps + (self.ps_per_byte * size_bytes as f64).round() as u64
    }
}

/// The costs of every host.
#[derive(Clone, Debug)]
pub(crate) struct HostModel {
    /// Those of messages over the network; those of messages inside a node, if they differ; those
    /// of one-sided messages, if a tenant has them, by the sizes of the first.
    regimes: Vec<Regime>,
    n_of_network: usize,
    n_one_sided: usize,
    /// Least time between two messages that an HCA begins.
    pub message_gap_ps: u64,
    /// Time of flight between ranks of one node.
    pub intra_latency_ps: u64,
    /// Rate at which one rank copies to another of its node.
    pub intra_bits_per_s: u64,
    start_jitter_ps: u64,
    /// Interruptions of the processors.
    pub noise: Noise,
    pub(crate) matching: MatchingModel,
}

/// How a host matches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchingModel {
    pub(crate) by: Matching,
    /// Processor time for each entry that is looked at in vain.
    pub(crate) ps_per_entry: u64,
    /// Receives the HCA can hold.
    pub(crate) hardware_entries: u32,
}

impl MatchingModel {
    /// Processor time of a search that looks at so many entries in vain.
    pub(crate) fn search_ps(&self, n_looked: u32) -> u64 {
        self.ps_per_entry.saturating_mul(u64::from(n_looked)).min(CLOCK_END_PS)
    }
}

/// Interruptions of processors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Noise {
    /// Chance that a piece of processor time is interrupted.
    probability: f64,
    /// Mean length of an interruption (exponential).
    mean_ps: f64,
}

impl Noise {
    /// The noise of a document.
    pub(crate) fn read(place: &str, document: &NoiseDocument) -> Result<Noise, SimError> {
        if !(0.0..=1.0).contains(&document.probability) {
            let what = format!("the probability is {}", document.probability);
            return Err(SimError::document(place, what, "a number from 0 to 1"));
        }
        let mean_ps = ps(&format!("{place}.mean_ns"), document.mean_ns)? as f64;
        Ok(Noise { probability: document.probability, mean_ps })
    }

    /// Processor time with its interruptions.
    pub(crate) fn lengthen(self, ps: u64, random: &mut Pcg32) -> u64 {
        if self.probability == 0.0 || ps == 0 || unit(random) >= self.probability {
            return ps;
        }
        let drawn = -self.mean_ps * (1.0 - unit(random)).ln();
        ps + drawn.round() as u64
    }
}

impl HostModel {
    /// The model of a document; `one_sided`: of a scenario with such messages.
    pub(crate) fn new(document: &HostDocument, one_sided: bool) -> Result<HostModel, SimError> {
        if document.regimes.is_empty() {
            let what = "there is no regime";
            return Err(SimError::document("host.regimes", what, "at least one regime"));
        }
        let mut regimes = read_regimes("host.regimes", &document.regimes)?;
        let n_of_network = regimes.len();
        if let Some(intra) = &document.intra_node {
            regimes.append(&mut read_inner_regimes(&intra.regimes)?);
        }
        let n_one_sided = if one_sided { n_of_network } else { 0 };
        regimes.extend_from_within(..n_one_sided);
        let first = regimes.len() - n_one_sided;
        for regime in &mut regimes[first..] {
            (regime.send, regime.recv, regime.protocol) = (Cost::NONE, Cost::NONE, Protocol::Eager);
        }
        if regimes.len() > MAX_REGIMES {
            let what = format!("{} regimes", regimes.len());
            let more = if one_sided { ", those of one-sided messages among them" } else { "" };
            let expected = format!("at most {MAX_REGIMES}{more}");
            return Err(SimError::document("host.regimes", what, expected));
        }
        let noise = Noise::read("host.noise", &document.noise)?;
        let intra = document.intra_node.as_ref();
        let intra_bits_per_s = intra.map_or(u64::MAX, |intra| intra.bits_per_s);
        if intra_bits_per_s < MIN_BITS_PER_S {
            let what = format!("{intra_bits_per_s} bits a second");
            let place = "host.intra_node.bits_per_s";
            return Err(SimError::document(place, what, "at least 1 Mb/s"));
        }
        let latency_ns = intra.map_or(0.0, |intra| intra.latency_ns);
        Ok(HostModel {
            regimes,
            n_of_network,
            n_one_sided,
            message_gap_ps: ps("host.message_gap_ns", document.message_gap_ns)?,
            intra_latency_ps: ps("host.intra_node.latency_ns", latency_ns)?,
            intra_bits_per_s,
            start_jitter_ps: ps("host.start_jitter_ns", document.start_jitter_ns)?,
            noise,
            matching: read_matching(&document.matching)?,
        })
    }

    /// Whether no message and no interruption takes a processor's time, or keeps another back.
    pub(crate) fn cost_nothing(&self) -> bool {
        let free = |regime: &Regime| [regime.send, regime.recv, regime.gap] == [Cost::NONE; 3];
        self.noise.probability == 0.0 && self.regimes.iter().all(free)
    }

    /// The number of the regime for a size over the network; the last one covers everything above.
    pub(crate) fn regime_of(&self, size_bytes: u64) -> u8 {
        number_of(&self.regimes[..self.n_of_network], size_bytes) as u8
    }

    /// The same for a message over the channel inside a node.
    pub(crate) fn inner_regime_of(&self, size_bytes: u64) -> u8 {
        match &self.regimes[self.n_of_network..self.regimes.len() - self.n_one_sided] {
            [] => self.regime_of(size_bytes),
            inner => (self.n_of_network + number_of(inner, size_bytes)) as u8,
        }
    }

    /// The same for a message that no processor sends or receives: adapters write or read memory.
    pub(crate) fn one_sided_regime_of(&self, size_bytes: u64) -> u8 {
        let first = self.regimes.len() - self.n_one_sided;
        (first + number_of(&self.regimes[first..], size_bytes)) as u8
    }

    /// A regime by number.
    pub(crate) fn regime(&self, number: u8) -> &Regime {
        &self.regimes[number as usize]
    }

    /// Whether processors start late or are interrupted by chance.
    pub(crate) fn leaves_to_chance(&self) -> bool {
        self.start_jitter_ps > 0 || self.noise.probability > 0.0
    }

    /// How late a rank starts.
    pub(crate) fn jitter(&self, random: &mut Pcg32) -> u64 {
        if self.start_jitter_ps == 0 { 0 } else { random.next_u64() % (self.start_jitter_ps + 1) }
    }
}

/// A time on a node that is `slowness` times slower than it should be.
pub(crate) fn slowed(ps: u64, slowness: f64) -> u64 {
    let ps = if slowness == 1.0 { ps } else { (ps as f64 * slowness).round() as u64 };
    // Times beyond the clock are all the same.
    ps.min(CLOCK_END_PS)
}

/// Uniform in [0, 1).
fn unit(random: &mut Pcg32) -> f64 {
    f64::from(random.next_u32()) / (f64::from(u32::MAX) + 1.0)
}

fn read_matching(document: &MatchingDocument) -> Result<MatchingModel, SimError> {
    if document.by == Matching::Hardware && document.hardware_entries == 0 {
        let place = "host.matching.hardware_entries";
        return Err(SimError::document(place, "it is 0", "1 or more, or matching by software"));
    }
    Ok(MatchingModel {
        by: document.by,
        ps_per_entry: ps("host.matching.ns_per_entry", document.ns_per_entry)?,
        hardware_entries: document.hardware_entries,
    })
}

fn number_of(regimes: &[Regime], size_bytes: u64) -> usize {
    let found = regimes.iter().position(|regime| size_bytes <= regime.max_bytes);
    found.unwrap_or(regimes.len() - 1)
}

fn read_regimes(place: &str, documents: &[RegimeDocument]) -> Result<Vec<Regime>, SimError> {
    let mut regimes: Vec<Regime> = Vec::new();
    for (index, regime) in documents.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let regime = read_regime(&place, regime)?;
        if regimes.last().is_some_and(|last| last.max_bytes >= regime.max_bytes) {
            let what = "max_bytes does not rise";
            return Err(SimError::document(place, what, "regimes by rising max_bytes"));
        }
        regimes.push(regime);
    }
    Ok(regimes)
}

/// Regimes of the channel inside a node, which has a latency of its own and neither gaps nor
/// agreements.
fn read_inner_regimes(documents: &[RegimeDocument]) -> Result<Vec<Regime>, SimError> {
    let place = "host.intra_node.regimes";
    let regimes = read_regimes(place, documents)?;
    let has_more =
        |one: &Regime| one.protocol != Protocol::Eager || [one.latency, one.gap] != [Cost::NONE; 2];
    if let Some(index) = regimes.iter().position(has_more) {
        let what = "a latency, a gap or a rendezvous";
        let place = format!("{place}[{index}]");
        return Err(SimError::document(place, what, "processor times of sends and receives"));
    }
    Ok(regimes)
}

fn read_regime(place: &str, document: &RegimeDocument) -> Result<Regime, SimError> {
    let cost = |(key, ns): (&str, f64),
                (by_size, ns_per_byte): (&str, f64)|
     -> Result<_, SimError> {
        let fixed_ps = ps(&format!("{place}.{key}"), ns)?;
        Ok(Cost { fixed_ps, ps_per_byte: per_byte(&format!("{place}.{by_size}"), ns_per_byte)? })
    };
    Ok(Regime {
        max_bytes: document.max_bytes.unwrap_or(u64::MAX),
        protocol: document.protocol,
        send: cost(
            ("send_overhead_ns", document.send_overhead_ns),
            ("send_ns_per_byte", document.send_ns_per_byte),
        )?,
        recv: cost(
            ("recv_overhead_ns", document.recv_overhead_ns),
            ("recv_ns_per_byte", document.recv_ns_per_byte),
        )?,
        latency: cost(
            ("latency_ns", document.latency_ns),
            ("latency_ns_per_byte", document.latency_ns_per_byte),
        )?,
        gap: cost(("gap_ns", document.gap_ns), ("gap_ns_per_byte", document.gap_ns_per_byte))?,
    })
}

fn per_byte(place: &str, ns: f64) -> Result<f64, SimError> {
    if !(0.0..=1e3).contains(&ns) {
        let what = format!("{ns} is no such cost");
        return Err(SimError::document(place, what, "nanoseconds a byte from 0 to 1000"));
    }
    Ok(ns * 1000.0)
}
