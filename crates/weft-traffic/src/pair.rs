//! Traffic of the two ranks of a pair: ping-pong, windows in one direction, windows in both.
//!
//! SOURCE: osu_latency, osu_bw, osu_bibw and osu_mbw_mr of the OSU Micro-Benchmarks.

use crate::error::TrafficError;
use crate::exchange::{Blocks, Exchange, Transfer};

/// Size of the acknowledgement that ends a window, as OSU's.
pub const ACK_BYTES: u64 = 4;
/// Messages in flight where a step does not set it, as OSU's.
pub const DEFAULT_WINDOW: u32 = 64;

/// The traffic of two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairTraffic {
    PingPong { size_bytes: u64 },
    Window { size_bytes: u64, window: u32 },
    BothWays { size_bytes: u64, window: u32 },
}

/// A rank's part in a phase of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) pair: u32,
    pub(crate) peer: u32,
    pub(crate) leads: bool,
}

impl PairTraffic {
    /// The `index`-th move of a rank with that role.
    pub(crate) fn exchange(self, role: Role, index: u64) -> Option<Exchange> {
        let message = |size_bytes| Transfer { peer: role.peer, size_bytes, blocks: Blocks::None };
        match self {
            PairTraffic::PingPong { size_bytes } => match index {
                0 | 1 if (index == 0) == role.leads => Some(Exchange::send(message(size_bytes))),
                0 | 1 => Some(Exchange::recv(message(size_bytes))),
                _ => None,
            },
            PairTraffic::Window { size_bytes, window } => {
                let window = u64::from(window);
                let (message, ack) = (message(size_bytes), message(ACK_BYTES));
                let (stream, answer) = if role.leads {
                    (Exchange::send(message), Exchange::recv(ack))
                } else {
                    (Exchange::recv(message), Exchange::send(ack))
                };
                match index {
                    _ if index + 1 < window => Some(stream.without_wait()),
                    _ if index < window => Some(stream),
                    _ if index == window => Some(answer),
                    _ => None,
                }
            }
            PairTraffic::BothWays { size_bytes, window } => {
                let both = Exchange::both(message(size_bytes), message(size_bytes));
                let last = index + 1 == u64::from(window);
                let posted = if last { both } else { both.without_wait() };
                (index < u64::from(window)).then_some(posted)
            }
        }
    }
}

pub(crate) fn roles(
    place: &str,
    n_ranks: u32,
    pairs: &[[u32; 2]],
) -> Result<Vec<Option<Role>>, TrafficError> {
    let mut roles = vec![None; n_ranks as usize];
    for (pair, [a, b]) in pairs.iter().copied().enumerate() {
        for (rank, peer, leads) in [(a, b, true), (b, a, false)] {
            let slot: &mut Option<Role> = roles.get_mut(rank as usize).ok_or_else(|| {
                let expected = format!("a rank below {n_ranks}");
                TrafficError::document(place, format!("there is no rank {rank}"), expected)
            })?;
            if slot.is_some() {
                let what = format!("rank {rank} is in two pairs");
                return Err(TrafficError::document(place, what, "every rank at most once"));
            }
            *slot = Some(Role { pair: pair as u32, peer, leads });
        }
    }
    Ok(roles)
}
