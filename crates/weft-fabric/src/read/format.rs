//! A format of files: its name, its mark, and its reader.

use super::lines::Lines;
use crate::subnet::records::Gathered;
use std::io;

/// A format: how it is known by its beginning, and who reads it.
pub struct Format {
    /// Our name for it: the tool's.
    pub name: &'static str,
    /// Whether a file that begins like this is one.
    pub is_it: fn(&str) -> bool,
    /// Most bytes that are read: an endless file ends there.
    pub max_bytes: u64,
    /// Its reader; an error is one of the file system.
    pub read: Reader,
}

/// Far above a description of 100,000 hosts.
pub const MAX_TEXT_BYTES: u64 = 512 << 20;
/// Far above what the tools of one host print.
pub const MAX_HOST_BYTES: u64 = 64 << 20;
/// Forwarding tables of a large fabric are hundreds of megabytes.
pub const MAX_TABLE_BYTES: u64 = 16 << 30;

/// Reads the lines of a source into records.
pub type Reader = fn(&mut Lines<'_>, &mut Gathered) -> io::Result<()>;
