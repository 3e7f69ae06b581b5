//! Which addresses may be dialled. Checked where an address is dialled, after resolution.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Why an address may not be dialled: a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    /// A whole sentence for people.
    pub reason: String,
}

/// The classes that decide. The first that matches counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Link-local, cloud metadata, multicast, unspecified, broadcast: only by exact address.
    Never(&'static str),
    Loopback,
    Private,
    /// Documentation, benchmarking and other ranges that are not reachable: like private ones.
    Reserved,
    Global,
}

/// The addresses that may be tested from this installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressPolicy {
    near: bool,
    allowed: Vec<IpNet>,
}

impl AddressPolicy {
    /// Loopback, private and global addresses: for an installation that only listens on loopback.
    pub fn local() -> AddressPolicy {
        AddressPolicy { near: true, allowed: Vec::new() }
    }

    /// Global addresses only, until networks are [allowed](AddressPolicy::allow).
    pub fn public() -> AddressPolicy {
        AddressPolicy { near: false, allowed: Vec::new() }
    }

    /// Also allows `network`. Link-local and metadata addresses need their exact address (`/32`, `/128`).
    #[must_use]
    pub fn allow(mut self, network: IpNet) -> AddressPolicy {
        self.allowed.push(network);
        self
    }

    /// Whether `address` may be dialled. IPv4 in IPv6 clothes (mapped, compatible, NAT64, 6to4) is judged by the inner address.
    ///
    /// # Errors
    /// [`Refused`] with a sentence that says why.
    pub fn check(&self, address: IpAddr) -> Result<(), Refused> {
        let inner = inner(address);
        let class = classify(inner);
        let listed = self.allowed.iter().any(|net| {
            let exact = net.prefix_len() == net.max_prefix_len();
            (net.contains(&inner) || net.contains(&address)) && (exact || !matches!(class, Class::Never(_)))
        });
        if listed {
            return Ok(());
        }
        let what = match class {
            Class::Global => return Ok(()),
            Class::Loopback | Class::Private | Class::Reserved if self.near => return Ok(()),
            Class::Never(what) => what,
            Class::Loopback => "a loopback address",
            Class::Private => "a private address",
            Class::Reserved => "a reserved address",
        };
        Err(Refused { reason: format!("{address} is {what}, which may not be tested from this installation.") })
    }
}

/// The IPv4 address inside an IPv6 one, or the address itself.
fn inner(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let s = v6.segments();
    let tail = |a: u16, b: u16| IpAddr::V4(Ipv4Addr::from((u32::from(a) << 16) | u32::from(b)));
    match s {
        [0, 0, 0, 0, 0, 0xffff, a, b] => tail(a, b),
        // IPv4-compatible (deprecated), but not :: and ::1.
        [0, 0, 0, 0, 0, 0, a, b] if a != 0 => tail(a, b),
        // NAT64, well-known prefix and the local-use one with a 96-bit prefix.
        [0x64, 0xff9b, 0, 0, 0, 0, a, b] | [0x64, 0xff9b, 1, 0, 0, 0, a, b] => tail(a, b),
        // 6to4.
        [0x2002, a, b, ..] => tail(a, b),
        _ => address,
    }
}

fn classify(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(a) => classify_v4(a),
        IpAddr::V6(a) => classify_v6(a),
    }
}

fn classify_v4(a: Ipv4Addr) -> Class {
    match a.octets() {
        [0, ..] => Class::Never("an unspecified address"),
        [169, 254, 169, 254] | [100, 100, 100, 200] => Class::Never("a cloud metadata address"),
        [169, 254, ..] => Class::Never("a link-local address"),
        [224..=239, ..] => Class::Never("a multicast address"),
        [255, 255, 255, 255] => Class::Never("the broadcast address"),
        [127, ..] => Class::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Class::Private,
        [192, 0, 0, _]
        | [192, 0, 2, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Class::Reserved,
        _ => Class::Global,
    }
}

fn classify_v6(a: Ipv6Addr) -> Class {
    match a.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Class::Never("the unspecified address"),
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] => Class::Never("a cloud metadata address"),
        [0xfe80..=0xfebf, ..] => Class::Never("a link-local address"),
        [0xff00..=0xffff, ..] => Class::Never("a multicast address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Class::Loopback,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Class::Private,
        // Teredo hides an IPv4 address of somebody else's choice; the rest is documentation, discard and unassigned space.
        [0x2001, 0, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x100, 0, 0, 0, ..] | [0x64, 0xff9b, ..] => {
            Class::Reserved
        }
        [0x2000..=0x3fff, ..] => Class::Global,
        _ => Class::Reserved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn never_addresses_need_their_exact_address() {
        for text in [
            "169.254.169.254",
            "169.254.1.1",
            "100.100.100.200",
            "fd00:ec2::254",
            "fe80::1",
            "224.0.0.1",
            "ff02::1",
            "0.0.0.0",
            "::",
            "255.255.255.255",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
        ] {
            let wide = AddressPolicy::local().allow("0.0.0.0/0".parse().unwrap()).allow("::/0".parse().unwrap());
            assert!(wide.check(ip(text)).is_err(), "{text}");
            let exact = AddressPolicy::public().allow(IpNet::from(ip(text)));
            assert_eq!(exact.check(ip(text)), Ok(()), "{text}");
        }
    }

    #[test]
    fn public_means_global_only() {
        let public = AddressPolicy::public();
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.31.0.1",
            "100.64.0.1",
            "::1",
            "fd12::1",
            "::ffff:10.0.0.1",
            "2001:db8::1",
            "64:ff9b::7f00:1",
        ] {
            assert!(public.check(ip(text)).is_err(), "{text}");
            assert_eq!(AddressPolicy::local().check(ip(text)), Ok(()), "{text}");
        }
        for text in ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "172.32.0.1"] {
            assert_eq!(public.check(ip(text)), Ok(()), "{text}");
        }
        let ten = public.allow("10.0.0.0/8".parse().unwrap());
        assert_eq!(ten.check(ip("10.1.2.3")), Ok(()));
        assert_eq!(ten.check(ip("::ffff:10.1.2.3")), Ok(()));
        assert!(ten.check(ip("127.0.0.1")).unwrap_err().reason.contains("loopback"));
    }
}
