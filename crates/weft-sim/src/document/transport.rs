//! The reliable transport, as written.

use serde::{Deserialize, Serialize};

/// How ranks are connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransportKind {
    /// Every two ranks have a connection of their own (RC).
    #[default]
    Rc,
    /// A rank has a few initiators, each connected to one target at a time (DCT).
    Dct,
}

/// What dynamically connected transport costs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DctDocument {
    /// Initiators of a rank, on each virtual lane.
    pub initiators: u32,
    /// What an initiator takes to turn to another target.
    pub reconnect_ns: f64,
}

impl Default for DctDocument {
    fn default() -> DctDocument {
        // Both assumed: the first a tuning of libraries, the second about a small message's
        // latency.
        DctDocument { initiators: 8, reconnect_ns: 1000.0 }
    }
}

/// What the reliable connection (RC) between two ranks costs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TransportDocument {
    /// How ranks are connected.
    pub kind: TransportKind,
    /// Of dynamically connected transport.
    pub dct: Option<DctDocument>,
    /// Whether receivers acknowledge: the last packet of a message, and every `ack_every`-th. A
    /// send then completes with its acknowledgement, else when its last packet has left. They do
    /// without it.
    pub acknowledge: Option<bool>,
    /// Packets of a message between two acknowledgements.
    pub ack_every: u32,
    /// A sender repeats what is not acknowledged after 4.096 us x 2^n.
    pub timeout_exponent: u8,
    /// How often in a row, before the connection breaks (a failed outcome).
    pub retries: u8,
    /// Processor time that a packet costs its receiver where one sent later came before it.
    pub out_of_order_ns: f64,
}

impl Default for TransportDocument {
    fn default() -> TransportDocument {
        TransportDocument {
            kind: TransportKind::Rc,
            dct: None,
            acknowledge: None,
            // SOURCE: Linux, drivers/infiniband/hw/mlx5/qp.c: MLX5_IB_ACK_REQ_FREQ, 2^8 packets.
            ack_every: 256,
            timeout_exponent: 20,
            retries: 7,
            out_of_order_ns: 0.0,
        }
    }
}
