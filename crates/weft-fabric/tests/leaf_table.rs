//! Tests inside of a source file: for them alone cargo would compile the crate once more.

#[allow(dead_code)]
#[path = "../src/routing/leaf_table.rs"]
mod source;
