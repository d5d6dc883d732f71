//! An abstract machine: ranks run their exchanges with the least a network promises.
//!
//! A send completes only when its receive is posted, a message's contents are those of the moment
//! it was posted, and what came is seen only after a wait for everything. Messages of a pair match
//! in order, and must be of the same size and carry the same blocks at both ends.

use std::collections::{BTreeMap, VecDeque};
use weft_traffic::{Blocks, Exchange, Transfer, Wait};

struct Rank<P> {
    index: u64,
    /// Posted and not complete: sends and receives.
    outstanding: [u32; 2],
    waits: Wait,
    /// By channel, how many receives are complete.
    received: BTreeMap<u32, u32>,
    together: u64,
    landed: Vec<(Blocks, P)>,
}

struct Wire<P> {
    sends: VecDeque<(Transfer, P)>,
    recvs: VecDeque<Transfer>,
}

/// Runs all ranks to their end; panics where one is stuck or a message has no partner.
/// `next` says a rank's moves, `gather` what a send carries, `store` takes what a receive brings.
pub(crate) fn run<S, P: Clone>(
    what: &str,
    states: &mut [S],
    next: impl Fn(u32, u64) -> Option<Exchange>,
    gather: impl Fn(&S, u32, Blocks) -> P,
    store: impl Fn(&mut S, u32, Blocks, P),
) {
    let n = states.len() as u32;
    let idle = || Rank {
        index: 0,
        outstanding: [0, 0],
        waits: Wait::No,
        received: BTreeMap::new(),
        together: 0,
        landed: Vec::new(),
    };
    let mut ranks: Vec<Rank<P>> = (0..n).map(|_| idle()).collect();
    let mut wires: Wires<P> = BTreeMap::new();
    let mut pools: BTreeMap<u64, Vec<(u32, Option<P>)>> = BTreeMap::new();
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for rank in 0..n {
            while passes(&ranks, rank, &next) {
                let me = &mut ranks[rank as usize];
                let state = &mut states[rank as usize];
                if matches!(me.waits, Wait::All | Wait::Together) {
                    me.landed.drain(..).for_each(|(blocks, came)| store(state, rank, blocks, came));
                }
                me.waits = Wait::No;
                let Some(exchange) = next(rank, me.index) else { break };
                moved = true;
                me.index += 1;
                me.waits = exchange.wait;
                me.together += u64::from(exchange.wait == Wait::Together);
                me.outstanding[0] += u32::from(exchange.send.is_some());
                me.outstanding[1] += u32::from(exchange.recv.is_some());
                if let Some(offload) = exchange.offload {
                    let own = offload.contributes.then(|| gather(state, rank, Blocks::All));
                    me.outstanding[1] += 1;
                    let move_number = me.index - 1;
                    let pool = pools.entry(move_number).or_default();
                    pool.push((rank, own));
                    let part = |rank: &u32| next(*rank, move_number).and_then(|e| e.offload);
                    if pool.len() == (0..n).filter(|rank| part(rank).is_some()).count() {
                        reduce(&mut ranks, pools.remove(&move_number).expect("just filled"));
                    }
                }
                let state = &mut states[rank as usize];
                let carried = exchange.send.map(|send| (send, gather(state, rank, send.blocks)));
                if let Some(recv) = exchange.recv {
                    assert_ne!(recv.peer, rank, "{what}: a message to itself");
                    let key = (recv.peer, rank, channel_of(recv));
                    wire(&mut wires, key).recvs.push_back(recv);
                    settle(what, &mut ranks, &mut wires, key);
                }
                if let Some((send, carried)) = carried {
                    let key = (rank, send.peer, channel_of(send));
                    wire(&mut wires, key).sends.push_back((send, carried));
                    settle(what, &mut ranks, &mut wires, key);
                }
            }
        }
    }
    for (rank, me) in ranks.iter_mut().enumerate() {
        let done = me.outstanding == [0, 0] && next(rank as u32, me.index).is_none();
        assert!(done, "{what}: rank {rank} of {n} is stuck at move {}", me.index);
        let state = &mut states[rank];
        me.landed.drain(..).for_each(|(blocks, came)| store(state, rank as u32, blocks, came));
    }
}

fn passes<P>(ranks: &[Rank<P>], rank: u32, next: impl Fn(u32, u64) -> Option<Exchange>) -> bool {
    let me = &ranks[rank as usize];
    match me.waits {
        Wait::No => true,
        Wait::All => me.outstanding == [0, 0],
        Wait::AtMost { receives, sends } => {
            me.outstanding[0] <= sends && me.outstanding[1] <= receives
        }
        Wait::Received { channel, n } => me.received.get(&channel).is_some_and(|own| *own >= n),
        Wait::Together => ranks.iter().enumerate().all(|(number, other)| {
            let come = other.together == me.together || next(number as u32, other.index).is_none();
            other.together > me.together || other.outstanding == [0, 0] && come
        }),
    }
}

/// Every member of a collective of switches gets what each other has added.
fn reduce<P: Clone>(ranks: &mut [Rank<P>], pool: Vec<(u32, Option<P>)>) {
    for (member, _) in &pool {
        let others = pool.iter().filter(|(other, _)| other != member);
        let landed = others.filter_map(|(_, own)| own.clone()).map(|own| (Blocks::All, own));
        let me = &mut ranks[*member as usize];
        me.outstanding[1] -= 1;
        me.landed.extend(landed);
    }
}

/// Source, destination and channel: sends and receives of one such key meet in order.
type Key = (u32, u32, Option<u32>);
type Wires<P> = BTreeMap<Key, Wire<P>>;

fn channel_of(transfer: Transfer) -> Option<u32> {
    match transfer.blocks {
        Blocks::Channel(channel) => Some(channel),
        _ => None,
    }
}

fn wire<P>(wires: &mut Wires<P>, key: Key) -> &mut Wire<P> {
    let empty = || Wire { sends: VecDeque::new(), recvs: VecDeque::new() };
    wires.entry(key).or_insert_with(empty)
}

fn settle<P>(what: &str, ranks: &mut [Rank<P>], wires: &mut Wires<P>, key: Key) {
    let (src, dst, channel) = key;
    let wire = wire(wires, key);
    if wire.sends.is_empty() || wire.recvs.is_empty() {
        return;
    }
    let (send, carried) = wire.sends.pop_front().expect("looked");
    let recv = wire.recvs.pop_front().expect("looked");
    if channel.is_none() {
        let sides = ((send.size_bytes, send.blocks), (recv.size_bytes, recv.blocks));
        assert_eq!(sides.0, sides.1, "{what}: {src} sends other than {dst} receives");
    }
    ranks[src as usize].outstanding[0] -= 1;
    let there = &mut ranks[dst as usize];
    there.outstanding[1] -= 1;
    there.landed.push((recv.blocks, carried));
    if let Some(channel) = channel {
        *there.received.entry(channel).or_default() += 1;
    }
}
