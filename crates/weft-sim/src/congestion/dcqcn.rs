//! A law of rates as DCQCN's: a notification cuts the rate by a share that follows how often they
//! come; time and bytes bring it back.
//!
//! SOURCE: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015),
//! section 5. HCAs differ from it in details that no vendor publishes.

use super::defaults::{Sent, within_share};
use super::law::{Congestion, CongestionLaw, Idle, Notice, Surroundings};
use super::marking::{MAX_FULL_BYTES, Marking, VictimMask};
use crate::error::SimError;
use crate::limits::{BLOCK_BYTES, within};
use crate::settings::settings;

/// Usual times, for links of 200 Gb/s.
const CNP_INTERVAL_NS: u64 = 25_000;
const ALPHA_TIMER_NS: u64 = 70_000;
const INCREASE_TIMER_NS: u64 = 15_000;
/// Usual rates of such links.
const ADDITIVE_BITS_PER_S: u64 = 150_000_000;
const HYPER_BITS_PER_S: u64 = 500_000_000;
const LEAST_BITS_PER_S: u64 = 40_000_000;

/// The estimate of a queue pair that has not sent anything is not brought down.
const NOT_BEGUN: u64 = u64::MAX;
/// Rounds of increase are counted up to this.
const MOST_ROUNDS: u32 = 1 << 20;

settings! {
    /// Rates that notifications cut.
    ///
    /// SOURCE: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015).
    #[serde(expecting = "settings by name, such as {}")]
    pub struct DcqcnDocument {
        /// Backlog of an output's lane from which on packets may be marked; half of
        /// `switch.buffer_bytes` without it.
        pub least_bytes: Option<u64> = None,
        /// Backlog from which on every packet is marked; one and a half times
        /// `switch.buffer_bytes` without it.
        pub most_bytes: Option<u64> = None,
        /// The chance of a mark just below that.
        pub probability: f64 = 0.1,
        /// Least time between two notifications of a queue pair.
        pub cnp_interval_ns: Option<f64> = None,
        /// The service level of notifications; the queue pair's own without it.
        pub cnp_service_level: Option<u8> = None,
        /// Weight of the newest notification in the estimate of congestion.
        pub gain: f64 = 1.0 / 16.0,
        /// The estimate before the first: half of it is the first cut.
        pub first_alpha: f64 = 0.07,
        /// Time without a notification after which the estimate falls.
        pub alpha_timer_ns: Option<f64> = None,
        /// Time after which a rate rises.
        pub increase_timer_ns: Option<f64> = None,
        /// Bytes after which it does.
        pub increase_bytes: u64 = 10_000_000,
        /// Rises towards the rate before the cut, until others follow.
        pub fast_rounds: u32 = 3,
        /// The rate that a rise adds then.
        pub additive_bits_per_s: Option<u64> = None,
        /// The rate that it adds when both time and bytes have brought so many.
        pub hyper_bits_per_s: Option<u64> = None,
        /// The least rate.
        pub least_bits_per_s: Option<u64> = None,
    }
}

/// How a rate is cut and brought back, in shares of the link's rate.
#[derive(Clone, Debug)]
pub(crate) struct Dcqcn {
    gain: f64,
    /// The estimate of a queue pair that begins.
    first_alpha: f64,
    alpha_ps: u64,
    increase_ps: u64,
    increase_bytes: u64,
    fast_rounds: u32,
    additive_bits_per_s: u64,
    hyper_bits_per_s: u64,
    least_bits_per_s: u64,
}

/// The rate of a queue pair.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    /// Now, and before it was last cut (plus what was added since).
    now: f64,
    target: f64,
    /// Estimate of how congested its path is.
    alpha: f64,
    /// When that was last brought down; it begins with the queue pair's first packet.
    alpha_ps: u64,
    /// When the timer of increase last ran out, and how often since the last cut.
    timer_ps: u64,
    n_timer: u32,
    /// Bytes sent since the counter last ran out, and how often it did.
    bytes: u64,
    n_bytes: u32,
}

impl Dcqcn {
    fn new(knobs: &DcqcnDocument, around: &Surroundings<'_>) -> Result<Dcqcn, SimError> {
        let Surroundings { place, usual, .. } = *around;
        let time = |key: &str, written_ns: Option<f64>, usual_ns: u64| {
            usual.some_ps((place, key), written_ns, usual_ns)
        };
        let rate = |key: &str, written: Option<u64>, usual_rate: u64| {
            usual.bits_per_s((place, key), written, usual_rate)
        };
        within_share(place, "gain", knobs.gain)?;
        within_share(place, "first_alpha", knobs.first_alpha)?;
        within(place, "increase_bytes", knobs.increase_bytes, 1, 1 << 40)?;
        within(place, "fast_rounds", knobs.fast_rounds.into(), 0, 1000)?;
        Ok(Dcqcn {
            gain: knobs.gain,
            first_alpha: knobs.first_alpha,
            alpha_ps: time("alpha_timer_ns", knobs.alpha_timer_ns, ALPHA_TIMER_NS)?,
            increase_ps: time("increase_timer_ns", knobs.increase_timer_ns, INCREASE_TIMER_NS)?,
            increase_bytes: knobs.increase_bytes,
            fast_rounds: knobs.fast_rounds,
            additive_bits_per_s: rate(
                "additive_bits_per_s",
                knobs.additive_bits_per_s,
                ADDITIVE_BITS_PER_S,
            )?,
            hyper_bits_per_s: rate("hyper_bits_per_s", knobs.hyper_bits_per_s, HYPER_BITS_PER_S)?,
            least_bits_per_s: rate("least_bits_per_s", knobs.least_bits_per_s, LEAST_BITS_PER_S)?,
        })
    }

    /// When its switches mark a packet.
    fn marking(knobs: &DcqcnDocument, around: &Surroundings<'_>) -> Result<Marking, SimError> {
        let (place, buffer_bytes) = (around.place, around.buffer_bytes.min(MAX_FULL_BYTES / 3));
        let least_bytes = knobs.least_bytes.unwrap_or(buffer_bytes / 2);
        let most_bytes = knobs.most_bytes.unwrap_or(buffer_bytes / 2 * 3);
        within(place, "least_bytes", least_bytes, BLOCK_BYTES, MAX_FULL_BYTES)?;
        within(place, "most_bytes", most_bytes, least_bytes, MAX_FULL_BYTES)?;
        within_share(place, "probability", knobs.probability)?;
        Ok(Marking {
            threshold_blocks: (least_bytes / BLOCK_BYTES) as u32,
            certain_blocks: (most_bytes / BLOCK_BYTES) as u32,
            chance: (knobs.probability * (1u64 << 32) as f64) as u64,
            rate: 0,
            least_blocks: 0,
            victim_mask: VictimMask::All,
        })
    }

    /// Let what timers do by now be done.
    fn settle(&self, rate: &mut Rate, now_ps: u64, link_bits_per_s: u64) {
        if rate.alpha_ps == NOT_BEGUN {
            (rate.alpha_ps, rate.timer_ps) = (now_ps, now_ps);
        }
        let n_alpha = (now_ps - rate.alpha_ps) / self.alpha_ps;
        if n_alpha > 0 {
            rate.alpha *= (1.0 - self.gain).powi(n_alpha.min(1 << 16) as i32);
            rate.alpha_ps += n_alpha * self.alpha_ps;
        }
        while rate.now < 1.0 && rate.timer_ps + self.increase_ps <= now_ps {
            rate.timer_ps += self.increase_ps;
            rate.n_timer = (rate.n_timer + 1).min(MOST_ROUNDS);
            self.raise(rate, link_bits_per_s);
        }
        if rate.now >= 1.0 {
            rate.timer_ps = now_ps;
        }
    }

    /// One round of increase.
    fn raise(&self, rate: &mut Rate, link_bits_per_s: u64) {
        let (most, least) = (rate.n_timer.max(rate.n_bytes), rate.n_timer.min(rate.n_bytes));
        let added = if least > self.fast_rounds {
            self.hyper_bits_per_s
        } else if most > self.fast_rounds {
            self.additive_bits_per_s
        } else {
            0
        };
        rate.target = (rate.target + added as f64 / link_bits_per_s as f64).min(1.0);
        rate.now = (rate.now + rate.target) / 2.0;
        // Halving a distance never ends.
        if rate.now > 1.0 - 1e-6 {
            rate.now = 1.0;
        }
    }
}

impl CongestionLaw for Dcqcn {
    type Document = DcqcnDocument;
    type State = Rate;

    fn read(
        knobs: &DcqcnDocument,
        around: &Surroundings<'_>,
    ) -> Result<Congestion<Self>, SimError> {
        Ok(Congestion {
            marking: Dcqcn::marking(knobs, around)?,
            law: Dcqcn::new(knobs, around)?,
            by_lane: false,
            cnp_interval_ps: around.cnp_interval_ps(knobs.cnp_interval_ns, CNP_INTERVAL_NS)?,
            cnp_lane: around.lane("cnp_service_level", knobs.cnp_service_level)?,
            lanes: u16::MAX,
        })
    }

    fn begin(&self, _idle: Idle) -> Rate {
        Rate {
            now: 1.0,
            target: 1.0,
            alpha: self.first_alpha,
            alpha_ps: NOT_BEGUN,
            ..Rate::default()
        }
    }

    fn notified(&self, rate: &mut Rate, Notice { now_ps, link_bits_per_s, .. }: Notice) {
        self.settle(rate, now_ps, link_bits_per_s);
        let least = self.least_bits_per_s as f64 / link_bits_per_s as f64;
        rate.target = rate.now;
        rate.now = (rate.now * (1.0 - rate.alpha / 2.0)).max(least).min(1.0);
        rate.alpha += (1.0 - rate.alpha) * self.gain;
        (rate.alpha_ps, rate.timer_ps) = (now_ps, now_ps);
        (rate.n_timer, rate.n_bytes, rate.bytes) = (0, 0, 0);
    }

    fn delay_ps(&self, rate: &mut Rate, sent: Sent) -> u64 {
        self.settle(rate, sent.now_ps, sent.link_bits_per_s);
        if rate.now < 1.0 {
            rate.bytes += u64::from(sent.bytes);
            while rate.bytes >= self.increase_bytes {
                rate.bytes -= self.increase_bytes;
                rate.n_bytes = (rate.n_bytes + 1).min(MOST_ROUNDS);
                self.raise(rate, sent.link_bits_per_s);
            }
        }
        sent.delay_ps(rate.now)
    }
}
