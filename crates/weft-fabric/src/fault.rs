//! Faults of cables: slower than sold, or dead.

use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::PortId;

/// Scale the rate of both directions of the cable at `port`.
pub fn scale_rate(
    fabric: &mut Fabric,
    place: &str,
    port: PortId,
    factor: f64,
) -> Result<(), FabricError> {
    if !(factor > 0.0 && factor <= 1.0) {
        let what = format!("the factor is {factor}");
        return Err(FabricError::document(place, what, "a number above 0, up to 1"));
    }
    for end in ends(fabric, place, port)? {
        let rate = fabric.ports[end.index()].rate.scaled(factor);
        if rate.0 == 0 {
            let what = format!("the factor {factor} leaves no rate at all");
            return Err(FabricError::document(place, what, "at least 1 bit a second"));
        }
        fabric.ports[end.index()].rate = rate;
    }
    Ok(())
}

/// Take the cable at `port` down.
pub fn take_down(fabric: &mut Fabric, place: &str, port: PortId) -> Result<(), FabricError> {
    for end in ends(fabric, place, port)? {
        fabric.ports[end.index()].up = false;
    }
    Ok(())
}

fn ends(fabric: &Fabric, place: &str, port: PortId) -> Result<[PortId; 2], FabricError> {
    let peer = fabric.ports[port.index()].peer.ok_or_else(|| {
        let what = format!("port '{}' has no cable", fabric.port_name(port));
        FabricError::document(place, what, "a cabled port")
    })?;
    Ok([port, peer])
}
