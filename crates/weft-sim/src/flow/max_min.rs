//! Max-min fair rates, solved again only where something has changed.
//!
//! Rates are max-min fair if and only if every flow has a bottleneck: a link that is full and on
//! which no flow is faster. SOURCE: Bertsekas and Gallager, "Data Networks" (2nd ed., 1992),
//! section 6.5.2. What begins or ends at one instant is one batch: the flows whose bottleneck that
//! touches are released and filled anew among the others. Flows that lose their bottleneck by this,
//! or are faster on another's, are released as well, until no flow is. So flows on links that are
//! not full never see each other.
//!
//! INVARIANT: rates are multiples of 2^-10 bit/s below 2^43, so sums of them are exact and the
//! order of adding does not matter; only shares of split flows are rounded.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rates are rounded down to multiples of this, in bits a second.
const QUANTUM: f64 = 1.0 / 1024.0;
/// Rates that differ by no more than this part of them are equal.
const ALIKE: f64 = 1e-9;
/// No link, or no flow.
const NONE: u32 = u32::MAX;
/// Flows that are on a link's list.
const LISTED: u32 = u32::MAX - 1;

/// A link on a flow's path, and which part of the flow crosses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) link: u32,
    /// Where the link's list has it.
    place: u32,
    pub(crate) weight: f64,
}

impl Use {
    pub(crate) fn new(link: u32, weight: f64) -> Use {
        Use { link, place: NONE, weight }
    }
}

/// A flow under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    pub(crate) uses: Vec<Use>,
    /// It has its links to itself, and is on no list of theirs.
    exclusive: bool,
    /// Bits a second; as released, nothing.
    pub(crate) rate: f64,
    /// Its rate before it was released.
    before: f64,
    bottleneck: u32,
    /// The batch that released it last, and the filling that froze it last.
    released: u64,
    frozen: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SharedLink {
    pub(crate) capacity: f64,
    /// The rate that flows take of it that are not released.
    used: f64,
    /// Flows, and which of their uses it is.
    pub(crate) crossing: Vec<(u32, u32)>,
    /// The batch that touched it last; the other fields are of that batch.
    touched: u64,
    /// Its remaining rate while it is filled, and for how many flows of what weight.
    room: f64,
    weight: f64,
    n_open: u32,
    /// The fastest of the released flows on it, and what those have whose bottleneck it is.
    top: f64,
    level: f64,
}

/// Links, the flows on them, and their rates.
#[derive(Debug, Default)]
pub(crate) struct FairShares {
    pub(crate) links: Vec<SharedLink>,
    /// By link: the flow that has it to itself and is on no list, [`LISTED`] or [`NONE`].
    holder: Vec<u32>,
    pub(crate) flows: Vec<Flow>,
    free: Vec<u32>,
    /// Flows whose rate is to be solved.
    dirty: Vec<u32>,
    batch: u64,
    filling: u64,
    /// How often solving has looked at a flow on a link.
    pub(crate) n_looks: u64,
    released: Vec<u32>,
    touched: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

fn floored(rate: f64) -> f64 {
    (rate.max(0.0) / QUANTUM).floor() * QUANTUM
}

fn is_above(a: f64, b: f64) -> bool {
    a > b + b * ALIKE + QUANTUM
}

impl SharedLink {
    fn new(capacity: f64) -> SharedLink {
        SharedLink { capacity, level: f64::INFINITY, ..SharedLink::default() }
    }

    /// The remainder that rounding down leaves of a full link.
    fn slack(&self) -> f64 {
        self.capacity * ALIKE + self.crossing.len() as f64 * QUANTUM
    }

    fn share(&self) -> f64 {
        floored(self.room / self.weight)
    }
}

impl FairShares {
    /// Links of these capacities in bits a second.
    pub(crate) fn new(capacities: impl Iterator<Item = f64>) -> FairShares {
        let links: Vec<SharedLink> = capacities.map(SharedLink::new).collect();
        FairShares { holder: vec![NONE; links.len()], links, ..FairShares::default() }
    }

    /// The rate of a flow that has its path to itself.
    pub(crate) fn alone(&self, uses: &[Use]) -> f64 {
        let rates = uses.iter().map(|each| self.links[each.link as usize].capacity / each.weight);
        rates.fold(f64::INFINITY, f64::min)
    }

    /// Let a flow begin that has all its links to itself; none where they are not free.
    pub(crate) fn begin_alone(&mut self, uses: &[Use], rate: f64) -> Option<u32> {
        if uses.iter().any(|each| self.holder[each.link as usize] != NONE) {
            return None;
        }
        let id = self.add(uses, floored(rate));
        self.flows[id as usize].exclusive = true;
        uses.iter().for_each(|each| self.holder[each.link as usize] = id);
        Some(id)
    }

    /// The links of a flow that has them to itself are for others, too.
    pub(crate) fn admit_others(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        flow.exclusive = false;
        let mut least = f64::INFINITY;
        for (index, each) in (0..).zip(&mut flow.uses) {
            let link = &mut self.links[each.link as usize];
            let holder = std::mem::replace(&mut self.holder[each.link as usize], LISTED);
            debug_assert_eq!(holder, id, "a flow that was alone");
            each.place = 0;
            link.crossing.push((id, index));
            link.used = flow.rate * each.weight;
            let here = link.capacity / each.weight;
            if here < least {
                (least, flow.bottleneck) = (here, each.link);
            }
        }
    }

    /// A flow that has its links to itself is over.
    pub(crate) fn end_alone(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        flow.uses.iter().for_each(|each| self.holder[each.link as usize] = NONE);
        flow.uses.clear();
        flow.exclusive = false;
        self.free.push(id);
    }

    fn add(&mut self, uses: &[Use], rate: f64) -> u32 {
        let id = self.free.pop().unwrap_or(self.flows.len() as u32);
        if id as usize == self.flows.len() {
            self.flows.push(Flow::default());
        }
        let flow = &mut self.flows[id as usize];
        flow.uses.clear();
        flow.uses.extend_from_slice(uses);
        (flow.rate, flow.before, flow.bottleneck) = (rate, rate, NONE);
        id
    }

    /// Let a flow begin over these links: its number, and whether it meets others on them. Its rate
    /// is known at once where it takes nothing from others. A rate of 0 is known after the next
    /// [`FairShares::solve`].
    pub(crate) fn begin(&mut self, uses: &[Use]) -> (u32, bool) {
        let id = self.add(uses, 0.0);
        let flow = &mut self.flows[id as usize];
        let (mut room, mut bottleneck, mut meets) = (f64::INFINITY, NONE, false);
        for (index, each) in (0..).zip(&mut flow.uses) {
            let link = &mut self.links[each.link as usize];
            each.place = link.crossing.len() as u32;
            meets |= each.place > 0;
            link.crossing.push((id, index));
            self.holder[each.link as usize] = LISTED;
            let here = (link.capacity - link.used) / each.weight;
            if here < room {
                (room, bottleneck) = (here, each.link);
            }
        }
        if !self.takes_what_is_left(id, floored(room), bottleneck) {
            self.dirty.push(id);
        }
        (id, meets)
    }

    /// The flow on a link that has no other.
    pub(crate) fn only_one_on(&self, link: u32) -> Option<u32> {
        match self.holder[link as usize] {
            NONE => None,
            LISTED => match self.links[link as usize].crossing[..] {
                [(flow, _)] => Some(flow),
                _ => None,
            },
            flow => Some(flow),
        }
    }

    /// Give a new flow what its links have left, if no flow on its bottleneck has more.
    fn takes_what_is_left(&mut self, id: u32, rate: f64, bottleneck: u32) -> bool {
        let crossing = &self.links[bottleneck as usize].crossing;
        let flows = &self.flows;
        if rate == 0.0 || crossing.iter().any(|(other, _)| flows[*other as usize].rate > rate) {
            return false;
        }
        let flow = &mut self.flows[id as usize];
        (flow.rate, flow.before, flow.bottleneck) = (rate, rate, bottleneck);
        for each in &flow.uses {
            self.links[each.link as usize].used += rate * each.weight;
        }
        true
    }

    /// A flow is over: whoever was held up by its links may be faster after the next
    /// [`FairShares::solve`].
    pub(crate) fn end(&mut self, id: u32) {
        let uses = std::mem::take(&mut self.flows[id as usize].uses);
        let rate = self.flows[id as usize].rate;
        for each in &uses {
            let link = &mut self.links[each.link as usize];
            link.used -= rate * each.weight;
            link.crossing.swap_remove(each.place as usize);
            if let Some((other, index)) = link.crossing.get(each.place as usize) {
                self.flows[*other as usize].uses[*index as usize].place = each.place;
            }
            if link.crossing.is_empty() {
                link.used = 0.0;
                self.holder[each.link as usize] = NONE;
                continue;
            }
            let flows = &self.flows;
            let held = |(other, _): &&(u32, u32)| flows[*other as usize].bottleneck == each.link;
            self.dirty.extend(link.crossing.iter().filter(held).map(|(other, _)| *other));
        }
        self.flows[id as usize].uses = uses;
        self.flows[id as usize].bottleneck = NONE;
        self.flows[id as usize].uses.clear();
        self.free.push(id);
    }

    /// Let the next [`FairShares::solve`] look at a flow as well.
    pub(crate) fn solve_too(&mut self, id: u32) {
        self.dirty.push(id);
    }

    /// Whether rates are to be solved.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Solve what the last batch has changed; the flows that have other rates than before, each
    /// once.
    pub(crate) fn solve(&mut self, changed: &mut Vec<u32>) {
        self.batch += 1;
        let mut to_release = std::mem::take(&mut self.dirty);
        while !to_release.is_empty() {
            to_release.drain(..).for_each(|id| self.release(id));
            self.fill();
            self.find_wronged(&mut to_release);
        }
        self.dirty = to_release;
        for id in self.released.drain(..) {
            let flow = &mut self.flows[id as usize];
            for each in &flow.uses {
                self.links[each.link as usize].used += flow.rate * each.weight;
            }
            if flow.rate != flow.before {
                flow.before = flow.rate;
                changed.push(id);
            }
        }
        self.touched.clear();
    }

    /// Take a flow's rate from it, until it is filled.
    fn release(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        // One that has ended since crosses nothing; its number may be that of another by now.
        if flow.released == self.batch || flow.uses.is_empty() || flow.exclusive {
            return;
        }
        flow.released = self.batch;
        self.released.push(id);
        for each in &flow.uses {
            let link = &mut self.links[each.link as usize];
            link.used -= flow.rate * each.weight;
            if link.touched != self.batch {
                link.touched = self.batch;
                self.touched.push(each.link);
            }
        }
        flow.rate = 0.0;
    }

    /// Progressive filling of the released flows in what the others leave.
    fn fill(&mut self) {
        self.filling += 1;
        for number in &self.touched {
            let link = &mut self.links[*number as usize];
            (link.room, link.weight, link.n_open) = (link.capacity - link.used, 0.0, 0);
            (link.top, link.level) = (0.0, f64::INFINITY);
        }
        for id in &self.released {
            let uses = &self.flows[*id as usize].uses;
            self.n_looks += uses.len() as u64;
            for each in uses {
                let link = &mut self.links[each.link as usize];
                link.weight += each.weight;
                link.n_open += 1;
            }
        }
        self.heap.clear();
        let levels = self.touched.iter().filter_map(|number| {
            let link = &self.links[*number as usize];
            (link.n_open > 0).then(|| Reverse((link.share().to_bits(), *number)))
        });
        self.heap.extend(levels);
        while let Some(Reverse((bits, number))) = self.heap.pop() {
            let link = &self.links[number as usize];
            if link.n_open == 0 {
                continue;
            }
            // Filling others has left more for each here, never less.
            let share = link.share().max(f64::from_bits(bits));
            if share.to_bits() > bits {
                self.heap.push(Reverse((share.to_bits(), number)));
                continue;
            }
            self.freeze(number, share);
        }
    }

    /// A link is full: the flows on it that are not frozen yet have this rate.
    fn freeze(&mut self, number: u32, rate: f64) {
        self.links[number as usize].level = rate;
        for place in 0..self.links[number as usize].crossing.len() {
            let (id, _) = self.links[number as usize].crossing[place];
            let flow = &mut self.flows[id as usize];
            if flow.released != self.batch || flow.frozen == self.filling {
                continue;
            }
            (flow.rate, flow.bottleneck, flow.frozen) = (rate, number, self.filling);
            for each in &flow.uses {
                let link = &mut self.links[each.link as usize];
                link.room -= rate * each.weight;
                link.weight -= each.weight;
                link.n_open -= 1;
                link.top = link.top.max(rate);
            }
        }
    }

    /// The flows outside the batch that its filling has wronged: their bottleneck is none any more,
    /// or they are faster on that of another.
    fn find_wronged(&mut self, wronged: &mut Vec<u32>) {
        for number in &self.touched {
            let link = &self.links[*number as usize];
            let full = link.room <= link.slack();
            for (id, _) in &link.crossing {
                let flow = &self.flows[*id as usize];
                if flow.released == self.batch {
                    continue;
                }
                let lost = flow.bottleneck == *number && (!full || is_above(link.top, flow.rate));
                if lost || is_above(flow.rate, link.level) {
                    wronged.push(*id);
                }
            }
        }
    }
}
