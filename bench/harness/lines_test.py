# SPDX-License-Identifier: MIT
"""Tests of the counting of cache lines: what instructions touch, by their bytes and registers."""

from __future__ import annotations

import unittest

from harness import lines

REGISTERS = {name: 0 for name in lines.REGISTERS.split()} | {
    "rip": 0x1000, "rsp": 0x8000, "rbp": 0x9000, "rax": 0x40, "rcx": 3, "rsi": 0x2000,
    "rdi": 0x3000, "fs_base": 0x70000,
}  # fmt: skip
# Bytes of an instruction, and address and size of all that it touches.
INSTRUCTIONS = {
    "488b4608": [(0x2008, 8)],  # mov 0x8(%rsi),%rax
    "8b0cc6": [(0x2200, 4)],  # mov (%rsi,%rax,8),%ecx
    "488d4608": [],  # lea 0x8(%rsi),%rax
    "8b0510000000": [(0x1016, 4)],  # mov 0x10(%rip),%eax
    "64488b042510000000": [(0x70010, 8)],  # mov %fs:0x10,%rax
    "64488b4018": [(0x70058, 8)],  # mov %fs:0x18(%rax),%rax
    "f0480fc10f": [(0x3000, 8)],  # lock xadd %rcx,(%rdi)
    "0fb707": [(0x3000, 2)],  # movzwl (%rdi),%eax
    "f3a4": [(0x2000, 1), (0x3000, 1)],  # rep movsb
    "0f1107": [(0x3000, 16)],  # movups %xmm0,(%rdi)
    "ff5010": [(0x7FF8, 8), (0x50, 8)],  # call *0x10(%rax)
    "c3": [(0x8000, 8)],  # ret
    "53": [(0x7FF8, 8)],  # push %rbx
    "c9": [(0x9000, 8)],  # leave
    "660f1f440000": [],  # nopw 0x0(%rax,%rax,1)
    "4889c8": [],  # mov %rcx,%rax
}


@unittest.skipIf(lines.missing(), f"lines: {lines.missing()}")
class LinesTest(unittest.TestCase):
    def test_instructions_touch_what_their_operands_say(self) -> None:
        texts = lines.disassembled({bytes.fromhex(code) for code in INSTRUCTIONS})
        for code, expected in INSTRUCTIONS.items():
            text, length = texts[bytes.fromhex(code)]
            self.assertEqual(length, len(code) // 2, text)
            self.assertEqual(lines.accesses(text, length, REGISTERS), expected, text)

    def test_bytes_behind_an_instruction_hide_none_of_the_next_cell(self) -> None:
        long = bytes.fromhex("c3" + "48b8" * 7)  # ret, then the beginning of a long instruction
        texts = lines.disassembled({long, bytes.fromhex("53")})
        self.assertEqual([length for _, length in texts.values()], [1, 1])

    def test_an_access_over_the_end_of_a_line_touches_two(self) -> None:
        self.assertEqual(lines.of_range(60, 8), {0, 1})
        self.assertEqual(lines.of_range(56, 8), {0})

    def test_lines_of_an_event_are_counted_once(self) -> None:
        load = lines.Step(bytes.fromhex("488b4608"), {**REGISTERS, "rip": 0x103E})
        push = lines.Step(bytes.fromhex("53"), {**REGISTERS, "rip": 0x1042})
        counted = lines.lines_of([[load, push, push]])
        self.assertEqual([(len(one.code), len(one.data)) for one in counted], [(2, 2)])
