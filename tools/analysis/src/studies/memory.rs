// SPDX-License-Identifier: MIT
//! `memory`: where memory was allocated, what was not freed, the peak and when, how long blocks
//! lived.
//!
//! Place in the flow: events of allocators, from interposers, from LTTng-UST's, and from the
//! kernel. A site is the call stack where events carry one, the caller's address where they tell
//! it, and else the thread and the class of the size.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use state::{event_name, ProcessIndex, ThreadIndex};
use trace::{EventClass, Ns, Trace};

use super::{End, Moment, Start, Study};
use crate::analyses::since;
use crate::by_class::ByClass;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::names::Namer;
use crate::pending::Pending;
use crate::rows::{RowIndex, Rows};
use crate::sheet::{number, text, Cell, Column, Sheet, Table};
use crate::stacks::{folded, kernel_name};

/// Blocks that are followed at once.
const BLOCKS_MAX: usize = 1 << 20;
/// Sites that are told apart.
const SITES_MAX: usize = 1 << 13;
/// Forks between a process and the one that allocated what it frees.
const FORKS_MAX: usize = 16;
/// Blocks that are listed because they were not freed.
const LEFT_ROWS: usize = 1000;

const SITES: [Column; 10] = [
    text("site", "allocated at", 0),
    text("process", "in", 1),
    number("allocations", "allocations", 0),
    number("bytes", "bytes", 0),
    number("left", "not freed", 0),
    number("left_bytes", "bytes not freed", 0),
    number("peak_bytes", "peak", 1),
    number("p50_life_ns", "p50 life", 2),
    number("p99_life_ns", "p99 life", 3),
    number("max_life_ns", "longest", 3),
];

const LEFT: [Column; 5] = [
    text("address", "block", 1),
    number("bytes", "bytes", 0),
    number("at_ns", "allocated", 0),
    text("process", "in", 1),
    text("site", "at", 0),
];

const LIVES: [Column; 4] = [
    number("from_ns", "lived from", 0),
    number("until_ns", "below", 0),
    number("count", "blocks", 0),
    number("share", "share", 0),
];

/// Where an event has what it tells of a block.
#[derive(Debug, Clone, Copy)]
enum Role {
    Allocates {
        pointer: usize,
        size: Size,
        call_site: Option<usize>,
        is_kernel: bool,
    },
    Frees {
        pointer: usize,
        is_kernel: bool,
    },
    /// The first event of a call that frees one block and allocates another.
    Resizes {
        pointer: usize,
        bytes: usize,
    },
    Resized {
        result: usize,
    },
    /// The same in one event.
    Moves {
        from: usize,
        to: usize,
        bytes: usize,
    },
}

#[derive(Debug, Clone, Copy)]
enum Size {
    Of(usize),
    Product(usize, usize),
    /// The event does not tell.
    Unknown,
}

/// Where a block was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Site {
    /// By number of the stack.
    Stack(u32),
    /// In the kernel, by address, of a trace.
    Caller(usize, u64),
    /// By the logarithm of the size.
    Thread(ThreadIndex, u32),
}

/// Whose memory: a process's, or the kernel's of a machine.
type Space = (u32, ProcessIndex);

#[derive(Debug, Clone, Copy)]
struct Block {
    bytes: u64,
    site: RowIndex,
    at: Ns,
}

#[derive(Debug, Default)]
struct Account {
    allocations: u64,
    bytes: u64,
    left: u64,
    left_bytes: u64,
    peak_bytes: u64,
    lives: Distribution<2>,
}

struct Memory<'t> {
    traces: &'t [Trace],
    roles: ByClass<Role>,
    namer: Namer<'t>,
    stack_numbers: FxHashMap<String, u32>,
    stack_texts: Vec<String>,
    blocks: Pending<(Space, u64), Block>,
    resizing: FxHashMap<ThreadIndex, (u64, u64)>,
    sites: Rows<(Space, Site), Account>,
    lives: Distribution<3>,
    now_bytes: u64,
    peak: (u64, Ns),
    allocations: u64,
    failures: u64,
    unknown_frees: u64,
    /// Of blocks that the process had from its parent.
    inherited_frees: u64,
    reused: u64,
}

pub(super) fn make<'t>(start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    Ok(Box::new(Memory {
        traces: start.traces,
        roles: ByClass::new(start.traces, role),
        namer: start.namer(),
        stack_numbers: FxHashMap::default(),
        stack_texts: Vec::new(),
        blocks: Pending::new(BLOCKS_MAX),
        resizing: FxHashMap::default(),
        sites: Rows::new(SITES_MAX),
        lives: Distribution::default(),
        now_bytes: 0,
        peak: (0, Ns(0)),
        allocations: 0,
        failures: 0,
        unknown_frees: 0,
        inherited_frees: 0,
        reused: 0,
    }))
}

fn role(class: &EventClass) -> Option<Role> {
    let field = |name| class.field_index(name);
    let allocates =
        |pointer, size| Some(Role::Allocates { pointer, size, call_site: None, is_kernel: false });
    let of_kernel = |size| {
        let (pointer, call_site) = (field("ptr")?, Some(field("call_site")?));
        Some(Role::Allocates { pointer, size, call_site, is_kernel: true })
    };
    let name = event_name(class);
    match name.strip_prefix("kmem:").or(name.strip_prefix("kmem_")).unwrap_or(name) {
        "malloc:malloc" => allocates(field("result")?, Size::Of(field("bytes")?)),
        "malloc:aligned" => allocates(field("result")?, Size::Of(field("bytes")?)),
        "malloc:calloc" => {
            let size = Size::Product(field("count")?, field("size_bytes")?);
            allocates(field("result")?, size)
        }
        "malloc:free" => Some(Role::Frees { pointer: field("pointer")?, is_kernel: false }),
        "malloc:realloc_entry" => {
            Some(Role::Resizes { pointer: field("pointer")?, bytes: field("bytes")? })
        }
        "malloc:realloc_exit" => Some(Role::Resized { result: field("result")? }),
        "lttng_ust_libc:malloc" | "lttng_ust_libc:memalign" => {
            allocates(field("ptr")?, Size::Of(field("size")?))
        }
        "lttng_ust_libc:posix_memalign" => allocates(field("out_ptr")?, Size::Of(field("size")?)),
        "lttng_ust_libc:calloc" => {
            allocates(field("ptr")?, Size::Product(field("nmemb")?, field("size")?))
        }
        "lttng_ust_libc:realloc" => {
            let (from, to) = (field("in_ptr")?, field("ptr")?);
            Some(Role::Moves { from, to, bytes: field("size")? })
        }
        "lttng_ust_libc:free" => Some(Role::Frees { pointer: field("ptr")?, is_kernel: false }),
        "kmalloc" => of_kernel(Size::Of(field("bytes_alloc")?)),
        "kmem_cache_alloc" | "cache_alloc" => {
            of_kernel(field("bytes_alloc").map_or(Size::Unknown, Size::Of))
        }
        "kfree" | "kmem_cache_free" | "cache_free" => {
            Some(Role::Frees { pointer: field("ptr")?, is_kernel: true })
        }
        _ => None,
    }
}

impl Study for Memory<'_> {
    fn event(&mut self, moment: &Moment<'_>) {
        let Some(role) = self.roles.get(moment.event).copied() else { return };
        if !moment.is_taken {
            return;
        }
        let thread = moment.step.thread;
        let number = |field: usize| {
            let value = moment.event.value(field)?;
            value.as_u64().or(value.as_i64().map(|value| value as u64))
        };
        let space = |is_kernel: bool| match is_kernel {
            true => (moment.state.host(moment.event.trace_index()) + 1, ProcessIndex::OTHERS),
            false => (0, moment.state.threads().process_of(thread)),
        };
        match role {
            Role::Allocates { pointer, size, call_site, is_kernel } => {
                let bytes = match size {
                    Size::Of(field) => number(field),
                    Size::Product(a, b) => {
                        number(a).zip(number(b)).map(|(a, b)| a.saturating_mul(b))
                    }
                    Size::Unknown => Some(0),
                };
                let call_site = call_site.and_then(number);
                if let (Some(pointer), Some(bytes)) = (number(pointer), bytes) {
                    self.allocated(moment, (space(is_kernel), pointer), bytes, call_site);
                }
            }
            Role::Frees { pointer, is_kernel } => {
                if let Some(pointer) = number(pointer) {
                    self.freed(moment, (space(is_kernel), pointer));
                }
            }
            Role::Resizes { pointer, bytes } => {
                if let (Some(pointer), Some(bytes)) = (number(pointer), number(bytes)) {
                    self.resizing.insert(thread, (pointer, bytes));
                }
            }
            Role::Resized { result } => {
                let asked = self.resizing.remove(&thread);
                if let (Some((pointer, bytes)), Some(result)) = (asked, number(result)) {
                    self.resized(moment, space(false), (pointer, result), bytes);
                }
            }
            Role::Moves { from, to, bytes } => {
                if let (Some(from), Some(to), Some(bytes)) =
                    (number(from), number(to), number(bytes))
                {
                    self.resized(moment, space(false), (from, to), bytes);
                }
            }
        }
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        let mut sheet = Sheet {
            tables: vec![self.site_rows(end), self.left_rows(end), self.life_rows()],
            ..Sheet::default()
        };
        let left = self.blocks.left();
        let left_bytes = left.iter().fold(0u64, |sum, (_, b)| sum.saturating_add(b.bytes));
        if self.allocations > 0 {
            sheet.fact("allocations", "Allocations", Cell::Count(self.allocations));
            sheet.fact("failures", "Allocations that failed", Cell::Count(self.failures));
            sheet.fact("peak_bytes", "Most bytes allocated at once", Cell::Bytes(self.peak.0));
            sheet.fact("peak_at_ns", "When", Cell::At(self.peak.1 .0));
            sheet.fact("left", "Blocks not freed within the trace", Cell::Count(left.len() as u64));
            sheet.fact("left_bytes", "Bytes not freed within the trace", Cell::Bytes(left_bytes));
            sheet.fact(
                "unknown_frees",
                "Freed, not allocated within the trace",
                Cell::Count(self.unknown_frees),
            );
            sheet.notes.push(
                "Not freed within the trace is not leaked: a block may be freed later, and the \
                 end of a process frees all of its own. Bytes are those of blocks that were \
                 allocated within the trace."
                    .into(),
            );
        }
        self.doubts(&mut sheet);
        sheet
    }
}

impl Memory<'_> {
    fn doubts(&self, sheet: &mut Sheet) {
        sheet.notes.extend(self.namer.notes());
        if self.reused > 0 {
            sheet.notes.push(format!(
                "{} blocks were allocated at the address of one that had not been freed: its end \
                 is not in the trace, and it counts as neither freed nor left.",
                self.reused
            ));
        }
        if self.inherited_frees > 0 {
            sheet.notes.push(format!(
                "{} blocks were freed by forked processes, which had copies of their parents': \
                 the parents' blocks stay, and these are in no count.",
                self.inherited_frees
            ));
        }
        if self.blocks.forgotten() > 0 {
            sheet.notes.push(format!(
                "{} blocks found no room among the {BLOCKS_MAX} that are followed: what is not \
                 freed is more than is said.",
                self.blocks.forgotten()
            ));
        }
    }

    fn allocated(
        &mut self,
        moment: &Moment<'_>,
        (space, pointer): (Space, u64),
        bytes: u64,
        call_site: Option<u64>,
    ) {
        self.allocations += 1;
        if pointer == 0 {
            self.failures += 1;
            return;
        }
        let trace = moment.event.trace_index();
        let site = match (self.stack(moment), call_site) {
            (Some(stack), _) => Site::Stack(stack),
            (None, Some(address)) => Site::Caller(trace, address),
            (None, None) => {
                let class = bytes.checked_ilog2().map_or(0, |log| log + 1);
                Site::Thread(moment.step.thread, class)
            }
        };
        let at = moment.event.time_ns();
        let site = self.sites.index((space, site));
        let account = self.sites.at(site);
        account.allocations += 1;
        account.bytes = account.bytes.saturating_add(bytes);
        account.left += 1;
        account.left_bytes = account.left_bytes.saturating_add(bytes);
        account.peak_bytes = account.peak_bytes.max(account.left_bytes);
        self.now_bytes = self.now_bytes.saturating_add(bytes);
        if let Some(before) = self.blocks.begin((space, pointer), Block { bytes, site, at }) {
            self.reused += 1;
            self.gone(before);
        }
        if self.now_bytes > self.peak.0 {
            self.peak = (self.now_bytes, at);
        }
    }

    fn freed(&mut self, moment: &Moment<'_>, (space, pointer): (Space, u64)) {
        if pointer == 0 {
            return;
        }
        let Some(block) = self.blocks.end(&(space, pointer)) else {
            match self.is_inherited(moment, (space, pointer)) {
                true => self.inherited_frees += 1,
                false => self.unknown_frees += 1,
            }
            return;
        };
        let life = since(block.at, moment.event.time_ns());
        self.lives.record(life);
        self.sites.at(block.site).lives.record(life);
        self.gone(block);
    }

    /// Whether a process has a block from a parent, which has it, too.
    fn is_inherited(&self, moment: &Moment<'_>, ((host, process), pointer): (Space, u64)) -> bool {
        let processes = moment.state.threads().processes();
        let parent = |process: &ProcessIndex| processes.get(process.0 as usize)?.forked_from;
        let parents = std::iter::successors(parent(&process), parent).take(FORKS_MAX);
        parents.into_iter().any(|parent| self.blocks.has(&((host, parent), pointer)))
    }

    fn gone(&mut self, block: Block) {
        self.now_bytes = self.now_bytes.saturating_sub(block.bytes);
        let account = self.sites.at(block.site);
        account.left = account.left.saturating_sub(1);
        account.left_bytes = account.left_bytes.saturating_sub(block.bytes);
    }

    /// A call that failed leaves the block as it is; one to no bytes frees it.
    fn resized(&mut self, moment: &Moment<'_>, space: Space, (from, to): (u64, u64), bytes: u64) {
        if to == 0 && bytes > 0 {
            self.allocations += 1;
            self.failures += 1;
            return;
        }
        self.freed(moment, (space, from));
        if to != 0 {
            self.allocated(moment, (space, to), bytes, None);
        }
    }

    /// The number of the event's stack, if it has one and there is room.
    fn stack(&mut self, moment: &Moment<'_>) -> Option<u32> {
        let trace = self.traces.get(moment.event.trace_index());
        let process = moment.state.threads().process_of(moment.step.thread);
        if !self.namer.read(moment.event, (moment.state, process)) {
            return None;
        }
        let name = |(address, frame): &(u64, Option<_>)| match frame {
            Some(frame) => self.namer.text(*frame),
            None => format!("{address:#x}"),
        };
        let user: Vec<String> = self.namer.user().iter().map(name).collect();
        let text = folded(&user, self.namer.kernel(), trace);
        if let Some(known) = self.stack_numbers.get(&text) {
            return Some(*known);
        }
        if text.is_empty() || self.stack_texts.len() >= SITES_MAX {
            return None;
        }
        let number = self.stack_texts.len() as u32;
        self.stack_texts.push(text.clone());
        self.stack_numbers.insert(text, number);
        Some(number)
    }

    fn site_text(&self, site: Site, end: &End<'_>) -> String {
        match site {
            Site::Stack(number) => {
                self.stack_texts.get(number as usize).cloned().unwrap_or_default()
            }
            Site::Caller(trace, address) => kernel_name(self.traces.get(trace), address),
            Site::Thread(thread, 0) => format!("{}, 0 bytes", end.state.threads().label(thread)),
            Site::Thread(thread, class) => {
                let (from, until) = (1u64 << (class - 1), (1u128 << class) - 1);
                let thread = end.state.threads().label(thread);
                format!("{thread}, {from} to {until} bytes")
            }
        }
    }

    fn place(&self, key: Option<(Space, Site)>, end: &End<'_>) -> (Cell, Cell) {
        let Some(((host, process), site)) = key else { return (Cell::Others, Cell::None) };
        let process = match host {
            0 => end.state.threads().process_label(process, end.state.texts()),
            _ => "kernel".into(),
        };
        (Cell::Text(self.site_text(site, end)), Cell::Text(process))
    }

    fn site_rows(&self, end: &End<'_>) -> Table {
        let mut rows: Vec<_> =
            self.sites.iter().filter(|(_, account)| account.allocations > 0).collect();
        rows.sort_by_key(|(site, account)| {
            (Reverse(account.left_bytes), Reverse(account.bytes), *site)
        });
        let row = |(site, account): (Option<(Space, Site)>, &Account)| {
            let lives = account.lives.report();
            let life = |ns| if lives.count > 0 { Cell::Ns(ns) } else { Cell::None };
            let (site, process) = self.place(site, end);
            vec![
                site,
                process,
                Cell::Count(account.allocations),
                Cell::Bytes(account.bytes),
                Cell::Count(account.left),
                Cell::Bytes(account.left_bytes),
                Cell::Bytes(account.peak_bytes),
                life(lives.p50_ns),
                life(lives.p99_ns),
                life(lives.max_ns),
            ]
        };
        Table {
            key: "sites",
            title: "Allocations by site, most bytes not freed first",
            when_empty: "The trace has no allocations; `lull record -e 'malloc:*'` records them, \
                         and `lull record -k -e 'kmem:*'` the kernel's.",
            columns: &SITES,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    fn left_rows(&self, end: &End<'_>) -> Table {
        let mut left = self.blocks.left();
        left.sort_by_key(|(_, block)| Reverse(block.bytes));
        let keys: Vec<Option<(Space, Site)>> = self.sites.iter().map(|(key, _)| key).collect();
        let row = |((_, pointer), block): (&(Space, u64), &Block)| {
            let key = keys.get(block.site.0 as usize).copied().flatten();
            let (site, process) = self.place(key, end);
            vec![
                // A JSON number would lose digits.
                Cell::Text(format!("{pointer:#x}")),
                Cell::Bytes(block.bytes),
                Cell::At(block.at.0),
                process,
                site,
            ]
        };
        Table {
            key: "left",
            title: "Blocks not freed within the trace, the largest first",
            when_empty: "",
            columns: &LEFT,
            rows: left.into_iter().take(LEFT_ROWS).map(row).collect(),
        }
    }

    fn life_rows(&self) -> Table {
        let total = self.lives.count().max(1) as f64;
        let rows = self.lives.buckets().into_iter().map(|(from, until, count)| {
            let share = Cell::Share(count as f64 / total);
            vec![Cell::Ns(from), Cell::Ns(until), Cell::Count(count), share]
        });
        Table {
            key: "lives",
            title: "How long freed blocks lived",
            when_empty: "",
            columns: &LIVES,
            rows: rows.collect(),
        }
    }
}
