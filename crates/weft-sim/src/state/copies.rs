//! Packets that leave a switch by several ports: their buffer is free when the last copy has left.

/// A packet that is being copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    /// The input it came by, its lane, and the blocks it holds there.
    pub(crate) port: u32,
    pub(crate) lane: u8,
    pub(crate) blocks: u32,
    /// What its copies carry in the place of their number here.
    pub(crate) message: u32,
    /// Copies that have not left.
    pub(crate) n_left: u32,
    /// When the last bit of those that have left is out.
    pub(crate) left_ps: u64,
}

/// Packets that are being copied, their numbers used again.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    copied: Vec<Copied>,
    free: Vec<u32>,
}

impl Copies {
    pub(crate) fn add(&mut self, copied: Copied) -> u32 {
        if let Some(number) = self.free.pop() {
            self.copied[number as usize] = copied;
            return number;
        }
        self.copied.push(copied);
        self.copied.len() as u32 - 1
    }

    /// A copy's last bit leaves at `left_ps`: what it is a copy of.
    pub(crate) fn leave(&mut self, number: u32, left_ps: u64) -> Copied {
        let copied = &mut self.copied[number as usize];
        copied.n_left -= 1;
        copied.left_ps = copied.left_ps.max(left_ps);
        if copied.n_left == 0 {
            self.free.push(number);
        }
        *copied
    }
}
