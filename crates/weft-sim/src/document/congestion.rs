//! Congestion control, as written.

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt::{self, Formatter};

/// Makes of one list of laws how a scenario names, reads and holds them.
macro_rules! laws {
    ($($(#[$doc:meta])+ $name:ident: $law:ident($document:ident),)+) => {
        /// The law by which senders slow down; one of these.
        ///
        /// Where a time or a rate may be left out, it is that of a link of 200 Gb/s, scaled to the
        /// links of the fabric's hosts: as many packets pass in it.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(try_from = "LawsDocument")]
        pub enum CongestionDocument {
            $($(#[$doc])+ $law($document),)+
        }

        /// All laws that are written.
        #[derive(Deserialize)]
        #[serde(
            deny_unknown_fields,
            expecting = "a law and its settings, such as {\"annex_a10\": {}}"
        )]
        struct LawsDocument {
            $($name: Option<$document>,)+
        }

        impl CongestionDocument {
            /// The law's name in a scenario.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(CongestionDocument::$law(_) => stringify!($name),)+
                }
            }
        }

        impl TryFrom<LawsDocument> for CongestionDocument {
            type Error = String;

            fn try_from(laws: LawsDocument) -> Result<CongestionDocument, String> {
                let written = [$(laws.$name.map(CongestionDocument::$law)),+];
                let mut written: Vec<CongestionDocument> = written.into_iter().flatten().collect();
                match (written.len(), written.pop()) {
                    (1, Some(law)) => Ok(law),
                    (n, _) => {
                        let names = [$(concat!("'", stringify!($name), "'")),+];
                        Err(format!("{n} laws, expected one of {}", names.join(", ")))
                    }
                }
            }
        }
    };
}

laws! {
    /// InfiniBand's own: marks at the root of congestion, and a table of delays.
    annex_a10: AnnexA10(AnnexA10Document),
    /// Rates that notifications cut.
    dcqcn: Dcqcn(DcqcnDocument),
    /// Windows that follow the round-trip time.
    rtt: Rtt(RttDocument),
    /// Back-pressure on senders from the port facing their receiver.
    endpoint: Endpoint(EndpointDocument),
}

/// Whose ports mark although they wait for credit themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VictimMask {
    /// Only roots of congestion mark.
    None,
    /// Ports to hosts mark, too: no port behind them could.
    #[default]
    Hosts,
    /// All ports do.
    All,
}

/// What is slowed down at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slowed {
    /// The queue pair whose packet was marked.
    #[default]
    QueuePair,
    /// All that its HCA sends on that virtual lane.
    Lane,
}

/// A shape of the congestion control table, or its entries.
#[derive(Clone, Debug)]
pub enum TableDocument {
    /// Each entry as `shift:multiplier`: a delay of multiplier / 2^shift packet times.
    Entries(Vec<String>),
    /// The interval of packets doubles every so many entries.
    Doubling(DoublingDocument),
}

impl<'de> Deserialize<'de> for TableDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TableDocument, D::Error> {
        deserializer.deserialize_any(AnyTable)
    }
}

/// Either shape, so that an error names the key of the one that was written.
struct AnyTable;

impl<'de> Visitor<'de> for AnyTable {
    type Value = TableDocument;

    fn expecting(&self, formatter: &mut Formatter) -> fmt::Result {
        formatter.write_str("a list of 'shift:multiplier', or 'doubling' and 'entries'")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<TableDocument, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(entries)).map(TableDocument::Entries)
    }

    fn visit_map<A: MapAccess<'de>>(self, keys: A) -> Result<TableDocument, A::Error> {
        DoublingDocument::deserialize(MapAccessDeserializer::new(keys)).map(TableDocument::Doubling)
    }
}

/// A table by how far its entries go.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoublingDocument {
    /// Entries from one interval to twice that.
    pub doubling: f64,
    /// How many entries there are.
    pub entries: u16,
}

/// InfiniBand's congestion control.
///
/// SOURCE: InfiniBand Architecture Specification volume 1, annex A10.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "settings by name, such as {}")]
pub struct AnnexA10Document {
    /// 0: no marks; 1 to 15: marks from (16 - threshold) / 16 of `full_bytes` on.
    pub threshold: u8,
    /// What waits for an output on a lane, in all input buffers of its switch together, when it
    /// counts as full; four times `switch.buffer_bytes` without it.
    pub full_bytes: Option<u64>,
    /// Eligible packets that are let pass between two marks.
    pub marking_rate: u16,
    /// Smallest packet that is marked, in units of 64 bytes.
    pub packet_size: u8,
    /// Whose ports mark although they wait for credit.
    pub victim_mask: VictimMask,
    /// What a notification slows down.
    pub slows: Slowed,
    /// Entries of the table that a notification goes up.
    pub increase: u16,
    /// Time in which one is gone down.
    pub timer_ns: Option<f64>,
    /// The lowest entry.
    pub ccti_min: u16,
    /// The highest entry; the table's last without it.
    pub ccti_limit: Option<u16>,
    /// The delays.
    pub table: TableDocument,
    /// Least time between two notifications of a queue pair.
    pub cnp_interval_ns: Option<f64>,
    /// The service level of notifications; the queue pair's own without it.
    pub cnp_service_level: Option<u8>,
}

impl Default for AnnexA10Document {
    fn default() -> AnnexA10Document {
        AnnexA10Document {
            threshold: 8,
            full_bytes: None,
            marking_rate: 0,
            packet_size: 8,
            victim_mask: VictimMask::Hosts,
            slows: Slowed::QueuePair,
            increase: 7,
            timer_ns: None,
            ccti_min: 0,
            ccti_limit: None,
            table: TableDocument::Doubling(DoublingDocument { doubling: 32.0, entries: 256 }),
            cnp_interval_ns: None,
            cnp_service_level: None,
        }
    }
}

/// Rates that notifications cut.
///
/// SOURCE: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "settings by name, such as {}")]
pub struct DcqcnDocument {
    /// Backlog of an output's lane from which on packets may be marked; half of
    /// `switch.buffer_bytes` without it.
    pub least_bytes: Option<u64>,
    /// Backlog from which on every packet is marked; one and a half times
    /// `switch.buffer_bytes` without it.
    pub most_bytes: Option<u64>,
    /// The chance of a mark just below that.
    pub probability: f64,
    /// Least time between two notifications of a queue pair.
    pub cnp_interval_ns: Option<f64>,
    /// The service level of notifications; the queue pair's own without it.
    pub cnp_service_level: Option<u8>,
    /// Weight of the newest notification in the estimate of congestion.
    pub gain: f64,
    /// The estimate before the first: half of it is the first cut.
    pub first_alpha: f64,
    /// Time without a notification after which the estimate falls.
    pub alpha_timer_ns: Option<f64>,
    /// Time after which a rate rises.
    pub increase_timer_ns: Option<f64>,
    /// Bytes after which it does.
    pub increase_bytes: u64,
    /// Rises towards the rate before the cut, until others follow.
    pub fast_rounds: u32,
    /// What a rise adds then.
    pub additive_bits_per_s: Option<u64>,
    /// What it adds when both time and bytes have brought so many.
    pub hyper_bits_per_s: Option<u64>,
    /// The least rate.
    pub least_bits_per_s: Option<u64>,
}

impl Default for DcqcnDocument {
    fn default() -> DcqcnDocument {
        DcqcnDocument {
            least_bytes: None,
            most_bytes: None,
            probability: 0.1,
            cnp_interval_ns: None,
            cnp_service_level: None,
            gain: 1.0 / 16.0,
            first_alpha: 0.07,
            alpha_timer_ns: None,
            increase_timer_ns: None,
            increase_bytes: 10_000_000,
            fast_rounds: 3,
            additive_bits_per_s: None,
            hyper_bits_per_s: None,
            least_bits_per_s: None,
        }
    }
}

/// Windows that follow the round-trip time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "settings by name, such as {}")]
pub struct RttDocument {
    /// Queueing there and back that is wanted, beyond one packet for each link.
    pub target_ns: Option<f64>,
    /// Time from an answer to the next probe of a queue pair.
    pub probe_interval_ns: Option<f64>,
    /// The service level of answers; the queue pair's own without it.
    pub answer_service_level: Option<u8>,
    /// How much of its distance to the target a window goes with an answer.
    pub gain: f64,
    /// The largest part of a window that an answer takes away.
    pub most_decrease: f64,
    /// The largest window, in round trips with the target's queueing.
    pub most: f64,
    /// What each answer adds to a window.
    pub additive_bytes: u64,
    /// The least rate.
    pub least_bits_per_s: Option<u64>,
}

impl Default for RttDocument {
    fn default() -> RttDocument {
        RttDocument {
            target_ns: None,
            probe_interval_ns: None,
            answer_service_level: None,
            gain: 0.2,
            most_decrease: 0.8,
            most: 6.0,
            additive_bytes: 32,
            least_bits_per_s: None,
        }
    }
}

/// Back-pressure on senders from the port facing their receiver.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "settings by name, such as {}")]
pub struct EndpointDocument {
    /// Bytes that may wait for a host's link before senders are held back.
    pub queue_bytes: u64,
    /// Time after its last notification at which a source forgets its share.
    pub hold_ns: Option<f64>,
    /// Least time over which the senders to a host are counted.
    pub count_ns: Option<f64>,
    /// A source is notified when its share has changed by this part.
    pub change: f64,
    /// The service level of notifications; the queue pair's own without it.
    pub cnp_service_level: Option<u8>,
}

impl Default for EndpointDocument {
    fn default() -> EndpointDocument {
        EndpointDocument {
            queue_bytes: 65_536,
            hold_ns: None,
            count_ns: None,
            change: 0.125,
            cnp_service_level: None,
        }
    }
}
