//! What differs between versions of NCCL.

/// GB/s of a channel that are tried in turn. SOURCE: NVIDIA/nccl, src/graph/search.cc.
const INSIDE: &[f32] = &[40., 30., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.];
const BETWEEN: &[f32] =
    &[48., 30., 28., 24., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3., 2.4, 1.2, 0.24, 0.12];
const INSIDE_HOPPER: &[f32] = &[60., 50., 40., 30., 24., 20., 15., 12., 11., 6., 3.];
const BETWEEN_HOPPER: &[f32] =
    &[48., 45., 42., 40., 30., 24., 22., 20., 17.5, 15., 12., 6., 3., 2.4, 1.2, 0.24, 0.12];
const INSIDE_BLACKWELL_2_26: &[f32] = &[90., 80., 70., 60., 50., 40., 30., 24., 20., 19.];
const INSIDE_BLACKWELL: &[f32] = &[90., 80., 70., 60., 50., 40., 30., 24., 20., 19., 18.];
const BETWEEN_BLACKWELL: &[f32] =
    &[96., 48., 45.1, 42., 40., 30., 24., 22., 20., 17.5, 15., 12., 6., 3., 2.4, 1.2, 0.24, 0.12];

const HOPPER: u32 = 90;
const BLACKWELL: u32 = 100;

/// Most channels of a graph, and adapters that are looked at.
pub(crate) const MOST_CHANNELS: usize = 64;

/// Facts of one version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    version: (u32, u32),
    /// Whether the last channel is also tried again where channels may differ.
    pub(crate) replays_first: bool,
    /// Whether a channel starts at the GPUs of fewest links rather than at the adapter's own.
    pub(crate) starts_at_nearest: bool,
}

impl Rules {
    pub(crate) fn new((major, minor, _): (u32, u32, u32)) -> Self {
        let version = (major, minor);
        Self { version, replays_first: version < (2, 27), starts_at_nearest: version < (2, 27) }
    }

    /// Rates that are tried for GPUs of a compute capability, the highest first.
    pub(crate) fn rates(&self, sm: u32, has_nets: bool) -> &'static [f32] {
        match (sm, has_nets) {
            (BLACKWELL.., true) if self.version >= (2, 27) => BETWEEN_BLACKWELL,
            (BLACKWELL.., false) if self.version >= (2, 27) => INSIDE_BLACKWELL,
            (BLACKWELL.., false) => INSIDE_BLACKWELL_2_26,
            (HOPPER.., true) => BETWEEN_HOPPER,
            (HOPPER.., false) => INSIDE_HOPPER,
            (_, true) => BETWEEN,
            (_, false) => INSIDE,
        }
    }
}
