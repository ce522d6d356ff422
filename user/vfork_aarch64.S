/* SPDX-License-Identifier: MIT */
/* vfork, marking that a child runs on this thread's memory. aarch64: see vfork_x86_64.S. */
#if defined(__aarch64__)
#define THREAD_PLAIN 4 /* the high half of struct thread's state; process.c asserts it */
#define THREAD_VFORK_PID 8 /* likewise */
#define CLONE_CHILD_SETTID 0x01000000
#define SYS_CLONE 220
#define CLONE_VFORK_FLAGS 0x4111 /* CLONE_VM | CLONE_VFORK | SIGCHLD */

	.text
	.globl	vfork
	.type	vfork, %function
	.balign	16
vfork:
	.cfi_startproc
	adrp	x5, :gottprel:lull_thread
	ldr	x5, [x5, #:gottprel_lo12:lull_thread]
	mrs	x6, tpidr_el0
	add	x5, x5, x6
	ldr	w7, [x5, #THREAD_VFORK_PID]
	str	wzr, [x5, #THREAD_VFORK_PID]
	adrp	x6, lull_vfork_tells
	ldr	w6, [x6, #:lo12:lull_vfork_tells]
	mov	x0, #CLONE_VFORK_FLAGS
	cbz	w6, 3f
	orr	x0, x0, #CLONE_CHILD_SETTID
	add	x4, x5, #THREAD_VFORK_PID
3:	mov	x1, sp
	mov	x8, #SYS_CLONE
	svc	#0
	cbz	x0, 1f
	str	w7, [x5, #THREAD_VFORK_PID]
	tbnz	x0, #63, 2f
	ldr	w3, [x5, #THREAD_PLAIN]
	sub	w3, w3, #2
	str	w3, [x5, #THREAD_PLAIN]
	ret
1:	ldr	w3, [x5, #THREAD_PLAIN]
	add	w3, w3, #2
	str	w3, [x5, #THREAD_PLAIN]
	ret
2:	neg	w0, w0
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	str	w0, [sp, #16]
	bl	__errno_location
	ldr	w1, [sp, #16]
	str	w1, [x0]
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	mov	x0, #-1
	ret
	.cfi_endproc
	.size	vfork, . - vfork
#endif
	.section .note.GNU-stack, "", %progbits
