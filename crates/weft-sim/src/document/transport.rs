//! The reliable transport, as written.

use crate::settings::settings;
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

settings! {
    /// Costs of dynamically connected transport.
    #[derive(Copy)]
    // Both assumed: the first a tuning of libraries, the second about a small message's latency.
    pub struct DctDocument {
        /// Initiators of a rank, on each virtual lane.
        pub initiators: u32 = 8,
        /// Time that an initiator takes to turn to another target.
        pub reconnect_ns: f64 = 1000.0,
    }
}

settings! {
    /// Costs of the reliable connection (RC) between two ranks.
    #[derive(Copy)]
    pub struct TransportDocument {
        /// How ranks are connected.
        pub kind: TransportKind = TransportKind::Rc,
        /// Of dynamically connected transport.
        pub dct: Option<DctDocument> = None,
        /// Whether receivers acknowledge: the last packet of a message, and every `ack_every`-th. A
        /// send then completes with its acknowledgement, else when its last packet has left. They
        /// do without it.
        pub acknowledge: Option<bool> = None,
        /// Packets of a message between two acknowledgements.
        // SOURCE: Linux, drivers/infiniband/hw/mlx5/qp.c: MLX5_IB_ACK_REQ_FREQ, 2^8 packets.
        pub ack_every: u32 = 256,
        /// A sender repeats what is not acknowledged after 4.096 us x 2^n.
        pub timeout_exponent: u8 = 20,
        /// How often in a row, before the connection breaks (a failed outcome).
        pub retries: u8 = 7,
        /// Processor time that a packet costs its receiver where one sent later came before it.
        pub out_of_order_ns: f64 = 0.0,
        /// Where packets overtake each other: a receiver reports one that another overtook so long
        /// ago. Without it only the timeout finds a loss, but 1 ms where switches react to dead
        /// cables themselves.
        pub reorder_ns: Option<f64> = None,
    }
}
