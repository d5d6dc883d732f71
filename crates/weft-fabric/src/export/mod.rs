//! A subnet in other programs' words: ibsim's net file, Slurm's tree, GraphML.

mod graphml;
mod ibsim;
mod slurm;

pub use graphml::graphml;
pub use ibsim::ibsim;
pub use slurm::slurm;

/// A text for another program, and in words its differences from the subnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The file's content.
    pub text: String,
    /// Facts that the other program cannot hold, or holds differently: one sentence each.
    pub changed: Vec<String>,
}
