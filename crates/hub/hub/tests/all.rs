//! All tests of this crate are one program, because the build links each test program by itself, which takes time.

#![allow(elided_lifetimes_in_paths, reason = "as a program writes it")]

mod access;
mod common;
mod damage;
mod description;
mod erase;
mod hub;
mod jwt;
mod page;
mod refusals;
mod replicas;
mod replies;
mod sockets;
mod spans;
mod stream_bodies;
mod tls;
mod values;
