//! Faults of cables: a lower rate, a dead cable, two cables swapped.

use super::Fabric;
use crate::error::FabricError;
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

/// Plug the cables at two ports into each other's sockets; their far ends stay.
pub fn swap(fabric: &mut Fabric, place: &str, [a, b]: [PortId; 2]) -> Result<(), FabricError> {
    let ([_, far_of_a], [_, far_of_b]) = (ends(fabric, place, a)?, ends(fabric, place, b)?);
    if a == b || far_of_a == b {
        let what = format!(
            "'{}' and '{}' are not ends of two cables",
            fabric.port_name(a),
            fabric.port_name(b)
        );
        return Err(FabricError::document(place, what, "one end each of two cables"));
    }
    // Rate and delay are the cable's, and move with it.
    let (cable_a, cable_b) = (fabric.ports[a.index()], fabric.ports[b.index()]);
    for (socket, cable, far) in [(a, cable_b, far_of_b), (b, cable_a, far_of_a)] {
        let port = &mut fabric.ports[socket.index()];
        (port.peer, port.rate, port.delay, port.up) =
            (Some(far), cable.rate, cable.delay, cable.up);
        fabric.ports[far.index()].peer = Some(socket);
    }
    Ok(())
}

/// Both ends of the cable at `port`, its own first; an error where it has none.
pub fn ends(fabric: &Fabric, place: &str, port: PortId) -> Result<[PortId; 2], FabricError> {
    let peer = fabric.ports[port.index()].peer.ok_or_else(|| {
        let what = format!("port '{}' has no cable", fabric.port_name(port));
        FabricError::document(place, what, "a cabled port")
    })?;
    Ok([port, peer])
}
