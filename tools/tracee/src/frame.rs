// SPDX-License-Identifier: MIT
//! What is written into the process: two pieces of code, and the registers of the thread that runs
//! them.
//!
//! Place in the flow: below `visit`. Both pieces end by giving the thread its own registers back,
//! without our help; no stack is needed for that, since both read the registers from behind their
//! code. The first piece makes one system call, by which the visit gets memory, and touches nothing
//! else of the thread's. The second calls a function on a stack of its own. It ends without
//! rt_sigreturn(2), for that would forget how long an interrupted sleep has still to last.

use crate::registers::Registers;

pub(crate) const CODE_BYTES: u64 = 4096;
pub(crate) const STACK_BYTES: u64 = 256 << 10;
/// The end of the stack's memory: texts for a call.
const TEXT_BYTES: u64 = 8192;
/// Before them: the registers of vectors.
const VECTOR_ROOM_BYTES: u64 = 16 << 10;
pub(crate) const ARGUMENTS_MAX: usize = 6;
/// What is said to the second piece, behind its code: offsets, in words.
const RESULT_WORD: u64 = 0;
const DONE_WORD: u64 = 1;

// The code is read from our own copy, and is the same at every address.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .rodata.lull_tracee, \"a\"",
    // Whatever part of the crate refers to them may be compiled apart from this one.
    ".globl lull_tracee_syscall, lull_tracee_syscall_end, lull_tracee_call",
    ".globl lull_tracee_left, lull_tracee_call_end",
    ".hidden lull_tracee_syscall, lull_tracee_syscall_end, lull_tracee_call",
    ".hidden lull_tracee_left, lull_tracee_call_end",
    ".balign 8",
    // rax and the arguments' registers are set; the flags are the thread's own, and stay.
    "lull_tracee_syscall:",
    "syscall",
    "movq 1f + 0(%rip), %rcx",
    "movq 1f + 8(%rip), %rdx",
    "movq 1f + 16(%rip), %rsi",
    "movq 1f + 24(%rip), %rdi",
    "movq 1f + 32(%rip), %r8",
    "movq 1f + 40(%rip), %r9",
    "movq 1f + 48(%rip), %r10",
    "movq 1f + 56(%rip), %r11",
    "movq 1f + 64(%rip), %rax",
    "jmpq *1f + 72(%rip)",
    ".balign 8",
    "1:",
    "lull_tracee_syscall_end:",
    // rbx: the function. r12: where what it returned is stored. r13: __errno_location, or 0.
    // r14: the vectors. rbp: which of them there are.
    "lull_tracee_call:",
    "testq %r13, %r13",
    "jz 2f",
    "callq *%r13",
    "movl (%rax), %edx",
    "movq %rax, %r13",
    "movl %edx, 24(%r12)",
    "2:",
    "movq 32(%r12), %rdi",
    "movq 40(%r12), %rsi",
    "movq 48(%r12), %rdx",
    "movq 56(%r12), %rcx",
    "movq 64(%r12), %r8",
    "movq 72(%r12), %r9",
    "xorl %eax, %eax",
    "callq *%rbx",
    "movq %rax, (%r12)",
    "testq %r13, %r13",
    "jz 3f",
    "movl 24(%r12), %edx",
    "movl %edx, (%r13)",
    "3:",
    "movl $1, 8(%r12)",
    // rt_sigprocmask: SIG_SETMASK. The visit keeps it from being made, and sets the mask itself;
    // if the visit ends there, it is made after all.
    "4:",
    "movl $14, %eax",
    "movl $2, %edi",
    "leaq 5f(%rip), %rsi",
    "xorl %edx, %edx",
    "movl $8, %r10d",
    "syscall",
    "lull_tracee_left:",
    "testq %rax, %rax",
    "jnz 4b",
    "movl %ebp, %eax",
    "movq %rbp, %rdx",
    "shrq $32, %rdx",
    "xrstor64 (%r14)",
    "pushq 5f + 8(%rip)",
    "popfq",
    "movq 5f + 16(%rip), %r15",
    "movq 5f + 24(%rip), %r14",
    "movq 5f + 32(%rip), %r13",
    "movq 5f + 40(%rip), %r12",
    "movq 5f + 48(%rip), %rbp",
    "movq 5f + 56(%rip), %rbx",
    "movq 5f + 64(%rip), %r11",
    "movq 5f + 72(%rip), %r10",
    "movq 5f + 80(%rip), %r9",
    "movq 5f + 88(%rip), %r8",
    "movq 5f + 96(%rip), %rax",
    "movq 5f + 104(%rip), %rcx",
    "movq 5f + 112(%rip), %rdx",
    "movq 5f + 120(%rip), %rsi",
    "movq 5f + 128(%rip), %rdi",
    "movq 5f + 136(%rip), %rsp",
    "jmpq *5f + 144(%rip)",
    ".balign 8",
    "5:",
    "lull_tracee_call_end:",
    ".popsection",
    options(att_syntax)
);

// No process of another architecture is opened, so nothing of this is written into one.
#[cfg(not(target_arch = "x86_64"))]
std::arch::global_asm!(
    ".pushsection .rodata.lull_tracee, \"a\"",
    // Whatever part of the crate refers to them may be compiled apart from this one.
    ".globl lull_tracee_syscall, lull_tracee_syscall_end, lull_tracee_call",
    ".globl lull_tracee_left, lull_tracee_call_end",
    ".hidden lull_tracee_syscall, lull_tracee_syscall_end, lull_tracee_call",
    ".hidden lull_tracee_left, lull_tracee_call_end",
    "lull_tracee_syscall:",
    "lull_tracee_syscall_end:",
    "lull_tracee_call:",
    "lull_tracee_left:",
    "lull_tracee_call_end:",
    ".byte 0",
    ".popsection",
);

extern "C" {
    static lull_tracee_syscall: u8;
    static lull_tracee_syscall_end: u8;
    static lull_tracee_call: u8;
    static lull_tracee_left: u8;
    static lull_tracee_call_end: u8;
}

fn code_between(begin: *const u8, end: *const u8) -> &'static [u8] {
    // SAFETY: both are labels of the code above, in this order.
    unsafe { std::slice::from_raw_parts(begin, end.offset_from(begin) as usize) }
}

pub(crate) fn first_code() -> &'static [u8] {
    code_between(&raw const lull_tracee_syscall, &raw const lull_tracee_syscall_end)
}

pub(crate) fn second_code() -> &'static [u8] {
    code_between(&raw const lull_tracee_call, &raw const lull_tracee_call_end)
}

const FIRST_WORDS: usize = 11;
const SECOND_WORDS: usize = 20;

/// What the first piece takes, which must fit behind the code of an object.
pub(crate) fn first_bytes() -> usize {
    first_code().len() + FIRST_WORDS * 8
}

/// The first piece, for a thread that has these registers.
pub(crate) fn first(saved: &Registers, tid: u32) -> Vec<u8> {
    let own = saved.alone();
    let words: [u64; FIRST_WORDS] = [
        own.rcx,
        own.rdx,
        own.rsi,
        own.rdi,
        own.r8,
        own.r9,
        own.r10,
        own.r11,
        own.rax,
        own.rip,
        u64::from(tid),
    ];
    [first_code(), &bytes_of(&words)].concat()
}

/// The second piece.
pub(crate) fn second(saved: &Registers, signal_mask: u64, tid: u32) -> Vec<u8> {
    let own = saved.alone();
    let words: [u64; SECOND_WORDS] = [
        signal_mask,
        own.flags,
        own.r15,
        own.r14,
        own.r13,
        own.r12,
        own.rbp,
        own.rbx,
        own.r11,
        own.r10,
        own.r9,
        own.r8,
        own.rax,
        own.rcx,
        own.rdx,
        own.rsi,
        own.rdi,
        own.rsp,
        own.rip,
        u64::from(tid),
    ];
    [second_code(), &bytes_of(&words)].concat()
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Which thread a piece was written for, if the bytes are such a piece.
pub(crate) fn owner(code: &[u8], words: usize, found: &[u8]) -> Option<u32> {
    let last = found.strip_prefix(code)?.get(8 * (words - 1)..8 * words)?;
    Some(u64::from_ne_bytes(last.try_into().ok()?) as u32)
}

pub(crate) fn first_owner(found: &[u8]) -> Option<u32> {
    owner(first_code(), FIRST_WORDS, found)
}

pub(crate) fn second_owner(found: &[u8]) -> Option<u32> {
    owner(second_code(), SECOND_WORDS, found)
}

pub(crate) fn second_bytes() -> usize {
    second_code().len() + SECOND_WORDS * 8
}

/// Where a visit's parts lie in the memory that it got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) base: u64,
}

impl Area {
    pub(crate) const BYTES: u64 = CODE_BYTES + STACK_BYTES;
    pub(crate) const TEXT_BYTES: u64 = TEXT_BYTES;

    pub(crate) fn stack(self) -> u64 {
        self.base + CODE_BYTES
    }

    pub(crate) fn text(self) -> u64 {
        self.base + Self::BYTES - TEXT_BYTES
    }

    pub(crate) fn vectors(self) -> u64 {
        self.text() - VECTOR_ROOM_BYTES
    }

    /// What a call takes and leaves.
    pub(crate) fn note(self) -> u64 {
        self.vectors() - NOTE_BYTES
    }

    pub(crate) fn result(self) -> u64 {
        self.note() + 8 * RESULT_WORD
    }

    pub(crate) fn done(self) -> u64 {
        self.note() + 8 * DONE_WORD
    }

    /// A call's, aligned as one needs it.
    pub(crate) fn stack_pointer(self) -> u64 {
        self.note()
    }

    /// Where a thread is that is about to take its registers back.
    pub(crate) fn left(self) -> u64 {
        let code = code_between(&raw const lull_tracee_call, &raw const lull_tracee_left);
        self.base + code.len() as u64
    }
}

const NOTE_BYTES: u64 = 128;

/// What is said to a call: nothing returned yet, and the arguments.
pub(crate) fn note(arguments: &[u64; ARGUMENTS_MAX]) -> Vec<u8> {
    let mut words = vec![0u64; 4];
    words.extend(arguments);
    bytes_of(&words)
}

/// Which registers of vectors there are in what the kernel gave, as XRSTOR has to be told. None:
/// they are not in the form of XSAVE, or too long.
pub(crate) fn vector_parts(vectors: &[u8]) -> Option<u64> {
    /// Tiles, of which a thread has room only when it asked for them.
    const TILES: u64 = 1 << 18;
    let word = |at: usize| Some(u64::from_ne_bytes(vectors.get(at..at + 8)?.try_into().ok()?));
    let (parts, used) = (word(464)?, word(512)?);
    let fits = vectors.len() >= 576 && vectors.len() as u64 <= VECTOR_ROOM_BYTES;
    fits.then_some(if used & TILES == 0 { parts & !TILES } else { parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stack_pointer_is_aligned_for_a_call_and_vectors_for_the_processor() {
        let area = Area { base: 0x7000_0000_0000 };
        assert_eq!(area.stack_pointer() % 16, 0);
        assert_eq!(area.vectors() % 64, 0);
        assert!(second_bytes() < CODE_BYTES as usize && first_bytes() < 256);
    }

    #[test]
    fn vectors_that_are_cut_or_not_xsaves_are_refused() {
        assert_eq!(vector_parts(&[0; 512]), None);
        assert_eq!(vector_parts(&[0; 1 << 20]), None);
        let mut vectors = vec![0u8; 4096];
        vectors[464..472].copy_from_slice(&0x4_0007u64.to_ne_bytes());
        assert_eq!(vector_parts(&vectors), Some(7));
        vectors[514] = 4;
        assert_eq!(vector_parts(&vectors), Some(0x4_0007));
    }

    #[test]
    fn pieces_name_their_thread_and_other_bytes_name_none() {
        let registers = Registers::default();
        assert_eq!(first_owner(&first(&registers, 77)), Some(77));
        assert_eq!(second_owner(&second(&registers, 0, 78)), Some(78));
        assert_eq!(first_owner(&[0; 400]), None);
        assert_eq!(second_owner(second_code()), None);
    }
}
