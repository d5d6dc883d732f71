//! Lists of port numbers by (switch, leaf), each distinct list stored once.
//!
//! A fat-tree has few distinct lists. A simulation reads a row of small numbers at a switch: two
//! bytes a leaf instead of two bytes a host.

use prefetch_index::prefetch_index;
use std::collections::HashMap;

/// Numbers of lists: 16 bits each as long as that many suffice.
#[derive(Clone, Debug)]
enum Ids {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct LeafTable {
    n_leaves: usize,
    ids: Ids,
    /// By list: where it begins in `pool`, and one past the last.
    starts: Vec<u32>,
    pool: Vec<u16>,
}

impl LeafTable {
    /// A table whose lists are all empty.
    pub(crate) fn empty(n_switches: usize, n_leaves: usize) -> LeafTable {
        let ids = Ids::Narrow(vec![0; n_switches * n_leaves]);
        LeafTable { n_leaves, ids, starts: vec![0, 0], pool: Vec::new() }
    }

    /// The number of the list of a switch towards a leaf.
    #[inline(always)]
    pub(crate) fn id(&self, switch: usize, leaf: usize) -> usize {
        let at = switch * self.n_leaves + leaf;
        match &self.ids {
            Ids::Narrow(ids) => usize::from(ids[at]),
            Ids::Wide(ids) => ids[at] as usize,
        }
    }

    /// Have the number of a list in the cache soon.
    #[inline(always)]
    pub(crate) fn fetch(&self, switch: usize, leaf: usize) {
        let at = switch * self.n_leaves + leaf;
        match &self.ids {
            Ids::Narrow(ids) => prefetch_index(ids, at),
            Ids::Wide(ids) => prefetch_index(ids, at),
        }
    }

    /// The list of a switch towards a leaf.
    #[inline(always)]
    pub(crate) fn get(&self, switch: usize, leaf: usize) -> &[u16] {
        let id = self.id(switch, leaf);
        &self.pool[self.starts[id] as usize..self.starts[id + 1] as usize]
    }

    /// Store a list that is new, without looking whether it is.
    pub(crate) fn set_new(&mut self, switch: usize, leaf: usize, list: &[u16]) {
        let id = self.append(list);
        self.put(switch, leaf, id);
    }

    fn append(&mut self, list: &[u16]) -> u32 {
        self.pool.extend_from_slice(list);
        let end = u32::try_from(self.pool.len()).expect("tables of at most 2^32 entries");
        self.starts.push(end);
        self.starts.len() as u32 - 2
    }

    fn put(&mut self, switch: usize, leaf: usize, id: u32) {
        let at = switch * self.n_leaves + leaf;
        if let Ids::Narrow(ids) = &self.ids
            && id > u32::from(u16::MAX)
        {
            self.ids = Ids::Wide(ids.iter().copied().map(u32::from).collect());
        }
        match &mut self.ids {
            Ids::Narrow(ids) => ids[at] = id as u16,
            Ids::Wide(ids) => ids[at] = id,
        }
    }
}

/// Fills a table, each distinct list once.
#[derive(Debug)]
pub(crate) struct LeafTableBuilder {
    table: LeafTable,
    known: HashMap<Vec<u16>, u32>,
}

impl LeafTableBuilder {
    pub(crate) fn new(n_switches: usize, n_leaves: usize) -> LeafTableBuilder {
        let known = HashMap::from([(Vec::new(), 0)]);
        LeafTableBuilder { table: LeafTable::empty(n_switches, n_leaves), known }
    }

    pub(crate) fn set(&mut self, switch: usize, leaf: usize, list: &[u16]) {
        let id = match self.known.get(list) {
            Some(id) => *id,
            None => {
                let id = self.table.append(list);
                self.known.insert(list.to_vec(), id);
                id
            }
        };
        self.table.put(switch, leaf, id);
    }

    pub(crate) fn finish(mut self) -> LeafTable {
        self.table.pool.shrink_to_fit();
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::{LeafTable, LeafTableBuilder};

    #[test]
    fn a_list_is_stored_once_and_found_wherever_it_was_put() {
        let mut builder = LeafTableBuilder::new(3, 4);
        for switch in 0..3 {
            builder.set(switch, 2, &[5, 6, 7]);
            builder.set(switch, 3, &[switch as u16]);
        }
        let table = builder.finish();
        assert_eq!(table.pool.len(), 3 + 3);
        assert_eq!(table.get(2, 2), [5, 6, 7]);
        assert_eq!(table.get(1, 3), [1]);
        assert!(table.get(1, 0).is_empty());
    }

    #[test]
    fn more_lists_than_sixteen_bits_count_are_distinguished() {
        let n = 70_000;
        let mut table = LeafTable::empty(1, n);
        for leaf in 0..n {
            table.set_new(0, leaf, &[leaf as u16, (leaf >> 16) as u16]);
        }
        for leaf in [0, 65_534, 65_535, 65_536, n - 1] {
            assert_eq!(table.get(0, leaf), [leaf as u16, (leaf >> 16) as u16]);
        }
    }
}
