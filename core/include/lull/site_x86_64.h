/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * x86-64: the no-op and the address of the record.
 *
 * The no-op is one long NOP, 0f 1f 84 /SIB/ disp32, that neither reads nor writes anything.
 * Its last five bytes are a complete jump, e9 rel32, to the probe. Two bytes change:
 *
 *	disabled	0f 1f | 84 | e9 rel32	nopl disp32(%rcx,%rbp,8)
 *	enabled		eb 01 | 84 | e9 rel32	jmp over the 84; jmp probe
 *
 * Both forms are valid at all times, also for a thread that was stopped between the two
 * jumps. The two bytes must lie in one aligned word of eight. Where they would not, the
 * alignment adds one byte, 2e, a prefix without meaning to either form, so that the site
 * stays one instruction.
 */
#ifndef LULL_SITE_X86_64_H
#define LULL_SITE_X86_64_H

#pragma GCC system_header

#define LULL_SITE_CODE                         \
	"\t.p2align 3, 0x2e, 1\n"              \
	"771:\t.byte 0x0f, 0x1f, 0x84, 0xe9\n" \
	"\t.long %l[lull_on_] - . - 4\n"
#define LULL_SITE_ADDRESS "\t{leaq 772b(%%rip), %[record]|lea %[record], 772b[rip]}\n"

#endif
