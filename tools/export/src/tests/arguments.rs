// SPDX-License-Identifier: MIT
//! Fields of all shapes as arguments.

use analysis::StackPlaces;
use testkit::{Datum, Int, Kind, Order, Spec, StreamWriter, TraceFolder};
use trace::{Merge, Message, Trace};

use crate::arguments;

fn kinds(order: Order) -> (Kind, Kind) {
    let byte = || Box::new(Kind::u(8, order));
    let length = || Int::bytes(32, order);
    let point = || Kind::structure(vec![("x", Kind::u(16, order)), ("y", Kind::u(16, order))]);
    let payload = Kind::structure(vec![
        ("id", Kind::u(64, order)),
        ("lengths", Kind::Sequence { element: byte(), length: length() }),
        ("points", Kind::Array { element: Box::new(point()), count: 2 }),
        ("name", Kind::Text),
        ("none", Kind::Sequence { element: byte(), length: length() }),
    ]);
    let word = Box::new(Kind::u(64, order));
    let stack = Kind::Sequence { element: word, length: length() };
    (payload, Kind::structure(vec![("vtid", Kind::u(32, order)), ("kernel_stack", stack)]))
}

fn numbers(numbers: &[u64]) -> Datum {
    Datum::List(numbers.iter().map(|number| Datum::Unsigned(*number)).collect())
}

#[test]
fn arrays_of_plain_values_are_one_text_and_other_fields_have_a_path() {
    let order = Order::native();
    let (payload, context) = kinds(order);
    let mut spec = Spec::lull(order, vec![(8, "net:sent", payload)]);
    spec.stream_context = Some(context);
    let mut writer = StreamWriter::new(&spec, 0);
    writer.begin_packet(1);
    let points = Datum::List(vec![numbers(&[1, 2]), numbers(&[3, 4])]);
    let text = Datum::Text(b"a\xff".to_vec());
    let fields = [Datum::Unsigned(7), numbers(&[5, 6]), points, text, numbers(&[])];
    let context = Datum::List(vec![Datum::Unsigned(9), numbers(&[0x1004, 0x9000])]);
    writer.event_with(8, 2, [Some(context), None, Some(Datum::List(fields.into()))]);
    writer.end_packet(3, 0);
    let folder = TraceFolder::new(&spec.metadata(), &[writer.finish().0]).unwrap();
    let symbols = trace::symbols_text(vec![trace::Symbol {
        begin: 0x1000,
        until: 0x1010,
        name: "do_work".into(),
    }]);
    std::fs::write(folder.path().join(trace::SYMBOLS_FILE), symbols).unwrap();
    let traces = [Trace::open(folder.path()).unwrap()];
    let mut merge = Merge::over(&traces);
    let Some(Message::Event(event)) = merge.next() else { panic!("no event") };
    let found = arguments::of(&event, traces[0].symbols(), StackPlaces::default());
    let found: Vec<_> = found.iter().map(|a| format!("{}={}", a.name, a.value.text())).collect();
    let wanted = [
        "id=7",
        "lengths=[5, 6]",
        "points[0].x=1",
        "points[0].y=2",
        "points[1].x=3",
        "points[1].y=4",
        "name=a\u{fffd}",
        "none=[]",
        "kernel_stack=[do_work+0x4, 36864]",
    ];
    assert_eq!(found, wanted);
}
