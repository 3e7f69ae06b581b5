//! A scripted name server on loopback (UDP) with a log of what it was asked.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const A: u16 = 1;
const NO_SUCH_NAME: u8 = 3;

/// What a name server says about a name.
#[derive(Clone, Default)]
pub struct Says {
    pub after: Duration,
    /// Nothing at all.
    pub silent: bool,
    pub no_such_name: bool,
    pub addresses: Vec<Ipv4Addr>,
    pub ttl_s: u32,
}

/// A question as the server saw it.
#[derive(Clone, Debug)]
pub struct Asked {
    pub at: Instant,
    pub name: String,
    pub kind: u16,
}

pub struct DnsServer {
    pub address: SocketAddr,
    log: Arc<Mutex<Vec<Asked>>>,
    closing: Arc<AtomicBool>,
}

impl DnsServer {
    /// `script` gets the name and how many questions for addresses (A) came before this one.
    pub fn new(script: impl Fn(&str, usize) -> Says + Send + 'static) -> DnsServer {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let server = DnsServer { address: socket.local_addr().unwrap(), log: Arc::default(), closing: Arc::default() };
        let (log, closing) = (server.log.clone(), server.closing.clone());
        std::thread::spawn(move || {
            let mut packet = [0; 1500];
            while let Ok((n, from)) = socket.recv_from(&mut packet) {
                if closing.load(Ordering::SeqCst) {
                    return;
                }
                let Some((name, kind, end)) = question(&packet[..n]) else { continue };
                let before = {
                    let mut log = log.lock().unwrap();
                    let before = log.iter().filter(|q| q.kind == A).count();
                    log.push(Asked { at: Instant::now(), name: name.clone(), kind });
                    before
                };
                let says = script(&name, before);
                if says.silent {
                    continue;
                }
                let (reply, socket) = (reply(&packet[..end], kind, &says), socket.try_clone().unwrap());
                std::thread::spawn(move || {
                    std::thread::sleep(says.after);
                    let _ = socket.send_to(&reply, from);
                });
            }
        });
        server
    }

    /// The log in order of arrival.
    pub fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    /// Most questions within a second, wherever it begins.
    pub fn most_in_a_second(&self) -> usize {
        let asked = self.asked();
        let within = |from: Instant, q: &Asked| q.at >= from && q.at < from + Duration::from_millis(990);
        asked.iter().map(|first| asked.iter().filter(|q| within(first.at, q)).count()).max().unwrap_or(0)
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        if let Ok(socket) = UdpSocket::bind("127.0.0.1:0") {
            let _ = socket.send_to(&[0], self.address);
        }
    }
}

/// Name, type, and where the question ends.
fn question(packet: &[u8]) -> Option<(String, u16, usize)> {
    let mut at = 12;
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*packet.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(packet.get(at..at + length)?).to_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]);
    Some((labels.join("."), kind, at + 4))
}

fn reply(question: &[u8], kind: u16, says: &Says) -> Vec<u8> {
    let addresses = if kind == A && !says.no_such_name { &says.addresses[..] } else { &[] };
    let mut reply = question.to_vec();
    // A response, recursion available; one question, the answers, nothing else.
    reply[2] = 0x81;
    reply[3] = 0x80 | if says.no_such_name { NO_SUCH_NAME } else { 0 };
    reply[4..12].copy_from_slice(&[0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
    for address in addresses {
        // The name is the one at offset 12; type A, class IN.
        reply.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1]);
        reply.extend_from_slice(&says.ttl_s.to_be_bytes());
        reply.extend_from_slice(&[0, 4]);
        reply.extend_from_slice(&address.octets());
    }
    reply
}
