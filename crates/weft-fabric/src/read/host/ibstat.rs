//! `ibstat`: the adapters of a host and their ports.
//!
//! SOURCE: what infiniband-diags 44.0 prints; `ibstat.c`.

use crate::read::format::{Format, MAX_HOST_BYTES};
use crate::read::lines::Lines;
use crate::subnet::MULTICAST_LID;
use crate::subnet::records::{DeviceRecord, Gathered, Place};
use std::io;

const ADAPTER: &str = "an adapter: 'CA 'mlx5_0''";
const FIELD: &str = "a field of an adapter or a port: 'State: Active'";

/// `CA 'mlx5_0'`, fields of the adapter, `Port 1:` and fields of the port.
pub(crate) const FORMAT: Format = Format { name: "ibstat", is_it, max_bytes: MAX_HOST_BYTES, read };

fn is_it(head: &str) -> bool {
    let has_fields = head.contains("Physical state: ") || head.contains("CA type: ");
    has_fields && head.lines().any(|line| adapter(line.trim()).is_some())
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut host = Host::default();
    while let Some((place, text)) = lines.next_full()? {
        host.line(&text, place, lines.is_ended, gathered);
    }
    host.close_adapter(gathered);
    Ok(())
}

/// The adapter that is being read.
#[derive(Default)]
struct Host {
    /// Facts about all its ports.
    adapter: Option<DeviceRecord>,
    port: Option<DeviceRecord>,
    n_ports: u32,
}

impl Host {
    fn line(&mut self, text: &str, place: Place, is_ended: bool, gathered: &mut Gathered) {
        let line = text.trim();
        if let Some(name) = adapter(line) {
            self.close_adapter(gathered);
            self.adapter = Some(DeviceRecord::of(place, name, 0));
            return;
        }
        let Some(adapter) = &self.adapter else {
            return gathered.unread(place, text, ADAPTER);
        };
        if let Some(number) = line.strip_prefix("Port ").and_then(|line| line.strip_suffix(':')) {
            match number.parse() {
                Ok(port) => {
                    let record = DeviceRecord { port, line: place.line, ..adapter.clone() };
                    self.close_port(gathered);
                    self.port = Some(record);
                }
                Err(_) => gathered.unread(place, text, "a port: 'Port 1:'"),
            }
        } else if let Some((name, value)) = line.split_once(':').filter(|_| is_ended) {
            let record = self.port.as_mut().or(self.adapter.as_mut());
            if record.is_none_or(|record| field(record, name, value.trim()).is_none()) {
                gathered.unread(place, text, FIELD);
            }
        } else {
            gathered.unread(place, text, FIELD);
        }
    }

    fn close_port(&mut self, gathered: &mut Gathered) {
        if let Some(port) = self.port.take() {
            self.n_ports += 1;
            gathered.devices.push(port);
        }
    }

    /// An adapter whose ports were not printed (`ibstat -s`) is a device too.
    fn close_adapter(&mut self, gathered: &mut Gathered) {
        self.close_port(gathered);
        let n_ports = std::mem::take(&mut self.n_ports);
        gathered.devices.extend(self.adapter.take().filter(|_| n_ports == 0));
    }
}

/// The name of `CA 'mlx5_0'`, or of `CA: 'mlx5_0'` where one port was asked for.
fn adapter(line: &str) -> Option<&str> {
    let kinds = ["CA", "Switch", "Router", "iWARP RNIC", "???"];
    let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    let name = name.strip_prefix(':').unwrap_or(name).strip_prefix(" '")?;
    name.trim_end().strip_suffix('\'')
}

/// Note a field; none where its value cannot be one.
fn field(record: &mut DeviceRecord, name: &str, value: &str) -> Option<()> {
    let hex = || u64::from_str_radix(value.strip_prefix("0x")?, 16).ok();
    match name {
        "Node GUID" => record.node_guid = Some(hex()?),
        "Port GUID" => record.port_guid = Some(hex()?),
        "State" => record.state = Some(value.to_owned()),
        "Physical state" => record.physical_state = Some(value.to_owned()),
        "Link layer" => record.link_layer = Some(value.to_owned()),
        "Base lid" => {
            // 65535 stands for none, as 0 does.
            let lid = value.parse().ok()?;
            record.lid = (1..MULTICAST_LID).contains(&lid).then_some(lid);
        }
        "Rate" => {
            let rate: f64 = value.split(' ').next()?.parse().ok()?;
            if !rate.is_finite() || rate < 0.0 {
                return None;
            }
            // 0 where the rate is not known.
            record.rate_gbps = (rate > 0.0).then_some(rate);
            if value.contains('(') {
                record.note(name, value);
            }
        }
        _ => record.note(name, value),
    }
    Some(())
}
