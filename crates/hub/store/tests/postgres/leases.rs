//! Leases: who should run a side.

use std::thread::sleep;
use std::time::Duration;

use accp_store::{Lease, MemoryStore, SideId, Store};

use crate::server::{Schema, entry, launch};

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(100);

fn other(lease: Lease) -> (String, Duration) {
    match lease {
        Lease::Other { holder, left } => (holder, left),
        Lease::Held => panic!("it is the holder's who asked"),
    }
}

#[test]
fn a_lease_is_taken_renewed_over_and_released() {
    let schema = Schema::new();
    let (mut a, mut b) = (schema.open(), schema.open());
    let side = launch();
    assert_eq!(a.lease(&side, "a", LONG).unwrap(), Lease::Held);
    let (holder, left) = other(b.lease(&side, "b'\0", LONG).unwrap());
    assert_eq!(holder, "a");
    assert!(left <= LONG && left > LONG / 2, "{left:?}");
    // A renewal for a shorter time shortens the lease.
    assert_eq!(a.lease(&side, "a", SHORT).unwrap(), Lease::Held);
    sleep(2 * SHORT);
    assert_eq!(b.lease(&side, "b'\0", LONG).unwrap(), Lease::Held);
    assert_eq!(other(a.lease(&side, "a", LONG).unwrap()).0, "b'\0");
    // Only the holder can give up a lease.
    a.release(std::slice::from_ref(&side), "a").unwrap();
    assert_eq!(other(a.lease(&side, "a", LONG).unwrap()).0, "b'\0");
    b.release(std::slice::from_ref(&side), "b'\0").unwrap();
    assert_eq!(a.lease(&side, "a", Duration::MAX).unwrap(), Lease::Held);
}

#[test]
fn leases_are_renewed_together_and_those_that_are_lost_are_named() {
    let schema = Schema::new();
    let (mut a, mut b) = (schema.open(), schema.open());
    let sides = ["a", "b\0", "c", "never"].map(|session| SideId::new(session, "hub"));
    for side in &sides[..3] {
        assert_eq!(a.lease(side, "a", SHORT).unwrap(), Lease::Held);
    }
    sleep(2 * SHORT);
    // A lease that is over still belongs to its holder until another process takes it.
    assert_eq!(b.lease(&sides[2], "b", LONG).unwrap(), Lease::Held);
    let lost = a.renew(&sides, "a", LONG).unwrap();
    assert_eq!(lost, sides[2..]);
    assert!(other(b.lease(&sides[1], "b", LONG).unwrap()).1 > LONG / 2);
    assert_eq!(a.renew(&[], "a", LONG).unwrap(), []);
    // A holder that gives up all its leases leaves the leases of other holders alone.
    a.release(&sides, "a").unwrap();
    assert_eq!(b.lease(&sides[0], "b", LONG).unwrap(), Lease::Held);
    assert_eq!(other(a.lease(&sides[2], "a", LONG).unwrap()).0, "b");
}

#[test]
fn a_lease_neither_begins_nor_takes_a_side() {
    let schema = Schema::new();
    let (mut a, mut b) = (schema.open(), schema.open());
    let side = launch();
    a.open(&side).unwrap();
    b.lease(&side, "b", LONG).unwrap();
    assert_eq!(a.list().unwrap(), []);
    a.commit(&[(&side, &entry(1))]).unwrap();
    // Opening and deleting a side leave the lease to its holder.
    a.delete(&side).unwrap();
    assert_eq!(other(a.lease(&side, "a", LONG).unwrap()).0, "b");
}

#[test]
fn a_store_of_one_process_always_has_the_lease() {
    let mut store = MemoryStore::new();
    assert_eq!(store.lease(&launch(), "a", LONG).unwrap(), Lease::Held);
    assert_eq!(store.lease(&launch(), "b", LONG).unwrap(), Lease::Held);
    store.release(&[launch()], "b").unwrap();
    let lost = store.renew(&[launch()], "b", LONG).unwrap();
    assert_eq!(lost, []);
}
