/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * aarch64: the no-op and the address of the record. NOP and B are among the instructions that
 * the architecture lets one thread replace while another executes them (Arm ARM B2.2.5).
 */
#ifndef LULL_SITE_AARCH64_H
#define LULL_SITE_AARCH64_H

#pragma GCC system_header

#define LULL_SITE_CODE "771:\tnop\n"
#define LULL_SITE_ADDRESS          \
	"\tadrp %[record], 772b\n" \
	"\tadd %[record], %[record], :lo12:772b\n"

#endif
