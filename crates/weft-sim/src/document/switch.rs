//! How switches work, as written.

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

/// How switches work.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchModel {
    /// How an input buffer is read.
    pub model: Queueing,
    /// When forwarding begins.
    pub forwarding: Forwarding,
    /// Time to route a packet.
    pub delay_ps: u64,
    /// Input buffer of each port and virtual lane, in whole blocks of 64 bytes.
    pub buffer_bytes: u64,
    /// `shared_buffer`: the largest part of an input buffer that packets for one output may hold.
    pub output_share: Option<f64>,
    /// How many times faster than its link an input buffer is read, all outputs together; without
    /// it, without limit.
    pub speedup: Option<f64>,
}

impl Default for SwitchModel {
    fn default() -> SwitchModel {
        SwitchModel {
            model: Queueing::Voq,
            forwarding: Forwarding::CutThrough,
            delay_ps: 200_000,
            buffer_bytes: 131_072,
            output_share: None,
            speedup: None,
        }
    }
}
