//! Traits that give one clear compiler error when a Rust type cannot hold the registry type of its field.

use crate::into_owned::IntoOwned;
use crate::typed::DecodeValue;
use crate::writer::EncodeValue;

/// Marks the impl for types that have both halves of the codec.
#[derive(Debug)]
pub enum Codec {}

/// Marks the second impl, which applies to no type.
#[derive(Debug)]
pub enum Never {}

/// A trait without implementations.
pub trait Nothing {}

/// Declares a trait for types that can be written to and read from a field of the registry type `K`. The traits that
/// this macro declares differ only in their compiler errors.
///
/// `How` is always `Codec`, and always inferred. It makes room for a second impl, for `Never`. With a
/// single impl, the compiler would report the bounds of that impl, and not the error of this trait.
macro_rules! holds {
    ($(#[$about:meta])* $name:ident $(<$code:ident>)?) => {
        $(#[$about])*
        pub trait $name<'a, K, How $(, $code)?>: Sized {
            /// The type itself.
            type Type;
            /// Returns the value itself, for writing.
            fn of(&self) -> &Self::Type;
            /// Returns the value that was read, as it is.
            fn back(value: Self::Type) -> Self;
        }

        #[diagnostic::do_not_recommend]
        impl<'a, K, T: EncodeValue<K> + DecodeValue<'a, K> $(, $code)?> $name<'a, K, Codec $(, $code)?> for T {
            type Type = Self;

            #[inline]
            fn of(&self) -> &Self {
                self
            }

            #[inline]
            fn back(value: Self) -> Self {
                value
            }
        }

        #[diagnostic::do_not_recommend]
        impl<K, T: Nothing $(, $code)?> $name<'_, K, Never $(, $code)?> for T {
            type Type = Self;

            fn of(&self) -> &Self {
                self
            }

            fn back(value: Self) -> Self {
                value
            }
        }
    };
}

/// Declares the trait for types with the same name as a type of another crate. If the feature for that crate is
/// off, the error names the feature.
macro_rules! holds_with {
    ($name:ident, $feature:tt, $message:tt, $line:tt) => {
        holds! {
            /// A type that holds values of its field's registry type. For a type of another crate this needs a feature.
            #[cfg_attr(not(feature = $feature), diagnostic::on_unimplemented(
                message = $message,
                label = "the registry declares this field as `{K}`",
                note = $line,
                note = "a type of your own under this name derives `AccpFrame`"
            ))]
            #[cfg_attr(feature = $feature, diagnostic::on_unimplemented(
                message = "`{Self}` cannot hold a value of type `{K}`",
                label = "the registry declares this field as `{K}`",
                note = "the documentation of `accp_runtime::kind` lists the types that fit"
            ))]
            $name
        }
    };
}

holds! {
    /// A type that holds values of its field's registry type.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot hold a value of type `{K}`",
        label = "the registry declares this field as `{K}`",
        note = "the documentation of `accp_runtime::kind` lists the types that fit",
        note = "derive `AccpFrame` for a type of your own; for another crate's type, name a module that converts it: \
                `#[accp(with = module)]`"
    )]
    Holds
}

holds! {
    /// A type that holds records of a schema. The code of the schema is the name of the type `Code`.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot hold a record of schema `{Code}`",
        label = "the registry declares this field as `{Code}`",
        note = "derive `AccpFrame` with this schema for a type of your own; for another crate's type, name a module that \
                converts it: `#[accp(with = module)]`"
    )]
    HoldsRecord<Code>
}

/// An owned type (such as `Text<'static>`) that holds values of its field's registry type. A reader reads the borrowing
/// type `Read` (such as `Text<'a>`), and makes it owned.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a value of type `{K}`",
    label = "the registry declares this field as `{K}`",
    note = "the documentation of `accp_runtime::kind` lists the types that fit",
    note = "derive `AccpFrame` for a type of your own, or implement `EncodeValue`, `DecodeValue` and `IntoOwned` for every \
            lifetime; for another crate's type, name a module that converts it: `#[accp(with = module)]`"
)]
pub trait HoldsOwned<'a, K, How, Read>: Sized {
    /// The type itself.
    type Type;
    /// The borrowing type that is read.
    type Read;
    /// Returns the value itself, for writing.
    fn of(&self) -> &Self::Type;
    /// Returns the value that was read, owned.
    fn back(value: Self::Read) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'a, K, T, Read> HoldsOwned<'a, K, Codec, Read> for T
where
    T: EncodeValue<K>,
    Read: DecodeValue<'a, K> + IntoOwned<Owned = T>,
{
    type Type = Self;
    type Read = Read;

    #[inline]
    fn of(&self) -> &Self {
        self
    }

    #[inline]
    fn back(value: Read) -> Self {
        value.into_owned()
    }
}

#[diagnostic::do_not_recommend]
impl<K, T: Nothing, Read> HoldsOwned<'_, K, Never, Read> for T {
    type Type = Self;
    type Read = Self;

    fn of(&self) -> &Self {
        self
    }

    fn back(value: Self) -> Self {
        value
    }
}

holds_with!(
    HoldsChrono,
    "chrono",
    "`{Self}` cannot be in a frame without feature `chrono` of accp-runtime",
    "in Cargo.toml: accp-runtime = {{ version = \"0.1\", features = [\"chrono\"] }}"
);

holds_with!(
    HoldsRustDecimal,
    "rust_decimal",
    "`{Self}` cannot be in a frame without feature `rust_decimal` of accp-runtime",
    "in Cargo.toml: accp-runtime = {{ version = \"0.1\", features = [\"rust_decimal\"] }}"
);

holds_with!(
    HoldsTime,
    "time",
    "`{Self}` cannot be in a frame without feature `time` of accp-runtime",
    "in Cargo.toml: accp-runtime = {{ version = \"0.1\", features = [\"time\"] }}"
);

holds_with!(
    HoldsUrl,
    "url",
    "`{Self}` cannot be in a frame without feature `url` of accp-runtime",
    "in Cargo.toml: accp-runtime = {{ version = \"0.1\", features = [\"url\"] }}"
);

holds_with!(
    HoldsUuid,
    "uuid",
    "`{Self}` cannot be in a frame without feature `uuid` of accp-runtime",
    "in Cargo.toml: accp-runtime = {{ version = \"0.1\", features = [\"uuid\"] }}"
);
