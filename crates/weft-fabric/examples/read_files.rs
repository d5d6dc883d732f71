//! Reads files of a fabric as `weft fabric show` does and says what it took.
//!
//! `cargo run --release -p weft-fabric --example read_files -- FILE...`

use std::fs::File;
use std::time::Instant;
use std::{env, fs};
use weft_fabric::read;
use weft_fabric::subnet::{Gathered, Subnet};

fn main() -> std::io::Result<()> {
    let mut gathered = Gathered::default();
    for name in env::args().skip(1) {
        let begun = Instant::now();
        read::read(&name, &mut File::open(&name)?, &mut gathered)?;
        let seconds = begun.elapsed().as_secs_f64();
        let source = gathered.sources.last().expect("the one just read");
        let format = source.format.as_deref().unwrap_or("unknown");
        let (n_lines, n_bytes) = (source.n_lines, source.n_bytes);
        println!("{name}: {format}, {n_lines} lines, {n_bytes} bytes, {seconds:.2} s");
    }
    let begun = Instant::now();
    let subnet = Subnet::of(gathered);
    let seconds = begun.elapsed().as_secs_f64();
    let n_tables = (0..subnet.nodes.len()).filter(|at| subnet.lfts.row(*at).is_some()).count();
    let (n_nodes, top_lid) = (subnet.nodes.len(), subnet.top_lid());
    println!("joined: {n_nodes} nodes, {n_tables} tables, LIDs up to {top_lid}, {seconds:.2} s");
    println!("{} lines not understood, {} misfits", subnet.unread.len(), subnet.misfits.len());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("peak unknown"));
    Ok(())
}
