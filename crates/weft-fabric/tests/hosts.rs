//! Devices of a host as its own tools describe them.

use crate::common::{
    damage,
    samples::{self, text},
};
use std::collections::BTreeMap;
use weft_fabric::subnet::Gathered;
use weft_fabric::subnet::records::DeviceRecord;

/// Each sample and how many ports it describes.
const SAMPLES: [(&str, &str, usize); 8] = [
    ("hosts/ibstat.out", "ibstat", 1),
    ("hosts/ibstat-adapters.out", "ibstat", 4),
    ("hosts/rdma-link.out", "rdma link", 4),
    ("hosts/rdma-link-old.out", "rdma link", 2),
    ("hosts/rdma-link.json", "rdma -j link", 2),
    ("hosts/mlx5_0.json", "mlxlink --json", 1),
    ("hosts/mlx5_0.mlxlink.out", "mlxlink", 1),
    ("hosts/cxi_stat.out", "cxi_stat", 2),
];

fn read(name: &str, text: &str) -> Gathered {
    samples::gathered(&[(name, text.as_bytes())])
}

fn devices(name: &str) -> Vec<DeviceRecord> {
    read(name, &text(name)).devices
}

/// Device, port, state and rate in Gb/s of each.
fn outlines(devices: &[DeviceRecord]) -> Vec<(&str, u8, Option<&str>, Option<f64>)> {
    let outline = |d: &'_ DeviceRecord| (d.port, d.rate_gbps);
    let with_text = devices.iter().map(|d| (d.device.as_str(), outline(d), d.state.as_deref()));
    with_text.map(|(device, (port, rate), state)| (device, port, state, rate)).collect()
}

fn fact<'a>(device: &'a DeviceRecord, name: &str) -> Option<&'a str> {
    device.facts.get(name).map(String::as_str)
}

#[test]
fn every_sample_is_read_whole() {
    for (name, format, n_devices) in SAMPLES {
        let gathered = read(name, &text(name));
        assert_eq!(gathered.sources[0].format.as_deref(), Some(format), "{name}");
        assert_eq!((gathered.devices.len(), &gathered.unread[..]), (n_devices, &[][..]), "{name}");
    }
}

#[test]
fn ibstat_tells_every_port_of_every_adapter() {
    let devices = devices("hosts/ibstat-adapters.out");
    assert_eq!(
        outlines(&devices),
        [
            ("mlx5_0", 1, Some("Active"), Some(100.0)),
            ("mlx4_0", 1, Some("Active"), Some(40.0)),
            ("mlx4_0", 2, Some("Down"), Some(10.0)),
            ("mlx5_bond_0", 1, Some("Active"), Some(25.0)),
        ]
    );
    let lids: Vec<Option<u16>> = devices.iter().map(|device| device.lid).collect();
    assert_eq!(lids, [Some(762), Some(11), None, None]);
    assert_eq!(devices[2].node_guid, Some(0x0002_c903_00a0_b0c0));
    assert_eq!(devices[2].port_guid, Some(0x0002_c903_00a0_b0c2));
    assert_eq!(devices[2].physical_state.as_deref(), Some("Polling"));
    assert_eq!(devices[3].link_layer.as_deref(), Some("Ethernet"));
    assert_eq!(fact(&devices[1], "Rate"), Some("40 (FDR10)"));
    assert_eq!(fact(&devices[0], "CA type"), Some("MT4123"));
    assert_eq!((devices[0].line, devices[1].line, devices[2].line), (8, 25, 35));
}

#[test]
fn ibstat_of_one_port_and_of_no_port() {
    let one =
        "CA: 'mlx5_0'\nPort 2:\nState: Active\nPhysical state: LinkUp\nRate: 2.5\nBase lid: 7\n";
    let port = &read("it", one).devices[0];
    assert_eq!((port.port, port.rate_gbps, port.lid), (2, Some(2.5), Some(7)));
    let none = "CA 'mlx5_0'\n\tCA type: MT4123\n\tNumber of ports: 1\nCA 'mlx5_1'\n\tCA type: x\n";
    let devices = read("it", none).devices;
    assert_eq!(outlines(&devices), [("mlx5_0", 0, None, None), ("mlx5_1", 0, None, None)]);
}

#[test]
fn ibsim_knows_no_rate() {
    let device = &devices("hosts/ibstat.out")[0];
    assert_eq!((device.device.as_str(), device.rate_gbps, device.lid), ("ibsim0", None, Some(1)));
    assert_eq!(device.port_guid, Some(0x9803_9b03_0000_0011));
}

#[test]
fn rdma_link_tells_states_lids_and_interfaces() {
    let gathered = read("it", &text("hosts/rdma-link.out"));
    let outline =
        |d: &DeviceRecord| (d.device.clone(), d.lid, fact(d, "netdev").map(str::to_owned));
    let reported: Vec<_> = gathered.devices.iter().map(outline).collect();
    let own = |text: &str| Some(text.to_owned());
    assert_eq!(
        reported,
        [
            ("mlx5_0".to_owned(), Some(762), own("ib0")),
            ("mlx5_1".to_owned(), None, None),
            ("mlx5_bond_0".to_owned(), None, own("bond0")),
            ("irdma0".to_owned(), None, own("ens1f0")),
        ]
    );
    let layers: Vec<Option<&str>> =
        gathered.devices.iter().map(|d| d.link_layer.as_deref()).collect();
    assert_eq!(layers, [Some("InfiniBand"), Some("InfiniBand"), None, None]);
}

#[test]
fn all_spellings_of_rdma_link_say_the_same() {
    for name in ["hosts/rdma-link.out", "hosts/rdma-link-old.out", "hosts/rdma-link.json"] {
        let device = &devices(name)[0];
        assert_eq!((device.device.as_str(), device.port, device.lid), ("mlx5_0", 1, Some(762)));
        assert_eq!(device.state.as_deref(), Some("ACTIVE"), "{name}");
        assert_eq!(device.physical_state.as_deref(), Some("LINK_UP"), "{name}");
        assert_eq!(fact(device, "sm_lid"), Some("8"), "{name}");
        assert_eq!(fact(device, "subnet_prefix"), Some("fe80:0000:0000:0000"), "{name}");
    }
    assert_eq!(fact(&devices("hosts/rdma-link.json")[0], "caps"), Some("SM, NOTICE, TRAP"));
    let old = &devices("hosts/rdma-link-old.out")[1];
    assert_eq!((old.device.as_str(), fact(old, "caps")), ("mlx5_1", Some("CM, IP_BASED_GIDS")));
}

#[test]
fn mlxlink_tells_the_link_its_errors_and_its_cable() {
    let both = [devices("hosts/mlx5_0.json"), devices("hosts/mlx5_0.mlxlink.out")];
    for device in both.iter().flatten() {
        assert_eq!((device.device.as_str(), device.port), ("mlx5_0", 1));
        // Two lanes of HDR.
        assert_eq!(
            (device.rate_gbps, device.link_layer.as_deref()),
            (Some(100.0), Some("InfiniBand"))
        );
        assert_eq!(fact(device, "FEC"), Some("RS-FEC - (544,514) + PLR"));
        assert_eq!(fact(device, "Vendor Serial Number"), Some("EX2101XX00001"));
        assert_eq!(fact(device, "Voltage [mV]"), None);
        let names = [
            "Effective Physical BER",
            "Raw Physical BER",
            "Link Down Counter",
            "Raw Physical Errors Per Lane 1",
            "Temperature [C]",
            "Bias Current [mA] 0",
        ];
        let numbers = names.map(|name| device.readings[name]);
        assert_eq!(numbers, [3e-15, 5e-9, 3.0, 15_132_549.0, 38.0, 6.75]);
        assert_eq!(device.readings["Symbol BER"], 15e-255);
    }
    assert_eq!(both[0][0].readings, both[1][0].readings);
}

#[test]
fn mlxlink_that_failed_says_so() {
    let failed = r#"{"result": {"output": {}}, "status": {"code": 1, "message": "no device"}}"#;
    let gathered = read("it", failed);
    assert!(gathered.unread[0].what.contains("no device"), "{:?}", gathered.unread);
    assert_eq!(gathered.unread[0].expected, "status code 0");
}

#[test]
fn an_ethernet_port_of_mlxlink_has_its_rate_by_name() {
    let json = text("hosts/mlx5_0.json").replace("IB-HDR", "400G");
    let device = &read("it", &json).devices[0];
    assert_eq!((device.rate_gbps, device.link_layer.as_deref()), (Some(400.0), Some("Ethernet")));
}

#[test]
fn cxi_stat_tells_links_and_rates_of_errors() {
    let devices = devices("hosts/cxi_stat.out");
    assert_eq!(
        outlines(&devices),
        [("cxi0", 1, Some("up"), Some(200.0)), ("cxi1", 1, Some("down"), Some(200.0)),]
    );
    let device = &devices[0];
    assert_eq!(fact(device, "Network device"), Some("hsn0"));
    assert_eq!(fact(device, "NID"), Some("2026 (0x007ea)"));
    let names = ["Corrected CW", "Corrected BER", "RX Pause PCP 3", "AER CORRECTABLE RxErr"];
    assert_eq!(names.map(|name| device.readings[name]), [348.15, 1.638e-9, 2.5, 4.0]);
    // Below what can be measured: a bound, not a reading.
    assert_eq!(fact(device, "Uncorrected BER"), Some("<1.176e-12"));
    assert!(!device.readings.contains_key("Uncorrected BER"));
}

#[test]
fn fields_that_cannot_be_are_reported_and_the_rest_is_read() {
    let adapter =
        "CA 'a'\n\tCA type: x\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n";
    let link = "link a/1 state ACTIVE physical_state LINK_UP\n";
    let cxi = "Device: cxi0\n    Link state: up\n";
    for (begin, line) in [
        (adapter, "\t\tBase lid: 65536"),
        (adapter, "\t\tRate: nan"),
        (adapter, "\t\tPort GUID: 0x12345678123456789"),
        (adapter, "\tPort 256:"),
        (adapter, "what is this"),
        (link, "link a/256 state ACTIVE"),
        (link, "link b/1 state ACTIVE lid -7"),
        (link, "link b/1 state"),
        (link, "what is this"),
        (cxi, "    what is this"),
    ] {
        let gathered = read("it", &format!("{begin}{line}\n"));
        assert_eq!(gathered.unread.len(), 1, "{line}");
        assert_eq!(gathered.unread[0].place.line as usize, begin.lines().count() + 1, "{line}");
        assert!(gathered.devices[0].state.is_some(), "{line}");
    }
}

#[test]
fn json_that_is_none_is_reported_with_its_line_and_what_is_whole_is_read() {
    let whole = text("hosts/mlx5_0.json");
    let gathered = read("it", &format!("{whole}{}", &whole[..500]));
    let line = whole.lines().count() + whole[..500].lines().count();
    assert_eq!((gathered.devices.len(), gathered.unread[0].place.line as usize), (1, line));
    let deep = format!("[{{\"ifname\":\"a/1\",\"physical_state\":{}", "[".repeat(100_000));
    assert_eq!(read("it", &deep).unread.len(), 1);
}

#[test]
fn carriage_returns_and_warnings_between_the_lines_change_nothing() {
    let lineless = |name: &str, text: &str| -> Vec<DeviceRecord> {
        let records = read(name, text).devices.into_iter();
        records.map(|record| DeviceRecord { line: 0, ..record }).collect()
    };
    for (name, _, _) in SAMPLES {
        let text = text(name);
        let clean = lineless(name, &text);
        assert_eq!(lineless(name, &damage::with_carriage_returns(&text)), clean, "{name}");
        assert_eq!(lineless(name, &damage::with_warnings(&text)), clean, "{name}");
    }
}

#[test]
fn truncated_outputs_say_nothing_that_the_whole_does_not() {
    for (name, _, _) in SAMPLES {
        let text = text(name);
        let whole = read(name, &text).devices;
        for beginning in damage::beginnings(&text) {
            for (part, whole) in read(name, beginning).devices.iter().zip(&whole) {
                let within = |part: &BTreeMap<String, String>, whole: &BTreeMap<String, String>| {
                    part.iter().all(|(name, value)| whole.get(name) == Some(value))
                };
                assert_eq!((&part.device, part.port.min(whole.port)), (&whole.device, part.port));
                assert!(within(&part.facts, &whole.facts), "{name}: {part:?}");
                let readings = part.readings.iter();
                assert!(readings.clone().all(|(name, n)| whole.readings.get(name) == Some(n)));
                assert!(part.lid.is_none() || part.lid == whole.lid, "{name}");
                assert!(part.rate_gbps.is_none() || part.rate_gbps == whole.rate_gbps, "{name}");
            }
        }
    }
}
