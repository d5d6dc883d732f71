//! Congestion control: how its laws are written, and how they slow senders down.
//!
//! Annex A10 and DCQCN: switches mark packets ([`Marking`]), and the HCA that receives one notifies
//! its sender. RTT: the sender probes. Endpoint: the port facing the receiver notifies. The sender
//! spaces the packets of that queue pair by its [`Law`]; `packet/congestion_hooks.rs` asks it.
//!
//! A law is a module with its settings and a [`CongestionLaw`], and a row of `laws!` below.

pub(crate) mod annex_a10;
pub(crate) mod dcqcn;
pub(crate) mod defaults;
pub(crate) mod endpoint;
pub(crate) mod law;
pub(crate) mod marking;
pub(crate) mod rtt;

use crate::error::SimError;
use annex_a10::{AnnexA10, AnnexA10Document};
use dcqcn::{Dcqcn, DcqcnDocument};
use defaults::Sent;
use endpoint::{Endpoint, EndpointDocument};
use law::{Congestion, CongestionLaw, Idle, Notice, Surroundings};
use rtt::{Rtt, RttDocument};
use serde::Deserialize;

/// Congestion control: its law, and the service levels whose senders it slows down.
///
/// SOURCE: OpenSM, iba/ib_types.h: an HCA has settings for each of 16 service levels and a map of
/// those that are controlled (ib_ca_cong_setting_t, control_map).
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "LawsDocument")]
pub struct CongestionDocument {
    /// How senders slow down.
    pub law: LawDocument,
    /// Levels whose senders are slowed down; all of them without it.
    pub service_levels: Option<Vec<u8>>,
}

/// Makes of one list of laws how a scenario names and reads them, and how the engine calls them.
macro_rules! laws {
    ($(#[doc = $doc:literal] $name:ident: $law:ident($document:ident),)+) => {
        /// The law by which senders slow down; one of these.
        ///
        /// Where a time or a rate may be left out, it is that of a link of 200 Gb/s, scaled to the
        /// links of the fabric's hosts: as many packets pass in it.
        #[derive(Clone, Debug)]
        pub enum LawDocument {
            $(#[doc = $doc] $law($document),)+
        }

        /// The laws: the name of each in a scenario, and a sentence about it.
        pub const CONGESTION_LAWS: &[(&str, &str)] = &[$((stringify!($name), $doc)),+];

        /// All laws that are written, and whom they slow down.
        #[derive(Deserialize)]
        #[serde(
            deny_unknown_fields,
            expecting = "a law and its settings, such as {\"annex_a10\": {}}"
        )]
        struct LawsDocument {
            $($name: Option<$document>,)+
            service_levels: Option<Vec<u8>>,
        }

        impl LawDocument {
            /// The law's name in a scenario.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(LawDocument::$law(_) => stringify!($name),)+
                }
            }

            /// Congestion control by the law that is written.
            pub(crate) fn read(
                &self,
                around: &Surroundings<'_>,
            ) -> Result<Congestion<Law>, SimError> {
                match self {
                    $(LawDocument::$law(knobs) => {
                        let Congestion { marking, law, by_lane, cnp_interval_ps, cnp_lane, lanes } =
                            $law::read(knobs, around)?;
                        let law = Law::$law(law);
                        Ok(Congestion { marking, law, by_lane, cnp_interval_ps, cnp_lane, lanes })
                    })+
                }
            }
        }

        impl TryFrom<LawsDocument> for CongestionDocument {
            type Error = String;

            fn try_from(laws: LawsDocument) -> Result<CongestionDocument, String> {
                let service_levels = laws.service_levels;
                let written = [$(laws.$name.map(LawDocument::$law)),+];
                let mut written: Vec<LawDocument> = written.into_iter().flatten().collect();
                match (written.len(), written.pop()) {
                    (1, Some(law)) => Ok(CongestionDocument { law, service_levels }),
                    (n, _) => {
                        let names = [$(concat!("'", stringify!($name), "'")),+];
                        Err(format!("{n} laws, expected one of {}", names.join(", ")))
                    }
                }
            }
        }

        /// How a sender spaces its packets.
        #[derive(Clone, Debug)]
        pub(crate) enum Law {
            $($law($law),)+
        }

        /// A law, and its state for one queue pair.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum LawState<'a> {
            $($law(&'a $law, <$law as CongestionLaw>::State),)+
        }

        impl Law {
            /// The law with [`CongestionLaw::begin`] of a queue pair.
            pub(crate) fn begin(&self, idle: Idle) -> LawState<'_> {
                match self {
                    $(Law::$law(law) => LawState::$law(law, law.begin(idle)),)+
                }
            }
        }

        impl LawState<'_> {
            /// [`CongestionLaw::notified`] of its law.
            pub(crate) fn notified(&mut self, notice: Notice) {
                match self {
                    $(LawState::$law(law, state) => law.notified(state, notice),)+
                }
            }

            /// [`CongestionLaw::delay_ps`] of its law.
            pub(crate) fn delay_ps(&mut self, sent: Sent) -> u64 {
                match self {
                    $(LawState::$law(law, state) => law.delay_ps(state, sent),)+
                }
            }
        }
    };
}

laws! {
    /// InfiniBand's own, with marks at the root of congestion and a table of delays.
    annex_a10: AnnexA10(AnnexA10Document),
    /// Rates that notifications cut.
    dcqcn: Dcqcn(DcqcnDocument),
    /// Windows that follow the round-trip time.
    rtt: Rtt(RttDocument),
    /// Back-pressure on senders from the port facing their receiver.
    endpoint: Endpoint(EndpointDocument),
}
