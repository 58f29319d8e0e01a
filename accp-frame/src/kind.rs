//! The types of the registry as marker types, so that the compiler can check a Rust type against
//! the type of its field.
//!
//! `#[derive(AccpFrame)]` writes `<T as DecodeValue<'_, kind::Text>>` for a field that the registry
//! declares as `text`. A Rust type that cannot hold text does not compile. The choice costs nothing
//! at run time.

use core::marker::PhantomData;

/// `string`: raw or marked, never another type.
#[derive(Debug)]
pub struct String(());
/// `text`: always the text form.
#[derive(Debug)]
pub struct Text(());
/// `integer`, within [`i64`].
#[derive(Debug)]
pub struct Integer(());
/// `decimal`, at most six places, exact.
#[derive(Debug)]
pub struct Decimal(());
/// `number`, a float.
#[derive(Debug)]
pub struct Number(());
/// `boolean`.
#[derive(Debug)]
pub struct Boolean(());
/// `agent`: an agent id.
#[derive(Debug)]
pub struct Agent(());
/// `enum(..)`: one of the names of a closed set.
#[derive(Debug)]
pub struct Enum(());
/// `[T]`.
#[derive(Debug)]
pub struct List<T>(PhantomData<T>);
/// `{T}`.
#[derive(Debug)]
pub struct Map<T>(PhantomData<T>);
/// The code of a schema: a map of that schema's fields.
#[derive(Debug)]
pub struct Schema(());
/// `K`, read into a type that borrows nothing: `AgentId<'static>`, `Value<'static>`. The derive
/// writes it for a field of such a type, because one Rust type can be read in one way only for
/// each kind.
#[derive(Debug)]
pub struct Owned<K>(PhantomData<K>);
/// `any`: no type is declared.
#[derive(Debug)]
pub struct Any(());
