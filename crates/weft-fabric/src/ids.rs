//! Indices of the parts of a fabric: 32 bits each, one type each.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into the vector it belongs to.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

pub(crate) use id;

id!(
    /// A compute node, in document order.
    NodeId
);
id!(
    /// A vertex of the graph: the HCAs in document order, then the switches.
    VertexId
);
id!(
    /// A host channel adapter; the same number as its vertex.
    HcaId
);
id!(
    /// A switch, in document order, counted from 0.
    SwitchId
);
id!(
    /// One end of a cable; it owns its egress. The ports of a vertex are contiguous.
    PortId
);

impl HcaId {
    /// The vertex this HCA is.
    pub fn vertex(self) -> VertexId {
        VertexId(self.0)
    }
}
