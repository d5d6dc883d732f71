//! How switches work, as written.

use crate::error::SimError;
use crate::limits::{BLOCK_BYTES, THOUSANDTHS};
use crate::settings::settings;
use serde::Deserialize;

/// How an input buffer is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queueing {
    /// A queue for each output: a packet waits only for its own output or for buffer space.
    #[default]
    Voq,
    /// One queue: a packet also waits for those before it.
    InputFifo,
    /// `voq`, but no output may hold more than its share of an input buffer.
    SharedBuffer,
    /// `voq` with buffers that never fill: no back-pressure at all.
    Infinite,
}

/// When a switch begins to forward a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// As soon as its head is routed; from its tail on where the egress is the faster link.
    #[default]
    CutThrough,
    /// When its tail is in.
    StoreAndForward,
}

settings! {
    /// How switches work.
    #[derive(Copy)]
    pub struct SwitchModel {
        /// How an input buffer is read.
        pub model: Queueing = Queueing::Voq,
        /// When forwarding begins.
        pub forwarding: Forwarding = Forwarding::CutThrough,
        /// Time to route a packet.
        pub delay_ps: u64 = 200_000,
        /// Input buffer of each port and virtual lane, in whole blocks of 64 bytes.
        pub buffer_bytes: u64 = 131_072,
        /// `shared_buffer`: the largest part of an input buffer that packets for one output may
        /// hold.
        pub output_share: Option<f64> = None,
        /// How many times faster than its link an input buffer is read, all outputs together;
        /// without it, without limit.
        pub speedup: Option<f64> = None,
    }
}

impl SwitchModel {
    /// The speed-up of the crossbar, where it has a limit.
    pub(crate) fn speedup_thousandths(&self) -> Option<u64> {
        self.speedup.map(|speedup| (speedup * THOUSANDTHS as f64).round() as u64)
    }

    /// The blocks of an input buffer that packets for one output may hold.
    pub(crate) fn share_blocks(&self) -> u32 {
        let share = self.output_share.unwrap_or(1.0);
        let blocks = (self.buffer_bytes / BLOCK_BYTES) as f64 * share;
        blocks.floor() as u32
    }

    /// Whether the model can be simulated, for packets of so many blocks at most.
    pub(crate) fn check(&self, largest_blocks: u32) -> Result<(), SimError> {
        if let Some(speedup) = self.speedup
            && !(0.1..=100.0).contains(&speedup)
        {
            let what = format!("a speed-up of {speedup}");
            return Err(SimError::document("switch.speedup", what, "from 0.1 to 100"));
        }
        let place = "switch.output_share";
        match (self.model, self.output_share) {
            (Queueing::SharedBuffer, None) => {
                let expected = "the part of a buffer that one output may hold, above 0, up to 1";
                Err(SimError::document(place, "it is missing", expected))
            }
            (Queueing::SharedBuffer, Some(share)) if !(share > 0.0 && share <= 1.0) => {
                Err(SimError::document(place, format!("a share of {share}"), "above 0, up to 1"))
            }
            (Queueing::SharedBuffer, Some(share)) if self.share_blocks() < largest_blocks => {
                let what = format!("a share of {share} holds no whole packet");
                let expected =
                    format!("at least {} bytes", u64::from(largest_blocks) * BLOCK_BYTES);
                Err(SimError::document(place, what, expected))
            }
            (Queueing::SharedBuffer, Some(_)) | (_, None) => Ok(()),
            (_, Some(_)) => {
                let what = "no buffer is shared";
                Err(SimError::document(place, what, "switch.model 'shared_buffer'"))
            }
        }
    }
}
