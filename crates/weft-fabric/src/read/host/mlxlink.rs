//! `mlxlink`: a port of an NVIDIA device, its cable and its bit error rates, as JSON or as text.
//!
//! SOURCE: NVIDIA's mstflint, `mlxlink_cmd_print.cpp` for the JSON (`result`, `output`, a section,
//! fields; lists under `values`), public outputs of MFT 4.24 to 4.35 for names and values.

use super::unread_json;
use crate::read::format::{Format, MAX_HOST_BYTES};
use crate::read::lines::Lines;
use crate::subnet::link::{LinkRate, Speed, Width};
use crate::subnet::records::{DeviceRecord, Gathered, Place};
use serde_json::Value;
use std::io;

const DOCUMENT: &str = "what 'mlxlink --json' prints: {\"result\": {\"output\": {...}}}";
const FIELD: &str = "a field: 'State : Active'";
const OPERATIONAL: &str = "Operational Info";

/// `{"result": {"output": {"Operational Info": {...}}}, "status": {"code": 0}}`
pub(crate) const JSON: Format =
    Format { name: "mlxlink --json", is_it: is_json, max_bytes: MAX_HOST_BYTES, read: read_json };
/// Sections, each with a line of dashes below its title, and `State : Active`.
pub(crate) const TEXT: Format =
    Format { name: "mlxlink", is_it: is_text, max_bytes: MAX_HOST_BYTES, read: read_text };

fn is_json(head: &str) -> bool {
    let is_answer = head.contains("\"result\"") && head.contains("\"output\"");
    head.trim_start().starts_with('{') && is_answer
}

fn is_text(head: &str) -> bool {
    let mut lines = head.lines().map(str::trim);
    lines.any(|line| line == OPERATIONAL) && lines.next().is_some_and(is_underline)
}

fn read_json(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let text = lines.whole_text(MAX_HOST_BYTES as usize)?;
    let place = lines.at(1);
    for document in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        match document {
            Ok(document) => answer(&document, place, gathered),
            Err(error) => {
                unread_json(&error, lines, gathered, DOCUMENT);
                break;
            }
        }
    }
    Ok(())
}

/// An answer of the tool; there is one for each call.
fn answer(document: &Value, place: Place, gathered: &mut Gathered) {
    let status = &document["status"];
    if status["code"].as_i64().is_some_and(|code| code != 0) {
        gathered.unread(place, &format!("mlxlink failed: {status}"), "status code 0");
    }
    let Some(sections) = document["result"]["output"].as_object() else {
        gathered.unread(place, &document.to_string(), DOCUMENT);
        return;
    };
    let mut record = begun(place, gathered);
    for (section, fields) in sections {
        let Some(fields) = fields.as_object() else {
            gathered.unread(place, &format!("\"{section}\": {fields}"), "a section of fields");
            continue;
        };
        for (name, value) in fields {
            let list = value.get("values").unwrap_or(value);
            let values: Vec<String> = match list {
                Value::Array(values) => values.iter().map(plain).collect(),
                other => vec![plain(other)],
            };
            field(&mut record, section, name, &values);
        }
    }
    close(record, gathered);
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned())
}

fn read_text(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let (mut record, mut section) = (None::<DeviceRecord>, String::new());
    while let Some((place, text)) = lines.next_full()? {
        let line = text.trim();
        if let Some((name, value)) = line.split_once(" : ").filter(|_| lines.is_ended) {
            let record = record.get_or_insert_with(|| begun(place, gathered));
            field(record, &section, name.trim_end(), &[value.trim().to_owned()]);
        } else if line.ends_with(" :") && lines.is_ended {
            // A field without a value.
        } else if !is_underline(line) {
            if line == OPERATIONAL {
                if let Some(record) = record.take() {
                    close(record, gathered);
                }
            } else if !line.ends_with(" Info") && !line.ends_with("Information") {
                gathered.unread(place, &text, FIELD);
            }
            section = line.to_owned();
        }
    }
    if let Some(record) = record {
        close(record, gathered);
    }
    Ok(())
}

fn is_underline(line: &str) -> bool {
    line.len() > 3 && line.bytes().all(|byte| byte == b'-')
}

/// The tool does not name the device it was asked about: the file's name stands for it.
fn begun(place: Place, gathered: &Gathered) -> DeviceRecord {
    let name = gathered.sources.get(place.source as usize).map_or("", |source| &source.name);
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let device = name.split('.').next().unwrap_or_default();
    DeviceRecord::of(place, device, 1)
}

fn field(record: &mut DeviceRecord, section: &str, name: &str, values: &[String]) {
    let value = values.join(",");
    if matches!(value.as_str(), "" | "N/A") {
        return;
    }
    if section == OPERATIONAL && name == "State" {
        record.state = Some(value);
    } else if section == OPERATIONAL && name == "Physical state" {
        record.physical_state = Some(value);
    } else if let Some(numbers) = measured(section, name, &value) {
        let is_list = numbers.len() > 1;
        for (lane, number) in numbers.into_iter().enumerate() {
            let name = if is_list { format!("{name} {lane}") } else { name.to_owned() };
            record.readings.insert(name, number);
        }
    } else if record.facts.contains_key(name) {
        record.facts.insert(format!("{section}: {name}"), value);
    } else {
        record.facts.insert(name.to_owned(), value);
    }
}

/// The numbers of a counter, a bit error rate or a sensor: one, or one a lane. Behind a sensor's
/// value stands the range that is allowed, in brackets.
fn measured(section: &str, name: &str, value: &str) -> Option<Vec<f64>> {
    let is_counter = section == "Physical Counters and BER Info";
    let is_sensor = ["[C]", "[mV]", "[mA]", "[dBm]"].iter().any(|unit| name.ends_with(unit));
    if !is_counter && !is_sensor {
        return None;
    }
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    value.split(" [").next()?.split(',').map(number).collect()
}

fn close(mut record: DeviceRecord, gathered: &mut Gathered) {
    let speed = record.facts.get("Speed").cloned().unwrap_or_default();
    let width = record.facts.get("Width").and_then(|width| Width::from_word(width));
    if let Some(name) = speed.strip_prefix("IB-") {
        record.link_layer = Some("InfiniBand".to_owned());
        let rate = Speed::from_word(name).zip(width);
        let rate = rate.map(|(speed, width)| LinkRate { width, speed }.data_rate().0);
        record.rate_gbps = rate.map(|rate| rate as f64 / 1e9);
    } else if let Some(gbps) = speed.split('G').next().and_then(|text| text.parse::<f64>().ok()) {
        record.link_layer = Some("Ethernet".to_owned());
        record.rate_gbps = Some(gbps).filter(|rate| *rate > 0.0 && rate.is_finite());
    }
    gathered.devices.push(record);
}
