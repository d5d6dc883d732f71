//! What differs between versions of NCCL.

/// GB/s of a channel that are tried in turn. SOURCE: NVIDIA/nccl, src/graph/search.cc.
const INSIDE: &[f32] = &[40., 30., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.];
const BETWEEN: &[f32] =
    &[48., 30., 28., 24., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3., 2.4, 1.2, 0.24, 0.12];
const INSIDE_HOPPER: &[f32] = &[60., 50., 40., 30., 24., 20., 15., 12., 11., 6., 3.];
const BETWEEN_HOPPER: &[f32] =
    &[48., 45., 42., 40., 30., 24., 22., 20., 17.5, 15., 12., 6., 3., 2.4, 1.2, 0.24, 0.12];
const INSIDE_HOPPER_2_18: &[f32] = &[60., 40., 30., 24., 20., 15., 12., 6., 3.];
const BETWEEN_HOPPER_2_18: &[f32] =
    &[48., 45., 42., 40., 30., 24., 20., 17.5, 15., 12., 6., 3., 2.4, 1.2, 0.24, 0.12];
const INSIDE_BLACKWELL_2_26: &[f32] = &[90., 80., 70., 60., 50., 40., 30., 24., 20., 19.];
const INSIDE_BLACKWELL: &[f32] = &[90., 80., 70., 60., 50., 40., 30., 24., 20., 19., 18.];
const BETWEEN_BLACKWELL: &[f32] =
    &[96., 48., 45.1, 42., 40., 30., 24., 22., 20., 17.5, 15., 12., 6., 3., 2.4, 1.2, 0.24, 0.12];
const INSIDE_BLACKWELL_2_32: &[f32] = &[90., 80., 70., 60., 50., 45., 40., 30., 24., 20., 19., 18.];
const BETWEEN_BLACKWELL_2_32: &[f32] = &[
    96., 90.2, 86., 80., 48., 45.1, 42., 40., 30., 24., 22., 20., 17.5, 15., 12., 6., 3., 2.4, 1.2,
    0.24, 0.12,
];

const HOPPER: u32 = 90;
const BLACKWELL: u32 = 100;

/// Facts of one version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    version: (u32, u32),
    /// Most channels of a graph, and adapters that are looked at.
    pub(crate) most_channels: usize,
    /// Whether the last channel is also tried again where channels may differ.
    pub(crate) replays_first: bool,
    /// Whether a channel starts at the GPUs of fewest links rather than at the adapter's own.
    pub(crate) starts_at_nearest: bool,
    /// Whether paths from adapters to GPUs count for the farthest type that is tried.
    pub(crate) looks_both_ways: bool,
}

impl Rules {
    pub(crate) fn new((major, minor, _): (u32, u32, u32)) -> Self {
        let version = (major, minor);
        Self {
            version,
            most_channels: if version >= (2, 19) { 64 } else { 32 },
            replays_first: version < (2, 27),
            starts_at_nearest: version < (2, 27),
            looks_both_ways: version >= (2, 29),
        }
    }

    /// Rates that are tried for GPUs of a compute capability, the highest first.
    pub(crate) fn rates(&self, sm: u32, has_nets: bool) -> &'static [f32] {
        let is_old = self.version < (2, 22);
        if sm >= BLACKWELL && !is_old {
            return match (has_nets, self.version >= (2, 27)) {
                (true, true) if self.version >= (2, 29) => BETWEEN_BLACKWELL_2_32,
                (false, true) if self.version >= (2, 29) => INSIDE_BLACKWELL_2_32,
                (true, true) => BETWEEN_BLACKWELL,
                (true, false) => BETWEEN_HOPPER,
                (false, true) => INSIDE_BLACKWELL,
                (false, false) => INSIDE_BLACKWELL_2_26,
            };
        }
        match (sm >= HOPPER, has_nets) {
            (true, true) if is_old => BETWEEN_HOPPER_2_18,
            (true, false) if is_old => INSIDE_HOPPER_2_18,
            (true, true) => BETWEEN_HOPPER,
            (true, false) => INSIDE_HOPPER,
            (false, true) => BETWEEN,
            (false, false) => INSIDE,
        }
    }
}
