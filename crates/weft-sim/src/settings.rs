//! Settings by name, as documents write them.

/// A structure of settings: each with its meaning, its type, and its value where a document leaves
/// it out.
macro_rules! settings {
    ($(#[$about:meta])+ pub struct $name:ident {
        $($(#[$meaning:meta])+ pub $key:ident: $kind:ty = $usual:expr,)+
    }) => {
        #[derive(Clone, Debug, serde::Deserialize)]
        $(#[$about])+
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$meaning])+ pub $key: $kind,)+
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($key: $usual,)+ }
            }
        }
    };
}

pub(crate) use settings;
