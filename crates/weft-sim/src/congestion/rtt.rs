//! A law of rates by round-trip time: a probe of each queue pair is under way; what it takes beyond
//! an idle network's time is queueing, held to a target.
//!
//! SOURCE: the form of Swift (Kumar et al., SIGCOMM 2020, section 3.1): additive increase below the
//! target, above it a decrease by the share of the excess, once a round trip. HCAs that measure
//! round trips run laws of their own, which nobody publishes.

use super::{rate_of, within_share};
use crate::document::RttDocument;
use crate::error::SimError;
use crate::host::ps;

/// How a rate follows the round-trip time, in shares of the link's rate.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    target_ps: u64,
    /// Least time from an answer to the next probe.
    pub(crate) probe_ps: u64,
    decrease: f64,
    most_decrease: f64,
    additive_bits_per_s: u64,
    rise_after: u32,
    rise: f64,
    least_bits_per_s: u64,
}

/// The rate of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    now: f64,
    /// Answers within the target, in a row.
    n_good: u32,
    /// No other cut before.
    cut_until_ps: u64,
    /// When the probe that is under way left, and whether one is.
    pub(crate) sent_ps: u64,
    pub(crate) probing: bool,
    /// No other probe before.
    pub(crate) next_ps: u64,
    /// The round trip of an idle network.
    pub(crate) base_ps: u64,
    /// Wire bytes sent since the last answer, and when that came.
    bytes: u64,
    since_ps: u64,
}

impl Rtt {
    pub(crate) fn new(place: &str, knobs: &RttDocument) -> Result<Rtt, SimError> {
        within_share(place, "decrease", knobs.decrease)?;
        within_share(place, "most_decrease", knobs.most_decrease)?;
        within_share(place, "rise", knobs.rise)?;
        Ok(Rtt {
            target_ps: ps(&format!("{place}.target_ns"), knobs.target_ns)?,
            probe_ps: ps(&format!("{place}.probe_interval_ns"), knobs.probe_interval_ns)?,
            decrease: knobs.decrease,
            most_decrease: knobs.most_decrease,
            additive_bits_per_s: rate_of(place, "additive_bits_per_s", knobs.additive_bits_per_s)?,
            rise_after: knobs.rise_after,
            rise: knobs.rise,
            least_bits_per_s: rate_of(place, "least_bits_per_s", knobs.least_bits_per_s)?,
        })
    }

    /// A queue pair whose way an idle network takes `base_ps` for, there and back.
    pub(crate) fn begin(&self, base_ps: u64) -> Rate {
        Rate {
            bytes: 0,
            since_ps: 0,
            now: 1.0,
            n_good: 0,
            cut_until_ps: 0,
            sent_ps: 0,
            probing: false,
            next_ps: 0,
            base_ps,
        }
    }

    /// A probe is back.
    pub(crate) fn told(&self, rate: &mut Rate, now_ps: u64, link_bits_per_s: u64) {
        let rtt_ps = now_ps - rate.sent_ps;
        let link = link_bits_per_s as f64;
        let sent_bits = (rate.bytes * 8) as f64;
        let achieved = sent_bits * 1e12 / (now_ps - rate.since_ps).max(1) as f64 / link;
        (rate.bytes, rate.since_ps, rate.probing) = (0, now_ps, false);
        rate.next_ps = now_ps + self.probe_ps;
        rate.base_ps = rate.base_ps.min(rtt_ps);
        let queued_ps = rtt_ps - rate.base_ps;
        if queued_ps <= self.target_ps {
            rate.n_good = rate.n_good.saturating_add(1);
            let added = self.additive_bits_per_s as f64 / link;
            let risen = if rate.n_good > self.rise_after { rate.now * self.rise } else { 0.0 };
            rate.now = (rate.now + added.max(risen)).min(1.0);
            return;
        }
        rate.n_good = 0;
        if now_ps >= rate.cut_until_ps {
            // Where nothing is dropped, what a sender gets rid of is its share of the bottleneck,
            // however much it would like to send.
            let share = rate.now.min(achieved);
            let excess = (queued_ps - self.target_ps) as f64 / queued_ps as f64;
            let kept = 1.0 - (self.decrease * excess).min(self.most_decrease);
            rate.now = (share * kept).max(self.least_bits_per_s as f64 / link).min(1.0);
            rate.cut_until_ps = now_ps + rtt_ps;
        }
    }

    pub(crate) fn rate(&self, rate: &mut Rate, bytes: u32) -> f64 {
        rate.bytes += u64::from(bytes);
        rate.now
    }
}
