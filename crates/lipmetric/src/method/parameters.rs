//! A method's parameters, declared once: struct, defaults, setters, what a file may say, and a table of the fields.

/// A parameter of a method: an entry of [`Spec::fields`](super::Spec::fields).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Its name, in Rust and in a file.
    pub name: &'static str,
    /// The lines of its description.
    pub doc: &'static [&'static str],
}

/// Declares the parameters of a method.
///
/// `field: Type = default` has a setter that takes a `Type`; `field: Type as impl Into<Type> = default` one that takes what can
/// become a `Type`.
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident = $method:literal {
            $($(#[doc = $doc:literal])* $field:ident: $type:ty $(as $arg:ty)? = $default:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $name {
            pub(super) const NAME: &'static str = $method;
            pub(super) const FIELDS: &'static [$crate::method::Field] =
                &[$($crate::method::Field { name: stringify!($field), doc: &[$($doc),*] }),*];

            /// The method with its defaults.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            $(parameters!(@setter [$($doc)*] $field, $type $(, $arg)?);)*
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("the parameters of ", $method))
                    }

                    #[allow(unused_mut, reason = "a method may have no parameter")]
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        let mut out = $name::default();
                        while let Some(key) = map.next_key::<String>()? {
                            match key.as_str() {
                                $(stringify!($field) => {
                                    out.$field = map.next_value().map_err(|e| {
                                        serde::de::Error::custom(format_args!("`{}`: {e}", stringify!($field)))
                                    })?;
                                })*
                                _ => return Err($crate::method::parameters::unknown(&key, $method, $name::FIELDS)),
                            }
                        }
                        Ok(out)
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }
    };
    (@setter [$($doc:literal)*] $field:ident, $type:ty) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $field(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
    };
    (@setter [$($doc:literal)*] $field:ident, $type:ty, $arg:ty) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $field(mut self, $field: $arg) -> Self {
            self.$field = $field.into();
            self
        }
    };
}
pub(super) use parameters;

/// The refusal of a field that a method does not have.
pub(super) fn unknown<E: serde::de::Error>(key: &str, method: &str, fields: &[Field]) -> E {
    let known: Vec<&str> = fields.iter().map(|f| f.name).collect();
    match known[..] {
        [] => E::custom(format_args!("`{key}` is no parameter of {method}, which has none")),
        _ => E::custom(format_args!("`{key}` is no parameter of {method}; it has {}", known.join(", "))),
    }
}
