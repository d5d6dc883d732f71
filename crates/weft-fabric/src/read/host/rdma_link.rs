//! `rdma link`, as text and as JSON.
//!
//! SOURCE: iproute2's `rdma/link.c`: `link mlx5_0/1 ...`, before version 5.7 `1/1: mlx5_0/1: ...`;
//! with `-j` an array, the name with the port in it in the old one.

use super::unread_json;
use crate::read::format::{Format, MAX_HOST_BYTES};
use crate::read::lines::Lines;
use crate::subnet::MULTICAST_LID;
use crate::subnet::records::{DeviceRecord, Gathered, Place};
use serde_json::Value;
use std::io;

const LINK: &str = "a link: 'link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ib0'";
const DOCUMENT: &str = "what 'rdma -j link' prints: an array of links with 'ifname'";

/// `link mlx5_0/1 subnet_prefix ... lid 66 sm_lid 3 lmc 0 state ACTIVE physical_state LINK_UP`
pub(crate) const TEXT: Format =
    Format { name: "rdma link", is_it: is_text, max_bytes: MAX_HOST_BYTES, read: read_text };
/// `[{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP"}]`
pub(crate) const JSON: Format =
    Format { name: "rdma -j link", is_it: is_json, max_bytes: MAX_HOST_BYTES, read: read_json };

fn is_text(head: &str) -> bool {
    head.lines().any(|line| name_of(line).is_some() && line.contains(" state "))
}

fn is_json(head: &str) -> bool {
    let begins = head.trim_start().starts_with(['[', '{']);
    begins && head.contains("\"ifname\"") && head.contains("\"physical_state\"")
}

fn read_text(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut is_link = false;
    while let Some((place, text)) = lines.next_full()? {
        if let Some((device, port, tail)) = name_of(&text) {
            let mut record = DeviceRecord::of(place, device, port);
            let mut words = tail.split_whitespace();
            while let Some(name) = words.next() {
                let value = words.next().filter(|_| lines.is_ended);
                if value.is_none_or(|value| field(&mut record, name, value).is_none()) {
                    gathered.unread(place, &text, LINK);
                }
            }
            gathered.devices.push(record);
            is_link = true;
        } else if let Some(capabilities) = text.trim().strip_prefix("caps: <").filter(|_| is_link) {
            if let Some(record) = gathered.devices.last_mut() {
                record.note("caps", capabilities.trim_end_matches('>'));
            }
        } else {
            gathered.unread(place, &text, LINK);
        }
    }
    Ok(())
}

/// Device, port and what follows of `link mlx5_0/1 ...` or `1/1: mlx5_0/1: ...`.
fn name_of(line: &str) -> Option<(&str, u8, &str)> {
    let (name, tail) = match line.strip_prefix("link ") {
        Some(tail) => tail.split_once(' ')?,
        None => {
            let (numbers, tail) = line.split_once(": ")?;
            let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'/';
            if numbers.is_empty() || !numbers.bytes().all(is_number) {
                return None;
            }
            tail.split_once(": ")?
        }
    };
    let (device, port) = name.rsplit_once('/')?;
    (!device.is_empty()).then_some((device, port.parse().ok()?, tail))
}

/// Note a field; none where its value cannot be one.
fn field(record: &mut DeviceRecord, name: &str, value: &str) -> Option<()> {
    match name {
        "state" => record.state = Some(value.to_owned()),
        "physical_state" => record.physical_state = Some(value.to_owned()),
        "lid" => {
            // 0 and 65535 stand for none; Omni-Path has larger ones.
            let lid: u32 = value.parse().ok()?;
            let unicast = u16::try_from(lid).ok().filter(|lid| *lid < MULTICAST_LID);
            record.lid = unicast.filter(|lid| *lid > 0);
            if unicast.is_none() {
                record.note(name, value);
            }
            // Only ports of InfiniBand have one.
            record.link_layer = Some("InfiniBand".to_owned());
        }
        _ => record.note(name, value),
    }
    Some(())
}

fn read_json(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let text = lines.whole_text(MAX_HOST_BYTES as usize)?;
    let place = lines.at(1);
    let links = match serde_json::from_str(&text) {
        Ok(Value::Array(links)) => links,
        Ok(link) => vec![link],
        Err(error) => {
            unread_json(&error, lines, gathered, DOCUMENT);
            return Ok(());
        }
    };
    for link in &links {
        match device_of(link, place) {
            Some((record, None)) => gathered.devices.push(record),
            Some((record, Some(wrong))) => {
                gathered.unread(place, &wrong, "a LID, a state, a name");
                gathered.devices.push(record);
            }
            None => gathered.unread(place, &link.to_string(), DOCUMENT),
        }
    }
    Ok(())
}

/// A link's device, and the field that cannot be.
fn device_of(link: &Value, place: Place) -> Option<(DeviceRecord, Option<String>)> {
    let link = link.as_object()?;
    let name = link.get("ifname")?.as_str()?;
    let port = link.get("port").and_then(Value::as_u64).and_then(|port| u8::try_from(port).ok());
    let (device, named) = match name.rsplit_once('/') {
        Some((device, port)) => (device, port.parse().ok()),
        None => (name, None),
    };
    let mut record = DeviceRecord::of(place, device, port.or(named)?);
    let mut wrong = None;
    for (name, value) in link.iter().filter(|(name, _)| *name != "ifname" && *name != "port") {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Array(values) => {
                let words = values.iter().map(|value| value.as_str().unwrap_or("?"));
                words.collect::<Vec<&str>>().join(", ")
            }
            other => other.to_string(),
        };
        if field(&mut record, name, &value).is_none() {
            wrong = Some(format!("\"{name}\": {value}"));
        }
    }
    Some((record, wrong))
}
