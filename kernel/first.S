/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Linked first into the module: where its notes and its bindings begin. last.S has their ends. The
 * linker puts sections of one name behind each other in the order of the objects.
 */
	.section .note.lull, "a", @note
	.balign 4
	.globl lull_notes_begin
lull_notes_begin:

	.section .lull_bindings, "a", @progbits
	.balign 8
	.globl lull_bindings_begin
lull_bindings_begin:
