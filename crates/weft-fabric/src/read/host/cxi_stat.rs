//! `cxi_stat`: the Slingshot devices of a host.
//!
//! SOURCE: HPE's `shs-libcxi`, `utils/cxi_stat.c` and its man page.

use crate::read::format::{Format, MAX_HOST_BYTES};
use crate::read::lines::Lines;
use crate::subnet::records::{DeviceRecord, Gathered};
use std::io;

const DEVICE: &str = "a device: 'Device: cxi0'";
const FIELD: &str = "a field of a device: 'Link state: up'";

/// `Device: cxi0`, then fields; with `-r` rates of codewords and of pauses too.
pub(crate) const FORMAT: Format =
    Format { name: "cxi_stat", is_it, max_bytes: MAX_HOST_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| line.trim().starts_with("Device: cxi"))
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let (mut device, mut section) = (None::<DeviceRecord>, String::new());
    while let Some((place, text)) = lines.next_full()? {
        let line = text.trim();
        if let Some(name) = line.strip_prefix("Device: ") {
            gathered.devices.extend(device.take());
            device = Some(DeviceRecord::of(place, name, 1));
            section.clear();
        } else if let Some(device) = &mut device {
            if let Some(name) = line.strip_suffix(':') {
                section = if name == "Rates" { String::new() } else { name.to_owned() };
            } else if !(lines.is_ended && field(device, &section, line)) {
                gathered.unread(place, &text, FIELD);
            }
        } else {
            gathered.unread(place, &text, DEVICE);
        }
    }
    gathered.devices.extend(device);
    Ok(())
}

/// Note a field; no where it is none.
fn field(device: &mut DeviceRecord, section: &str, line: &str) -> bool {
    if let Some((name, value)) = line.split_once(": ") {
        match name {
            "Link state" => device.state = Some(value.to_owned()),
            "Link speed" => {
                device.rate_gbps = rate_gbps(value);
                device.note(name, value);
            }
            _ => match measured(name, value) {
                Some(number) => drop(device.readings.insert(name.to_owned(), number)),
                None => device.note(name, value),
            },
        }
        return true;
    }
    // Counters of PCIe errors: 'RxErr 0' below 'AER CORRECTABLE:'.
    let counter = line.split_once(' ').filter(|_| section.starts_with("AER "));
    let Some((name, Ok(count))) = counter.map(|(name, n)| (name, n.trim().parse::<u32>())) else {
        return line == "No data" && section.starts_with("AER ");
    };
    device.readings.insert(format!("{section} {name}"), f64::from(count));
    true
}

/// The number of 'BS_200G', 'CK_400G', 'bs200G'.
fn rate_gbps(speed: &str) -> Option<f64> {
    let digits = speed.strip_suffix('G')?.rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|rate: &f64| *rate > 0.0 && rate.is_finite())
}

/// The number of a rate ('348.00/s'), a share ('0.0%') or a bit error rate. One below what can be
/// measured ('<1.176e-12') is no number.
fn measured(name: &str, value: &str) -> Option<f64> {
    let is_rate = [" CW", " BER"].iter().any(|end| name.ends_with(end));
    let is_share = name.contains("X Pause") && value.ends_with('%');
    if !is_rate && !is_share {
        return None;
    }
    let number = value.strip_suffix("/s").or_else(|| value.strip_suffix('%')).unwrap_or(value);
    number.parse().ok().filter(|number: &f64| number.is_finite())
}
