//! What lstopo says about the inside of a host.

use crate::common::samples;
use serde_json::{Value, json};
use weft_fabric::read::pci_tree;

fn inside(name: &str) -> Value {
    let subnet = samples::subnet(&[name]);
    assert!(subnet.unread.is_empty(), "{:?}", subnet.unread);
    subnet.insides[0].clone()
}

fn counts(inside: &Value) -> [u64; 4] {
    ["packages", "numa_nodes", "cores", "hardware_threads"].map(|key| inside[key].as_u64().unwrap())
}

/// Line and text of what was not understood about a text.
fn reported(text: &str) -> (u32, String) {
    let gathered = samples::gathered(&[("host.xml", text.as_bytes())]);
    assert_eq!((gathered.insides.len(), gathered.unread.len()), (0, 1), "{:?}", gathered.unread);
    (gathered.unread[0].place.line, gathered.unread[0].what.clone())
}

/// lstopo was given two packages of two NUMA nodes; in each a PCI switch with a GPU and an HCA.
#[test]
fn devices_stand_with_their_bus_their_bridges_and_what_is_near() {
    for (file, version) in
        [("hwloc/two_packages.v2.xml", "2.0"), ("hwloc/two_packages.v1.xml", "1")]
    {
        let inside = inside(file);
        assert_eq!(counts(&inside), [2, 4, 8, 8], "{file}");
        assert_eq!(inside["version"], version);
        assert_eq!(inside["memory_bytes"], 4u64 << 30);
        let devices = inside["devices"].as_array().unwrap();
        let names: Vec<&str> = devices.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["cuda0", "nvml0", "ib0", "mlx5_0", "cuda1", "nvml1", "ib1", "mlx5_1"]);
        let hca = &devices[7];
        assert_eq!(hca["kind"], "openfabrics");
        assert_eq!(hca["pci"], "0001:04:00.0");
        assert_eq!(hca["pci_path"], json!(["0001:01:00.0"]));
        assert_eq!(hca["pci_gb_per_s"], 31.507692);
        assert_eq!(hca["numa_nodes"], json!([2, 3]));
        assert_eq!(hca["facts"]["Port1LID"], "0x14");
        assert_eq!(
            (&devices[0]["kind"], &devices[0]["numa_nodes"]),
            (&json!("coproc"), &json!([0, 1]))
        );
        assert_eq!(devices[2]["kind"], "network");
    }
}

#[test]
fn a_virtual_machine_has_a_name_and_what_is_there() {
    let inside = inside("hwloc/virtual_machine.xml");
    assert_eq!((&inside["host"], counts(&inside)), (&json!("host1"), [1, 1, 2, 2]));
    assert_eq!(inside["devices"][0]["kind"], "block");
    // lstopo does not know how fast: 0.
    assert_eq!(inside["devices"][0]["pci_gb_per_s"], Value::Null);
}

#[test]
fn numa_nodes_above_32_are_in_the_word_before() {
    let text = "<topology><object type=\"Machine\" nodeset=\"0x00000003,0x80000000\">\
                <object type=\"OSDev\" name=\"a\" osdev_type=\"9\"/></object></topology>";
    let gathered = samples::gathered(&[("host.xml", text.as_bytes())]);
    assert_eq!(gathered.insides[0]["devices"][0]["numa_nodes"], json!([31, 32, 33]));
    assert_eq!(gathered.insides[0]["devices"][0]["kind"], "9");
}

fn numa_nodes(set: &str) -> Value {
    let text = format!(
        "<topology><object type=\"Machine\" nodeset=\"{set}\">\
         <object type=\"OSDev\" name=\"a\" osdev_type=\"9\"/></object></topology>"
    );
    let gathered = samples::gathered(&[("host.xml", text.as_bytes())]);
    gathered.insides[0]["devices"][0]["numa_nodes"].clone()
}

/// hwloc's bitmaps leave out words of 0, and have no end where all bits are set.
#[test]
fn a_set_has_the_members_that_hwloc_writes() {
    assert_eq!(numa_nodes("0x00000001,,0x00000003"), json!([0, 1, 64]));
    assert_eq!(numa_nodes("0xf...f"), json!([]));
    assert_eq!(numa_nodes("0xf...f,0x00000001"), json!([]));
    assert_eq!(numa_nodes(""), json!([]));
    assert_eq!(numa_nodes(&format!("0x1{}", ",".repeat(31))), json!([992]));
    assert_eq!(numa_nodes(&format!("0x1{}", ",".repeat(32))), json!([]));
}

#[test]
fn the_pci_tree_has_each_device_with_the_bridge_above() {
    for file in ["hwloc/two_packages.v2.xml", "hwloc/two_packages.v1.xml"] {
        let bytes = samples::all().into_iter().find(|(name, _)| name == file).expect("a sample").1;
        let tree = pci_tree(std::str::from_utf8(&bytes).expect("UTF-8")).expect("a tree");
        assert_eq!(tree.cpus.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3], "{file}");
        assert_eq!(tree.cpus[&3], [6, 7]);
        let hca = tree.devices.last().expect("a device");
        assert_eq!((&hca.bus[..], hca.above.as_deref()), ("0001:04:00.0", Some("0001:01:00.0")));
        assert_eq!(hca.numa_nodes, [2, 3]);
        assert!(hca.ids.starts_with("0207 [15b3:"), "{}", hca.ids);
        assert!(tree.facts.contains_key("Backend"), "{:?}", tree.facts);
    }
}

/// Each device repeats what stands above it: so many could fill the memory.
#[test]
fn more_devices_than_a_host_has_are_refused() {
    let devices = "<object type=\"OSDev\"/>\n".repeat(8193);
    let text = format!("<topology><object type=\"Machine\">\n{devices}</object></topology>");
    assert_eq!(reported(&text), (8194, "more than 8192 devices".to_owned()));
    assert!(pci_tree(&text.replace("OSDev", "PCIDev")).is_err());
}

#[test]
fn entities_are_refused() {
    let bomb = "<!DOCTYPE topology [\n<!ENTITY a \"&b;&b;\"><!ENTITY b \"&c;&c;\">\n\
                <!ENTITY c \"boom\">]>\n<topology><object type=\"&a;\"/></topology>";
    assert!(reported(bomb).1.starts_with("no XML: "), "{bomb}");
    // The known document type, but with definitions inside.
    let sly = "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\" [<!ENTITY a \"b\">]>\n\
               <topology><object type=\"&a;\"/></topology>";
    assert!(reported(sly).1.starts_with("no XML: "), "{sly}");
    let unknown = "<topology><object type=\"&a;\"/></topology>";
    assert!(reported(unknown).1.starts_with("no XML: "), "{unknown}");
}

#[test]
fn what_is_nested_too_deep_is_refused_before_it_is_parsed() {
    let deep = format!("<topology>\n{}", "<object a='>'>\n".repeat(100_000));
    assert_eq!(reported(&deep), (201, "elements nested deeper than 200".to_owned()));
    let closed = format!("<topology>{}</topology>", "<object type=\"PU\"/>".repeat(1000));
    let gathered = samples::gathered(&[("host.xml", closed.as_bytes())]);
    assert_eq!(gathered.insides[0]["hardware_threads"], 1000);
}

#[test]
fn what_is_cut_off_or_something_else_is_reported() {
    let whole = samples::all().into_iter().find(|(name, _)| name == "hwloc/two_packages.v2.xml");
    let bytes = whole.expect("a sample").1;
    let text = String::from_utf8(bytes).expect("UTF-8");
    assert!(reported(&text[..text.len() / 2]).1.starts_with("no XML: "));
    assert_eq!(reported("<topology>\n</topology>"), (1, "no 'object'".to_owned()));
    assert_eq!(reported("<a>\n<topology/></a>"), (1, "an element 'a'".to_owned()));
}
