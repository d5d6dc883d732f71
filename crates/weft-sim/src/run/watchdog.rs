//! The watchdog: a run in which nothing moves any more ends, even if timers or faults go on.

use crate::host::hosts::Hosts;
use crate::host::mode::Mode;
use crate::host::rank::Rank;
use crate::limits::NEVER;
use crate::model::scenario::ValidScenario;
use crate::run::job::Job;

/// How often the watchdog looks within the time that nothing may move.
const LOOKS: u64 = 4;

#[derive(Debug)]
pub(crate) struct Watch {
    /// From one look to the next.
    period_ps: u64,
    /// By tenant: what was seen at the last look, and for how many looks nothing has changed.
    seen: Vec<(u64, u64)>,
}

impl Watch {
    pub(crate) fn new(scenario: &ValidScenario) -> Watch {
        let seen = vec![(0, 0); scenario.tenants.len()];
        Watch { period_ps: scenario.stall_ps.div_ceil(LOOKS), seen }
    }

    /// When to look again, counted from the last look.
    pub(crate) fn period_ps(&self) -> u64 {
        self.period_ps
    }

    /// The number of a tenant of which no byte was delivered for so long, while it has work and no
    /// processor of it is busy.
    pub(crate) fn stalled<M: Mode<PLAIN>, const PLAIN: bool>(
        &mut self,
        hosts: &Hosts<'_, M, PLAIN>,
        jobs: &[Job<'_>],
    ) -> Option<usize> {
        let latency_ps = hosts.network.scenario.hosts.intra_latency_ps;
        let delivered = delivered(hosts, jobs.len());
        for (number, job) in jobs.iter().enumerate() {
            let Some(stage) = job.stage() else { continue };
            let members = || stage.members().iter().map(|rank| &hosts.ranks[*rank as usize]);
            let digest = members().fold(mix(delivered[number], job.n_begun()), |digest, rank| {
                mix(mix(digest, rank.index), rank.outstanding.into())
            });
            let results = stage.members().iter().map(|rank| M::progress_of(hosts, *rank));
            let digest = results.fold(digest, mix);
            let (before, n_same) = self.seen[number];
            // A message within a node is in flight until its channel is free, and a latency more.
            let here_ps = hosts.network.clock.now_ps.saturating_sub(latency_ps);
            let busy = |rank: &Rank| rank.wake_ps != NEVER || rank.channel_free_ps >= here_ps;
            let moves = digest != before || members().any(busy);
            self.seen[number] = (digest, if moves { 0 } else { n_same + 1 });
            if self.seen[number].1 >= LOOKS {
                return Some(number);
            }
        }
        None
    }
}

/// By tenant, a number that changes when a byte of one of its messages is delivered.
fn delivered<M: Mode<PLAIN>, const PLAIN: bool>(
    hosts: &Hosts<'_, M, PLAIN>,
    n_tenants: usize,
) -> Vec<u64> {
    let mut digests = vec![0; n_tenants];
    for message in hosts.network.endpoints.messages.slots() {
        let tenant = hosts.network.scenario.ranks[message.src as usize].tenant;
        let digest = &mut digests[tenant as usize];
        *digest = mix(*digest, message.received_bytes);
    }
    // Flows move all the time.
    for id in hosts.mode.moving() {
        let tenant =
            hosts.network.scenario.ranks[hosts.network.endpoints.messages[id].src as usize].tenant;
        digests[tenant as usize] = mix(digests[tenant as usize], hosts.network.clock.now_ps);
    }
    digests
}

/// FNV-1a over words.
pub(crate) fn mix(digest: u64, word: u64) -> u64 {
    (digest ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17)
}
