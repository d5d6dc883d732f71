//! Dependencies between channels, a channel being an egress port on one virtual lane, kept in an
//! order that shows that no circle is among them (Dally & Seitz 1987).
//!
//! SOURCE: the order is kept as in Pearce & Kelly, "A Dynamic Topological Sort Algorithm for
//! Directed Acyclic Graphs" (2006).

/// How many lanes are counted for each port.
const LANES: usize = 16;

/// The dependencies. INVARIANT: `order` is larger at the end of every dependency than at its
/// beginning.
#[derive(Debug)]
pub(crate) struct LaneWaits {
    after: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
    order: Vec<u32>,
    seen: Vec<bool>,
}

impl LaneWaits {
    /// None yet, between the channels of so many ports.
    pub(crate) fn new(n_ports: usize) -> LaneWaits {
        let n = n_ports * LANES;
        LaneWaits {
            after: vec![Vec::new(); n],
            before: vec![Vec::new(); n],
            order: (0..n as u32).collect(),
            seen: vec![false; n],
        }
    }

    pub(crate) fn channel(port: u32, lane: u8) -> u32 {
        port * LANES as u32 + u32::from(lane)
    }

    /// The port and the lane of a channel.
    pub(crate) fn place_of(channel: u32) -> (u32, u8) {
        (channel / LANES as u32, (channel % LANES as u32) as u8)
    }

    /// A packet that holds `from` may wait for `to`: whether that is new. The circle that this
    /// would close is the error, its channels in order; then nothing is added.
    pub(crate) fn add(&mut self, from: u32, to: u32) -> Result<bool, Vec<u32>> {
        if from == to {
            return Err(vec![from]);
        }
        if self.after[from as usize].contains(&to) {
            return Ok(false);
        }
        let (low, high) = (self.order[to as usize], self.order[from as usize]);
        if low < high {
            self.make_room(from, to, low, high)?;
        }
        self.after[from as usize].push(to);
        self.before[to as usize].push(from);
        Ok(true)
    }

    /// Take back a dependency.
    pub(crate) fn remove(&mut self, from: u32, to: u32) {
        self.after[from as usize].retain(|channel| *channel != to);
        self.before[to as usize].retain(|channel| *channel != from);
    }

    /// Move what waits for `from` before what `to` waits for, in the places that both have.
    fn make_room(&mut self, from: u32, to: u32, low: u32, high: u32) -> Result<(), Vec<u32>> {
        let later = self.reached(to, from, high)?;
        let mut earlier = vec![from];
        self.seen[from as usize] = true;
        let mut next = 0;
        while next < earlier.len() {
            for channel in self.before[earlier[next] as usize].clone() {
                let is_between = self.order[channel as usize] > low;
                if is_between && !std::mem::replace(&mut self.seen[channel as usize], true) {
                    earlier.push(channel);
                }
            }
            next += 1;
        }
        let mut moved = earlier;
        moved.sort_unstable_by_key(|channel| self.order[*channel as usize]);
        let mut behind = later;
        behind.sort_unstable_by_key(|channel| self.order[*channel as usize]);
        moved.extend(behind);
        let mut places: Vec<u32> = moved.iter().map(|at| self.order[*at as usize]).collect();
        places.sort_unstable();
        for (channel, place) in moved.into_iter().zip(places) {
            self.order[channel as usize] = place;
            self.seen[channel as usize] = false;
        }
        Ok(())
    }

    /// The channels that `start` leads to, those before place `high` alone; the circle if one of
    /// them is `end`.
    fn reached(&self, start: u32, end: u32, high: u32) -> Result<Vec<u32>, Vec<u32>> {
        let mut came_by = std::collections::HashMap::from([(start, start)]);
        let mut found = vec![start];
        let mut next = 0;
        while next < found.len() {
            let at = found[next];
            next += 1;
            for channel in &self.after[at as usize] {
                if *channel == end {
                    return Err(circle(&came_by, start, at, end));
                }
                let is_before = self.order[*channel as usize] < high;
                if is_before && !came_by.contains_key(channel) {
                    came_by.insert(*channel, at);
                    found.push(*channel);
                }
            }
        }
        Ok(found)
    }
}

/// The channels from `start` to `at`, then `end`.
fn circle(
    came_by: &std::collections::HashMap<u32, u32>,
    start: u32,
    mut at: u32,
    end: u32,
) -> Vec<u32> {
    let mut circle = vec![end, at];
    while at != start {
        at = came_by[&at];
        circle.push(at);
    }
    circle.reverse();
    circle
}
