//! Where ranks run and whose they are, as written.

use crate::settings::settings;
use serde::{Deserialize, Serialize};
use weft_traffic::StepDocument;

settings! {
    /// Where ranks run: rank r on node r / tasks_per_node, as its task (r + first_task) modulo
    /// tasks_per_node, over the HCA of that task.
    pub struct PlacementDocument {
        /// Names of nodes in rank order; all of the fabric without it.
        pub nodes: Option<Vec<String>> = None,
        /// Ranks on each.
        pub tasks_per_node: u32 = 1,
        /// The task that the first rank of each node is.
        pub first_task: u32 = 0,
    }
}

/// The part of a tenant in an experiment about neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TenantRole {
    /// It is measured.
    #[default]
    Victim,
    /// It disturbs.
    Aggressor,
}

/// The partition every node is a member of where a scenario names none.
pub const DEFAULT_PARTITION: u16 = 0x7fff;

/// A job that shares the fabric. Its ranks are numbered from 0, its `work` is its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantDocument {
    /// Its name in the outcome.
    pub name: String,
    /// Its part in the experiment.
    #[serde(default)]
    pub role: TenantRole,
    /// When its first step begins.
    #[serde(default)]
    pub start_ns: f64,
    /// Begin again with the first step until every tenant without this is done.
    #[serde(default)]
    pub repeat: bool,
    /// Its messages between nodes are puts or gets: no processor sends or receives them.
    #[serde(default)]
    pub one_sided: bool,
    /// The service level of its messages; its partition's without it.
    pub service_level: Option<u8>,
    /// The partition of its messages.
    #[serde(default = "default_partition")]
    pub partition_key: u16,
    /// Where its ranks run. Tenants may share nodes.
    #[serde(default)]
    pub placement: PlacementDocument,
    /// Its work.
    pub work: Vec<StepDocument>,
}

impl TenantDocument {
    /// The tenant of a scenario of one job.
    pub fn alone(placement: PlacementDocument, work: Vec<StepDocument>) -> TenantDocument {
        TenantDocument {
            name: String::new(),
            role: TenantRole::Victim,
            start_ns: 0.0,
            repeat: false,
            one_sided: false,
            service_level: None,
            partition_key: DEFAULT_PARTITION,
            placement,
            work,
        }
    }
}

fn default_partition() -> u16 {
    DEFAULT_PARTITION
}

/// Members of a partition: messages of it between others are refused.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionDocument {
    /// Its key, without the membership bit: 1 to 0x7fff.
    pub key: u16,
    /// Its member nodes.
    pub nodes: Vec<String>,
    /// The service level that the subnet manager gives its messages.
    #[serde(default)]
    pub service_level: u8,
}
