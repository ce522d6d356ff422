/* SPDX-License-Identifier: MIT */
/*
 * syscall(), as in the C library, but for two numbers (confine.c). aarch64.
 *
 * It has no frame, as the C library's has none: some callers switch stacks by it.
 */
#if defined(__aarch64__)
#define SYS_PRCTL 167
#define SYS_SECCOMP 277

	.text
	.globl	syscall
	.type	syscall, %function
	.balign	16
syscall:
	.cfi_startproc
	cmp	x0, #SYS_SECCOMP
	b.eq	lull_syscall_watched
	cmp	x0, #SYS_PRCTL
	b.eq	lull_syscall_watched
	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, x3
	mov	x3, x4
	mov	x4, x5
	mov	x5, x6
	svc	#0
	cmn	x0, #4095
	b.cs	1f
	ret
1:	neg	w0, w0
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
	.size	syscall, . - syscall
#endif
	.section .note.GNU-stack, "", %progbits
