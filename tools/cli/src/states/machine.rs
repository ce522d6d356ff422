// SPDX-License-Identifier: MIT
//! What a machine has beside processes: block devices, and the addresses of network devices.
//!
//! Place in the flow: `states` hands over every event up to the end. The kernel tells of these once
//! in a dump, and no event tells of a change: what is shown is how they were then. A dump replaces
//! what an earlier one of the same trace said. LTTng's dump has the names of block devices, and
//! addresses without the bits of their prefix.

use crate::shown::{json_shown, shown};
use serde_json::{json, Value as Json};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use trace::{Event, Group, Integer, Name, Value, Visitor};

/// Things of each kind that are kept; of a machine with more, the first ones are shown.
const MOST: usize = 1 << 16;
/// Bytes of an address that are kept: those of the longest kind.
const ADDRESS_BYTES: usize = 16;
const SECTOR_BYTES: u64 = 512;
const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;

struct BlockDevice {
    name: String,
    extent: Option<Extent>,
}

/// What Lull's dump tells of a block device beside its name.
struct Extent {
    bytes: u64,
    is_read_only: bool,
    /// The number of the disk that a partition is of.
    disk: u64,
}

/// A network device: its namespace and its number there.
type Network = (u64, u64);

/// The network device of an address.
enum Of {
    /// As Lull's dump tells it.
    Number(Network),
    /// As LTTng's does.
    Name(String),
}

/// What one trace's last dump told.
#[derive(Default)]
struct Told {
    /// By number.
    block_devices: BTreeMap<u64, BlockDevice>,
    network_devices: BTreeMap<Network, String>,
    addresses: Vec<(Of, String)>,
}

/// Of each trace, by its position.
#[derive(Default)]
pub(super) struct Machine(BTreeMap<usize, Told>);

impl Machine {
    pub fn event(&mut self, event: &Event<'_>) {
        let dump = ["state:", "lttng_statedump_"];
        let Some(kind) = dump.iter().find_map(|dump| event.name().strip_prefix(dump)) else {
            return;
        };
        let value = |name| event.value(event.class().field_index(name)?);
        let number = |name| value(name).and_then(|value| value.as_u64()).unwrap_or(0);
        let text = |name| match value(name) {
            Some(Value::Text(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        };
        let name = || text("name");
        let network = || (number("net_namespace"), number("number"));
        let told = self.0.entry(event.trace_index()).or_default();
        match kind {
            "begin" | "start" => *told = Told::default(),
            "block_device" if told.block_devices.len() < MOST => {
                let (number, device) = match event.class().field_index("diskname") {
                    Some(_) => {
                        (number("dev"), BlockDevice { name: text("diskname"), extent: None })
                    }
                    None => {
                        let extent = Some(Extent {
                            bytes: number("sectors").saturating_mul(SECTOR_BYTES),
                            is_read_only: number("is_read_only") != 0,
                            disk: number("disk"),
                        });
                        (number("device"), BlockDevice { name: name(), extent })
                    }
                };
                told.block_devices.insert(number, device);
            }
            "network_interface" if told.addresses.len() < MOST => {
                // One that is not up is told with no address, which is 0.
                if let Ok(address @ 1..) = u32::try_from(number("address_ipv4")) {
                    told.addresses.push((Of::Name(name()), Ipv4Addr::from(address).to_string()));
                }
            }
            "network_device" if told.network_devices.len() < MOST => {
                told.network_devices.insert(network(), name());
            }
            "address" if told.addresses.len() < MOST => {
                let family = match value("family") {
                    Some(Value::Enumeration { value, .. }) => value,
                    other => other.and_then(|value| value.as_u64()).unwrap_or(0),
                };
                let mut bytes = Bytes::default();
                // Damage is told by who prints the trace.
                let _ = event.fields(&mut bytes);
                let address = address(family, &bytes.found, number("prefix_bits"));
                told.addresses.push((Of::Number(network()), address));
            }
            _ => {}
        }
    }

    /// Lines for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for told in self.0.values() {
            for (number, device) in &told.block_devices {
                let extent = device.extent.as_ref().map_or(String::new(), |extent| {
                    let only = if extent.is_read_only { ", read-only" } else { "" };
                    format!(", {} bytes{only}", extent.bytes)
                });
                let (major, minor) = (number >> 20, number & 0xf_ffff);
                let name = shown(&device.name);
                text += &format!("block device {name} ({major}:{minor}){extent}\n");
            }
            for (of, address) in &told.addresses {
                text += &format!("address {address} of {}\n", shown(told.name(of)));
            }
        }
        text
    }

    /// An object for each block device and address.
    pub fn json_lines(&self) -> String {
        let devices = |told: &Told| {
            let disk = |number| told.block_devices.get(number).map(|disk| disk.name.clone());
            let devices = told.block_devices.iter().map(|(number, device)| {
                let extent = device.extent.as_ref();
                json!({
                    "block_device": device.name,
                    "number": number,
                    "bytes": extent.map(|extent| extent.bytes),
                    "is_read_only": extent.map(|extent| extent.is_read_only),
                    "disk": extent.and_then(|extent| disk(&extent.disk)),
                })
            });
            let addresses = told.addresses.iter().map(|(of, address)| {
                let namespace = match of {
                    Of::Number((namespace, _)) => Some(namespace),
                    Of::Name(_) => None,
                };
                json!({
                    "address": address,
                    "network_device": told.name(of),
                    "net_namespace": namespace,
                })
            });
            devices.chain(addresses).collect::<Vec<Json>>()
        };
        let objects = self.0.values().flat_map(devices);
        objects.map(|object| json_shown(&object.to_string()) + "\n").collect()
    }
}

impl Told {
    /// The network device's name, or nothing where the dump did not tell of it.
    fn name<'a>(&'a self, of: &'a Of) -> &'a str {
        match of {
            Of::Number(network) => self.network_devices.get(network).map_or("", String::as_str),
            Of::Name(name) => name,
        }
    }
}

fn address(family: u64, bytes: &[u8], prefix_bits: u64) -> String {
    let four = <[u8; 4]>::try_from(bytes).map(Ipv4Addr::from);
    let six = <[u8; 16]>::try_from(bytes).map(Ipv6Addr::from);
    match (family, four, six) {
        (AF_INET, Ok(address), _) => format!("{address}/{prefix_bits}"),
        (AF_INET6, _, Ok(address)) => format!("{address}/{prefix_bits}"),
        (family, ..) => format!("of family {family}"),
    }
}

/// The elements of the field `address`.
#[derive(Default)]
struct Bytes {
    found: Vec<u8>,
    is_address: bool,
}

impl Visitor for Bytes {
    fn unsigned(&mut self, name: Name<'_>, value: u64, _: &Integer) {
        if self.is_address && matches!(name, Name::Index(_)) && self.found.len() < ADDRESS_BYTES {
            self.found.push(value as u8);
        }
    }
    fn begin(&mut self, name: Name<'_>, _: Group<'_>) {
        self.is_address = name == Name::Field("address");
    }
    fn end(&mut self, _: Group<'_>) {
        self.is_address = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use testkit::program::{Number, Program, Text, NOBODY};
    use testkit::{Datum, Int, Kind, Order, Spec, StreamWriter};
    use trace::{Message, Trace};

    const ORDER: Order = Order::Little;

    fn spec() -> Spec {
        let number = || Kind::u(32, ORDER);
        let element = Box::new(Kind::u(8, ORDER));
        let bytes = Kind::Sequence { element, length: Int::bytes(32, ORDER) };
        let disk = vec![
            ("device", number()),
            ("disk", number()),
            ("name", Kind::Text),
            ("sectors", Kind::u(64, ORDER)),
            ("is_read_only", Kind::u(8, ORDER)),
        ];
        let network = vec![("net_namespace", number()), ("number", number()), ("name", Kind::Text)];
        let address = vec![
            ("net_namespace", number()),
            ("number", number()),
            ("family", number()),
            ("address", bytes),
            ("prefix_bits", Kind::u(8, ORDER)),
        ];
        let events = vec![
            (8, "state:begin", Kind::structure(vec![("number", number())])),
            (9, "state:block_device", Kind::structure(disk)),
            (10, "state:network_device", Kind::structure(network)),
            (11, "state:address", Kind::structure(address)),
        ];
        Spec::lull(ORDER, events)
    }

    fn disk(device: u64, name: &str, sectors: u64, only: u64) -> Datum {
        let number = Datum::Unsigned;
        let name = Datum::Text(name.into());
        Datum::List(vec![number(device), number(0x80_0000), name, number(sectors), number(only)])
    }

    fn address_of(device: u64, family: u64, bytes: &[u8], bits: u64) -> Datum {
        let number = Datum::Unsigned;
        let bytes = bytes.iter().map(|byte| number((*byte).into())).collect();
        let values = [number(7), number(device), number(family), Datum::List(bytes), number(bits)];
        Datum::List(values.into())
    }

    fn machine(trace: &Trace) -> Machine {
        let mut merge = trace.merge();
        let mut machine = Machine::default();
        while let Some(message) = merge.next() {
            if let Message::Event(event) = message {
                machine.event(&event);
            }
        }
        machine
    }

    #[test]
    fn of_lttng_s_dump_names_and_addresses_are_known_and_nothing_else() {
        let mut program = Program::lttng(&[]);
        let device = |dev: i64, name| [("dev", Number(dev)), ("diskname", Text(name))];
        let network =
            |name, address: i64| [("name", Text(name)), ("address_ipv4", Number(address))];
        program.event(1, 0, NOBODY, "lttng_statedump_block_device", &device(7, "old"));
        program.event(2, 0, NOBODY, "lttng_statedump_start", &[]);
        program.event(3, 0, NOBODY, "lttng_statedump_block_device", &device(254 << 20, "vda"));
        for (at, name, address) in [(4, "lo", 0x7f00_0001), (5, "down", 0), (6, "odd", -1)] {
            let fields = network(name, address);
            program.event(at, 0, NOBODY, "lttng_statedump_network_interface", &fields);
        }
        let (metadata, streams) = program.files();
        let machine = machine(&Trace::from_bytes(metadata.as_bytes(), streams).unwrap());
        assert_eq!(machine.text(), "block device vda (254:0)\naddress 127.0.0.1 of lo\n");
        let json = machine.json_lines();
        let lines: Vec<Json> =
            json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[0]["bytes"], &lines[0]["disk"]), (&Json::Null, &Json::Null));
        assert_eq!((lines.len(), &lines[1]["net_namespace"]), (2, &Json::Null));
    }

    #[test]
    fn devices_and_addresses_are_those_of_the_last_dump() {
        let spec = spec();
        let mut writer = StreamWriter::new(&spec, 0);
        writer.begin_packet(1000);
        writer.event(9, 1001, disk(5, "old", 1, 0));
        writer.event(8, 1002, Datum::List(vec![Datum::Unsigned(2)]));
        writer.event(9, 1003, disk(0x80_0001, "sda1", 2, 1));
        writer.event(9, 1004, disk(0x80_0000, "sda", 8, 0));
        let network = vec![Datum::Unsigned(7), Datum::Unsigned(1), Datum::Text("lo".into())];
        writer.event(10, 1005, Datum::List(network));
        writer.event(11, 1006, address_of(1, AF_INET, &[127, 0, 0, 1], 8));
        writer.event(11, 1007, address_of(2, AF_INET6, &[0; 16], 128));
        writer.event(11, 1008, address_of(1, AF_INET6, &[1, 2], 8));
        writer.end_packet(2000, 0);
        let streams = vec![("stream".into(), writer.finish().0)];
        let trace = Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap();
        let machine = machine(&trace);
        let wanted = "\
block device sda (8:0), 4096 bytes
block device sda1 (8:1), 1024 bytes, read-only
address 127.0.0.1/8 of lo
address ::/128 of 
address of family 10 of lo
";
        assert_eq!(machine.text(), wanted);
        let json = machine.json_lines();
        let lines: Vec<Json> =
            json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[1]["disk"], &lines[1]["bytes"]), (&json!("sda"), &json!(1024)));
        assert_eq!(lines[2]["network_device"], "lo");
    }
}
