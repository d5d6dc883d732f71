//! Why an engine gives no tables.

use std::fmt;
use thiserror::Error;

/// The demands of ftree on a tree. Where OpenSM logs a number for it, that is in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Enough switches and channel adapters, and one LID a port.
    Size,
    /// Every switch reaches the others.
    Connected,
    /// No cable between two channel adapters.
    AdapterToAdapter,
    /// From 2 to 8 levels of switches.
    Levels,
    /// All channel adapters at one level.
    LeafLevel,
    /// As many upward groups of cables on every switch of a level.
    UpGroups,
    /// As many downward groups of cables on every switch of a level.
    DownGroups,
    /// As many cables in every upward group of a level.
    UpWidth,
    /// As many cables in the downward groups of a level.
    DownWidth,
}

impl Rule {
    /// The expected form, with the number under which OpenSM logs the contrary.
    fn expected(self) -> &'static str {
        match self {
            Rule::Size => "two switches and two channel adapters at least, and an LMC of 0",
            Rule::Connected => "switches that all reach each other",
            Rule::AdapterToAdapter => {
                "channel adapters cabled to switches only (OpenSM: ERR AB0F, AB11)"
            }
            Rule::Levels => "from 2 to 8 levels of switches",
            Rule::LeafLevel => "all channel adapters at switches of one level (OpenSM: ERR AB26)",
            Rule::UpGroups => {
                "as many switches above every switch of a level (OpenSM: ERR AB09, AB0D)"
            }
            Rule::DownGroups => {
                "as many switches below every switch of a level (OpenSM: ERR AB0A, AB0D)"
            }
            Rule::UpWidth => {
                "as many cables to every switch above, throughout a level (OpenSM: ERR AB0B, AB0D)"
            }
            Rule::DownWidth => {
                "as many cables to the first switch below, throughout a level (OpenSM: ERR AB0C, \
                 AB0D)"
            }
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.expected())
    }
}

const LIDS: &str = "a LID for every switch\n  hint: describe the subnet after its subnet manager \
                    came up";
const A_ROOT: &str = "a switch that nine in ten channel adapters are equally far from\n  hint: \
                      name the roots, as OpenSM's root_guid_file does";
const KNOWN_ROOT: &str = "the node GUID of a switch of the subnet";
const FALLBACK: &str = "OpenSM itself would route with minhop here and say so in its log only";

/// Why there are no tables.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    /// Nothing to give a table to.
    #[error("routing: the subnet has no switch\n  expected: a switch at least")]
    NoSwitch,
    /// The subnet manager has not been there.
    #[error("routing: switch '{switch}' has no LID\n  expected: {LIDS}")]
    NoLid {
        /// Its description.
        switch: String,
    },
    /// updn found no root.
    #[error(
        "routing with updn: none of {n_switches} switches looks like a root\n  expected: \
         {A_ROOT}; {FALLBACK}"
    )]
    NoRoot {
        /// How many switches there are.
        n_switches: usize,
    },
    /// A root that is none.
    #[error("routing: no switch has the GUID {guid:#018x} of a root\n  expected: {KNOWN_ROOT}")]
    UnknownRoot {
        /// The GUID.
        guid: u64,
    },
    /// ftree does not take the tree.
    #[error(
        "routing with ftree: {what}\n  expected: {rule}\n  hint: look for missing cables there, \
         or take updn; {FALLBACK}"
    )]
    NotATree {
        /// The rule.
        rule: Rule,
        /// How it is broken, and by which switches.
        what: String,
        /// The nodes' descriptions, the one that served as pattern first.
        nodes: Vec<String>,
    },
}
