//! A law of windows by round-trip time: each queue pair has a probe in flight, and the probe's
//! round trip sets how many bytes may be in flight.
//!
//! SOURCE: the form of FAST TCP (Wei, Jin, Low, Hegde, IEEE/ACM Transactions on Networking 14(6),
//! 2006, section IV): a window follows the ratio of the round trip that is wanted to the one that
//! is found, so that far from the target it moves far and near it hardly. A window and not a rate,
//! as in Swift (Kumar et al., SIGCOMM 2020). A sender that waits for an answer sends less and less
//! meanwhile; one that others held up sends as before afterwards. HCAs that measure round trips run
//! laws that no vendor publishes.

use super::defaults::{Sent, within_share};
use super::law::{Congestion, CongestionLaw, Idle, Notice, Surroundings};
use crate::error::SimError;
use crate::limits::within;
use crate::settings::settings;

/// Usual times, for links of 200 Gb/s.
const TARGET_NS: u64 = 2_000;
const PROBE_INTERVAL_NS: u64 = 4_000;
/// The usual least rate of such a link.
const LEAST_BITS_PER_S: u64 = 160_000_000;
/// While an answer is late, a packet waits for at most so many wanted round trips.
const LONGEST: f64 = 4.0;
/// A sender that was silent for so many wanted round trips begins anew.
const FORGETS: f64 = 16.0;

/// Largest of the largest windows, in round trips.
const MOST: f64 = 1000.0;

settings! {
    /// Windows that follow the round-trip time.
    #[serde(expecting = "settings by name, such as {}")]
    pub struct RttDocument {
        /// Queueing there and back that is wanted, beyond one packet for each link.
        pub target_ns: Option<f64> = None,
        /// Time from an answer to the next probe of a queue pair.
        pub probe_interval_ns: Option<f64> = None,
        /// The service level of answers; the queue pair's own without it.
        pub answer_service_level: Option<u8> = None,
        /// How much of its distance to the target a window goes with an answer.
        pub gain: f64 = 0.2,
        /// The largest part of a window that an answer takes away.
        pub most_decrease: f64 = 0.8,
        /// The largest window, in round trips with the target's queueing.
        pub most: f64 = 6.0,
        /// The bytes that each answer adds to a window.
        pub additive_bytes: u64 = 32,
        /// The least rate.
        pub least_bits_per_s: Option<u64> = None,
    }
}

/// How a window follows the round-trip time.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    target_ps: u64,
    /// Least time from an answer to the next probe.
    probe_ps: u64,
    gain: f64,
    most_decrease: f64,
    most: f64,
    additive_bytes: u64,
    least_bits_per_s: u64,
}

/// The window of a queue pair.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    /// In ps of its link's time.
    span_ps: f64,
    /// The time that the last probe took.
    rtt_ps: u64,
    /// When the probe in flight left, and whether one is in flight.
    pub(crate) sent_ps: u64,
    probing: bool,
    /// No other probe before, nor before a whole packet's bytes: who sends little shows little.
    next_ps: u64,
    unprobed_bytes: u32,
    /// The round trip of an idle network.
    idle: Idle,
}

impl Rtt {
    fn new(knobs: &RttDocument, around: &Surroundings<'_>) -> Result<Rtt, SimError> {
        let Surroundings { place, usual, .. } = *around;
        within_share(place, "gain", knobs.gain)?;
        within_share(place, "most_decrease", knobs.most_decrease)?;
        within(place, "additive_bytes", knobs.additive_bytes, 0, 1 << 40)?;
        if !(1.0..=MOST).contains(&knobs.most) {
            let (place, what) = (format!("{place}.most"), format!("it is {}", knobs.most));
            return Err(SimError::document(place, what, format!("1 to {MOST} round trips")));
        }
        Ok(Rtt {
            target_ps: usual.ps((place, "target_ns"), knobs.target_ns, TARGET_NS)?,
            probe_ps: usual.ps(
                (place, "probe_interval_ns"),
                knobs.probe_interval_ns,
                PROBE_INTERVAL_NS,
            )?,
            gain: knobs.gain,
            most_decrease: knobs.most_decrease,
            most: knobs.most,
            additive_bytes: knobs.additive_bytes,
            least_bits_per_s: usual.bits_per_s(
                (place, "least_bits_per_s"),
                knobs.least_bits_per_s,
                LEAST_BITS_PER_S,
            )?,
        })
    }

    /// The round trip that is wanted.
    fn wanted_ps(&self, idle: Idle) -> f64 {
        idle.whole_ps() as f64 + self.target_ps as f64
    }

    /// The share of its link that a queue pair may have that sends a packet: its window in a round
    /// trip; less than twice the window in all for as long as the answer does not come, beyond a
    /// packet every four wanted round trips.
    fn rate(&self, window: &mut Window, sent: Sent) -> f64 {
        window.unprobed_bytes = window.unprobed_bytes.saturating_add(sent.bytes);
        if !window.probing && sent.idle_ps as f64 > FORGETS * self.wanted_ps(window.idle) {
            window.span_ps = self.most * self.wanted_ps(window.idle);
            window.rtt_ps = window.idle.whole_ps();
        }
        let rtt_ps = window.rtt_ps.max(window.idle.whole_ps()) as f64;
        let waits_ps = if window.probing { sent.now_ps - window.sent_ps } else { 0 };
        let late = (waits_ps as f64 / rtt_ps).max(1.0);
        let share = window.span_ps / rtt_ps;
        // An answer that comes does not wake who waits already.
        let longest_ps = LONGEST * self.wanted_ps(window.idle);
        let least_late = share.min(sent.duration_ps as f64 / longest_ps);
        let least = self.least_bits_per_s as f64 / sent.link_bits_per_s as f64;
        (share / (late * late)).max(least_late).max(least)
    }
}

impl CongestionLaw for Rtt {
    type Document = RttDocument;
    type State = Window;

    fn read(knobs: &RttDocument, around: &Surroundings<'_>) -> Result<Congestion<Self>, SimError> {
        if around.detours {
            let what = "a packet on a detour is late, and nothing waits";
            let expected = "routing.adaptive.non_minimal 'none', or another law";
            return Err(SimError::document(around.place, what, expected));
        }
        let law = Rtt::new(knobs, around)?;
        let lane = around.lane("answer_service_level", knobs.answer_service_level)?;
        Ok(Congestion::without_marks(law, lane))
    }

    fn begin(&self, idle: Idle) -> Window {
        let (span_ps, rtt_ps) = (self.most * self.wanted_ps(idle), idle.whole_ps());
        Window { span_ps, rtt_ps, idle, ..Window::default() }
    }

    /// A probe is back.
    fn notified(&self, window: &mut Window, Notice { now_ps, link_bits_per_s, .. }: Notice) {
        let rtt_ps = (now_ps - window.sent_ps).max(1);
        (window.rtt_ps, window.probing, window.next_ps) = (rtt_ps, false, now_ps + self.probe_ps);
        window.idle.base_ps = window.idle.base_ps.min(rtt_ps);
        let wanted_ps = self.wanted_ps(window.idle);
        let excess = rtt_ps as f64 / wanted_ps - 1.0;
        let kept = (1.0 / (1.0 + self.gain * excess)).max(1.0 - self.most_decrease);
        let added_ps = self.additive_bytes as f64 * 8e12 / link_bits_per_s as f64;
        let span_ps = window.span_ps * kept + added_ps;
        window.span_ps = span_ps.min(self.most * wanted_ps);
    }

    fn delay_ps(&self, window: &mut Window, sent: Sent) -> u64 {
        sent.delay_ps(self.rate(window, sent))
    }
}

impl Window {
    pub(crate) fn wants_probe(&self, now_ps: u64, packet_bytes: u32) -> bool {
        !self.probing && self.next_ps <= now_ps && self.unprobed_bytes >= packet_bytes
    }

    pub(crate) fn begin_probe(&mut self, now_ps: u64) {
        (self.probing, self.sent_ps, self.unprobed_bytes) = (true, now_ps, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::{CongestionLaw, Idle, Notice, Rtt, RttDocument, Sent, Window};
    use crate::congestion::defaults::tests::HERE;

    const LINK: u64 = 100_000_000_000;
    /// With the packets of its path, 6 us.
    const IDLE: Idle = Idle { base_ps: 5_000_000, packets_ps: 1_000_000 };

    fn law(gain: f64) -> Rtt {
        let knobs = RttDocument {
            target_ns: Some(2000.0),
            gain,
            most: 1.0,
            most_decrease: 1.0,
            additive_bytes: 0,
            least_bits_per_s: Some(1_000_000),
            ..RttDocument::default()
        };
        Rtt::new(&knobs, &HERE).expect("knobs that can be")
    }

    fn answered(law: &Rtt, window: &mut Window, now_ps: u64) {
        law.notified(window, Notice { now_ps, link_bits_per_s: LINK, argument: 0 });
    }

    fn share(law: &Rtt, window: &mut Window, now_ps: u64) -> f64 {
        let (bytes, duration_ps, idle_ps) = (0, 0, 0);
        law.rate(window, Sent { now_ps, idle_ps, bytes, duration_ps, link_bits_per_s: LINK })
    }

    #[test]
    fn a_window_goes_to_the_target_by_its_gain() {
        // The target's round trip is 8 us.
        for (rtt_us, gain, kept) in
            [(8, 1.0, 1.0), (16, 1.0, 0.5), (16, 0.5, 1.0 / 1.5), (800, 1.0, 0.01)]
        {
            let law = law(gain);
            let mut window = law.begin(IDLE);
            answered(&law, &mut window, rtt_us * 1_000_000);
            let expected = 8.0 * kept / rtt_us as f64;
            let found = share(&law, &mut window, rtt_us * 1_000_000);
            assert!((found / expected - 1.0).abs() < 1e-9, "{rtt_us} us: {found}");
        }
    }

    #[test]
    fn a_late_answer_holds_a_packet_for_four_wanted_round_trips_at_most() {
        let law = law(1.0);
        let mut window = law.begin(IDLE);
        answered(&law, &mut window, 8_000_000);
        window.begin_probe(8_000_000);
        let duration_ps = 300_000;
        let now_ps = 8_000_000_000;
        let sent = Sent { now_ps, idle_ps: 0, bytes: 0, duration_ps, link_bits_per_s: LINK };
        let wait_ps = duration_ps as f64 / law.rate(&mut window, sent);
        assert!((wait_ps / (4.0 * 8e6) - 1.0).abs() < 1e-9, "{wait_ps}");
    }

    #[test]
    fn a_window_is_forgotten_after_a_pause_and_not_before() {
        let law = law(1.0);
        let mut window = law.begin(IDLE);
        let fresh = share(&law, &mut window, 0);
        answered(&law, &mut window, 800_000_000);
        let mut after = |idle_ps: u64| {
            let (now_ps, bytes, duration_ps) = (900_000_000, 0, 0);
            law.rate(
                &mut window,
                Sent { now_ps, idle_ps, bytes, duration_ps, link_bits_per_s: LINK },
            )
        };
        assert!(after(15 * 8_000_000) < fresh / 50.0);
        assert_eq!(after(17 * 8_000_000), fresh);
    }

    #[test]
    fn a_probe_follows_a_whole_packets_bytes() {
        let law = law(1.0);
        let mut window = law.begin(IDLE);
        for n in 1..=3 {
            let (now_ps, idle_ps, bytes, duration_ps) = (0, 0, 1500, 0);
            law.rate(
                &mut window,
                Sent { now_ps, idle_ps, bytes, duration_ps, link_bits_per_s: LINK },
            );
            assert_eq!(window.wants_probe(0, 4096), n == 3);
        }
        window.begin_probe(0);
        assert!(!window.wants_probe(1_000_000_000, 4096), "one is in flight");
    }

    #[test]
    fn who_waits_for_an_answer_sends_less_than_twice_the_window() {
        let law = law(1.0);
        let mut window = law.begin(IDLE);
        answered(&law, &mut window, 8_000_000);
        (window.probing, window.sent_ps) = (true, 8_000_000);
        let step_ps = 10_000;
        let shares = (1..10_000).map(|n| share(&law, &mut window, 8_000_000 + n * step_ps));
        let sent_ps: f64 = shares.map(|share| share * step_ps as f64).sum();
        assert!(sent_ps > 1.5 * 8e6 && sent_ps < 2.0 * 8e6, "{sent_ps}");
    }
}
