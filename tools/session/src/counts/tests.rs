// SPDX-License-Identifier: MIT
//! Tables as probes leave them, and as nobody should.

use super::*;

fn plan(by: &[&str], value: Option<&str>) -> Plan {
    let by = by.iter().map(|name| name.to_string()).collect();
    Plan { by, value: value.map(str::to_string), keys: 4, first_rule: 6, tables: 3 }
}

fn memory(layout: &Layout) -> Vec<AtomicU64> {
    (0..layout.tables * layout.stride_words()).map(|_| AtomicU64::new(0)).collect()
}

fn store(words: &[AtomicU64], at: usize, values: &[u64]) {
    for (word, value) in words[at..].iter().zip(values) {
        word.store(*value, Ordering::Relaxed);
    }
}

fn pair(low: u32, high: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&low.to_ne_bytes());
    bytes[4..].copy_from_slice(&high.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

#[test]
fn plan_has_room_for_what_it_asks_for_and_names_end_with_nul() {
    let long = "n".repeat(100);
    let asked = plan(&["status", &long], Some("size"));
    let bytes = asked.bytes();
    assert_eq!((bytes.table_count, bytes.capacity, bytes.by_count, bytes.has_value), (4, 4, 2, 1));
    assert!(bytes.by.starts_with(b"status\0") && bytes.by[127] == 0 && bytes.by[126] != 0);
    assert_eq!(bytes.slot_bytes as usize % 64, 0);
    assert!(bytes.slot_bytes as usize >= 64 + 2 * 64 + COUNT_BUCKETS * 8);
    assert_eq!(u64::from(asked.pages()) * 4096, 4096 + 4 * bytes.stride_bytes);
    assert_eq!(plan(&[], None).bytes().capacity, 0, "nothing is told apart");
}

#[test]
fn counts_of_all_tables_are_added_up_and_claimed_slots_are_told() {
    let layout = Layout::of(&plan(&["a"], None));
    let words = memory(&layout);
    for table in 0..2 {
        let base = table * layout.stride_words();
        store(&words, base + 9, &[5]);
        let slot = base + layout.events;
        store(&words, slot, &[0x10 | 3, 7, 0, 0, pair(9, 0)]);
        store(&words, slot + SLOT_WORDS, &[pair(COUNT_SIGNED, 0), -2i64 as u64]);
        store(&words, slot + layout.slot_words(), &[0x20 | 1]);
        let slot = slot + 2 * layout.slot_words();
        store(&words, slot, &[0x30 | 3, 1, 0, 0, pair(9, 0)]);
        let text = u64::from_ne_bytes(*b"text\0\0\0\0");
        store(&words, slot + SLOT_WORDS, &[pair(COUNT_TEXT, 4), text]);
    }
    let counted = Tables { layout, words: &words }.read();
    assert_eq!((counted.totals[&9], counted.unfinished), (10, 2));
    assert_eq!(counted.cells[&(9, vec![Value::Signed(-2)])].total(), 14);
    let text = Value::Text { bytes: b"text".to_vec(), is_cut: false };
    assert_eq!(counted.cells[&(9, vec![text])].total(), 2);
}

#[test]
fn distributions_of_one_key_are_one() {
    let layout = Layout::of(&plan(&[], Some("size")));
    let words = memory(&layout);
    for (table, bucket) in [(0, 5), (3, 9)] {
        let slot = table * layout.stride_words() + layout.events;
        let value = bucket as u64 - 1;
        store(&words, slot, &[3, 1, !value, value, pair(9, COUNT_UNSIGNED)]);
        store(&words, slot + SLOT_WORDS + bucket, &[10]);
    }
    let counted = Tables { layout, words: &words }.read();
    let cell = &counted.cells[&(9, Vec::new())];
    assert_eq!((cell.count, cell.total()), (2, 22));
    let ends = (cell.distribution.least(), cell.distribution.greatest());
    assert_eq!(ends, (Some(4), Some(8)));
}

/// Whatever processes write: it is read to its end, and nothing is added that makes a sum wrap.
#[test]
fn tables_of_any_content_are_read() {
    let mut state = 88172645463325252u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for (by, value) in [(&["a"][..], None), (&["a", "b"], Some("v")), (&[], Some("v"))] {
        let layout = Layout::of(&plan(by, value));
        let words = memory(&layout);
        for round in 0..30 {
            for word in &words {
                let value = match random() % 4 {
                    0 => 0,
                    1 => u64::MAX,
                    2 => random() % 8,
                    _ => random(),
                };
                word.store(value, Ordering::Relaxed);
            }
            let counted = Tables { layout, words: &words }.read();
            assert!(counted.cells.len() <= layout.tables * layout.capacity, "round {round}");
            for cell in counted.cells.values() {
                let distribution = &cell.distribution;
                let least = distribution.least();
                assert!(least <= distribution.greatest());
                assert!(distribution.quantile(500) >= least);
                assert!(distribution.buckets().count() <= COUNT_BUCKETS);
                cell.total();
            }
        }
    }
}

#[test]
fn table_that_is_cut_short_is_not_read() {
    let layout = Layout::of(&plan(&["a"], None));
    let words = memory(&layout);
    let words = &words[..layout.stride_words() - 1];
    assert_eq!(Tables { layout, words }.read(), Counted::default());
}
