/* SPDX-License-Identifier: GPL-2.0-only */
/* Linked last into the module: the ends of what begins in first.S. */
	.section .note.lull, "a", @note
	.balign 4
	.globl lull_notes_end
lull_notes_end:

	.section .lull_bindings, "a", @progbits
	.balign 8
	.globl lull_bindings_end
lull_bindings_end:
