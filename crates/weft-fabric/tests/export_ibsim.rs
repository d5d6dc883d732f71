//! Real ibsim takes what is exported, real OpenSM routes it, and ibnetdiscover gives every cable
//! back.

use crate::common::{any_fabric, samples};
use crate::export::generated;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use weft_fabric::export::ibsim;
use weft_fabric::paths::trace;
use weft_fabric::subnet::{LinkRate, Speed, Subnet};
use weft_fabric::{Fabric, generate};

const TOOLS: [&str; 4] = ["ibsim", "ibsim-run", "opensm", "ibnetdiscover"];
/// So long may the simulator take to load a net, and a tool to finish.
const LIMIT: Duration = Duration::from_secs(60);

/// A running simulator; it and its folder go when this goes.
struct Simulator {
    process: Child,
    folder: PathBuf,
}

impl Simulator {
    /// None where a tool is absent; the reason is printed.
    fn start(net: &str) -> Option<Simulator> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> =
            std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]).collect();
        let absent = |tool: &&&str| !folders.iter().any(|folder| folder.join(tool).exists());
        if let Some(tool) = TOOLS.iter().find(absent) {
            println!("skipped: no {tool} (Debian: ibsim-utils opensm infiniband-diags)");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("weft-export-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("net"), net).expect("a file");
        let log = fs::File::create(folder.join("ibsim.log")).expect("a log");
        let mut command = Command::new("ibsim");
        command.args(["-s", "-n", "-N", "20000", "-S", "1024", "-P", "200000", "-L", "49152"]);
        command.arg(folder.join("net")).env("IBSIM_SOCKNAME", folder.file_name().expect("a name"));
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        let process = command.spawn().expect("ibsim starts");
        let simulator = Simulator { process, folder };
        let begun = Instant::now();
        while !simulator.log().contains("simulator ready") {
            assert!(begun.elapsed() < LIMIT, "{}", simulator.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(simulator)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("ibsim.log")).unwrap_or_default()
    }

    /// What a tool prints.
    fn run(&self, argv: &[&str]) -> Vec<u8> {
        let mut command = Command::new("timeout");
        command.args([&LIMIT.as_secs().to_string(), "ibsim-run"]).args(argv);
        command.env("IBSIM_SOCKNAME", self.folder.file_name().expect("a name"));
        command.env("OSM_CACHE_DIR", &self.folder).env("OSM_TMP_DIR", &self.folder);
        command.current_dir(&self.folder).stderr(Stdio::null());
        command.output().expect("the tool runs").stdout
    }

    /// What ibnetdiscover and OpenSM's dump say together, after OpenSM has routed once.
    fn routed(&self) -> Subnet {
        self.run(&["opensm", "-o", "-e", "-D", "0x43", "-s", "0", "-f", "osm.log"]);
        let log = fs::read_to_string(self.folder.join("osm.log")).unwrap_or_default();
        assert!(log.contains("SUBNET UP"), "{log}");
        let tables = fs::read(self.folder.join("opensm-lfts.dump")).expect("tables");
        let cables = self.run(&["ibnetdiscover"]);
        let files: [(&str, &[u8]); 2] = [("ibnetdiscover", &cables), ("lfts", &tables)];
        let subnet = Subnet::of(samples::gathered(&files));
        assert!(subnet.unread.is_empty() && subnet.misfits.is_empty(), "{:?}", subnet.unread);
        subnet
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Every cable: descriptions, GUIDs and ports of both ends, and the rate as ibsim can know it.
fn cables(subnet: &Subnet) -> BTreeSet<String> {
    let end = |end: weft_fabric::subnet::End| {
        format!("{} {:x}", subnet.name(end), subnet.nodes[end.node as usize].guid)
    };
    let known = |rate: LinkRate| LinkRate { speed: rate.speed.min(Speed::Hdr), ..rate };
    let line = |(a, b)| {
        let rate = subnet.port(a).and_then(|port| port.rate).expect("a rate");
        format!("{} - {} {}", end(a), end(b), known(rate))
    };
    subnet.cables().map(line).collect()
}

/// Load it, route it, and have every cable back and a path for every pair.
fn comes_back(subnet: &Subnet) {
    let Some(simulator) = Simulator::start(&ibsim(subnet).text) else { return };
    let again = simulator.routed();
    assert_eq!(again.nodes.len(), subnet.nodes.len());
    assert_eq!(cables(&again), cables(subnet));
    for (node, there) in subnet.nodes.iter().zip(&again.nodes) {
        assert_eq!((node.kind, node.ports.len()), (there.kind, there.ports.len()));
    }
    for from in again.endports() {
        for to in again.endports().filter(|to| *to != from) {
            let lid = again.port(to).expect("a port").lid;
            trace(&again, &again.lfts, from, lid).expect("a path");
        }
    }
}

#[test]
fn generated_fabrics_of_every_kind_come_back() {
    comes_back(&generated(
        "fat_tree",
        json!({"levels": 2, "spines": 2, "leaves": [
        {"count": 2, "nodes": 3}, {"nodes": 1, "cables_per_spine": 2,
        "host_bits_per_s": 25_000_000_000u64}]}),
    ));
    comes_back(&generated(
        "directors",
        json!({"nodes": 12, "nodes_per_leaf": 3, "directors": 2,
        "cables_per_director": 3, "inside": "boards", "board_ports": 8}),
    ));
}

#[test]
fn rates_that_ibsim_does_not_know_come_back_as_the_fastest_it_knows() {
    comes_back(&generated(
        "rails",
        json!({"levels": 2, "nodes": 5, "hcas_per_node": 4,
        "nodes_per_unit": 3, "spines": 2, "host_bits_per_s": 400_000_000_000u64,
        "switch_bits_per_s": 400_000_000_000u64}),
    ));
}

#[test]
fn every_rate_that_is_not_mapped_is_read_as_it_is_meant() {
    // 8, 16, 32, 54.5, 100 and 200 Gb/s: 4x of SDR to HDR.
    for rate in [8u64, 16, 32, 54, 100, 200] {
        let bits_per_s = rate * 1_000_000_000;
        comes_back(&generated(
            "fat_tree",
            json!({"levels": 2, "nodes": 2, "nodes_per_leaf": 1,
            "spines": 1, "host_bits_per_s": bits_per_s, "switch_bits_per_s": bits_per_s}),
        ));
    }
}

#[test]
fn random_fabrics_come_back() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..4 {
        let mut spec = any_fabric().new_tree(&mut runner).expect("a fabric").current();
        for link in spec["links"].as_array_mut().expect("links") {
            link["bits_per_s"] = json!(200_000_000_000u64);
        }
        let fabric = Fabric::new(&generate::read(spec).expect("a document")).expect("a fabric");
        comes_back(&Subnet::of_fabric(&fabric).expect("a subnet"));
    }
}
