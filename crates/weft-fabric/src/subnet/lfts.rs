//! Linear forwarding tables of a subnet: by switch and LID the number of the egress port.

/// No entry: the subnet manager's own mark.
pub const NO_PORT: u8 = 255;

/// The tables of a subnet's switches, by node index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lfts {
    rows: Vec<Option<Vec<u8>>>,
}

impl Lfts {
    /// No tables yet, for `n_nodes` nodes of a subnet.
    pub fn new(n_nodes: usize) -> Lfts {
        Lfts { rows: vec![None; n_nodes] }
    }

    /// The egress port of a node for a LID: 0 is the node itself; none without a table or entry.
    #[inline]
    pub fn port(&self, node: usize, lid: u16) -> Option<u8> {
        let row = self.rows.get(node)?.as_ref()?;
        row.get(usize::from(lid)).copied().filter(|port| *port != NO_PORT)
    }

    /// The whole table of a node, by LID; [`NO_PORT`] where there is no entry.
    pub fn row(&self, node: usize) -> Option<&[u8]> {
        self.rows.get(node)?.as_deref()
    }

    /// Whether any node has a table.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(Option::is_none)
    }

    /// Give a node its table, by LID.
    pub fn set_row(&mut self, node: usize, row: Vec<u8>) {
        self.rows[node] = Some(row);
    }

    /// Set one entry, making room for it.
    pub fn set(&mut self, node: usize, lid: u16, port: u8) {
        let row = self.rows[node].get_or_insert_default();
        if row.len() <= usize::from(lid) {
            row.resize(usize::from(lid) + 1, NO_PORT);
        }
        row[usize::from(lid)] = port;
    }
}
