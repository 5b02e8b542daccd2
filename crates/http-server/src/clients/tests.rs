use super::{AddressLimit, ClientSlots, client_key};
use std::net::IpAddr;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn client(address: &str) -> IpAddr {
    client_key(Some(ip(address)))
}

#[test]
fn a_client_is_an_ipv4_address_or_an_ipv6_64() {
    assert_eq!(client("192.0.2.1"), client("::ffff:192.0.2.1"));
    assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
    assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
    assert_eq!(client_key(None), client("::"));
}

#[test]
fn a_client_has_so_many_slots_and_takes_none_of_another() {
    let slots = ClientSlots::new(2);
    let (ann, bob) = (client("192.0.2.1"), client("192.0.2.2"));
    let held = [slots.acquire(ann), slots.acquire(ann)];
    assert!(held.iter().all(Option::is_some));
    assert!(slots.acquire(ann).is_none());
    assert!(slots.acquire(bob).is_some());
    drop(held);
    assert!(slots.acquire(ann).is_some());
}

#[test]
fn clients_that_hold_nothing_are_forgotten() {
    let slots = ClientSlots::<IpAddr>::new(1);
    for number in 0..10_000_u32 {
        let held = slots.acquire(std::net::Ipv4Addr::from_bits(number).into());
        assert!(held.is_some());
    }
    let clients = slots.clients.lock().slots.len();
    assert!(clients <= super::MIN_CLIENTS, "{clients}");
}

#[test]
fn an_address_at_its_limit_gets_a_connection_when_one_ends() {
    let limit = AddressLimit::new(2, "10.0.0.0/8".parse().expect("a network"));
    let stranger = ip("192.0.2.1");
    let first = limit.acquire(stranger).expect("the first");
    let _second = limit.acquire(ip("::ffff:192.0.2.1")).expect("the second");
    assert!(limit.acquire(stranger).is_err());
    let _other = limit.acquire(ip("192.0.2.2")).expect("another address");
    drop(first);
    let third = limit.acquire(stranger).expect("one has ended");
    drop(third);
    let exempt: Vec<_> = (0..5).map(|_| limit.acquire(ip("10.1.2.3"))).collect();
    assert!(exempt.iter().all(Result::is_ok), "a proxy has any number");
}

#[test]
fn addresses_of_one_ipv6_network_share_the_limit() {
    let limit = AddressLimit::new(1, "".parse().expect("no networks"));
    let _first = limit.acquire(ip("2001:db8:1:2::1")).expect("the first");
    assert!(limit.acquire(ip("2001:db8:1:2:ffff::2")).is_err());
    assert!(limit.acquire(ip("2001:db8:1:3::1")).is_ok());
}
