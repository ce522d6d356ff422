/* SPDX-License-Identifier: MIT */
/*
 * vfork, marking that a child runs on this thread's memory. x86-64.
 *
 * The child has its parent's thread-local memory but no restartable-sequence area of its
 * own, so its events must take the plain ring (probe.c). It returns twice on one stack, so
 * it cannot be a C function around the real one: the return address is kept in a register.
 */
#if defined(__x86_64__)
#define THREAD_PLAIN 28 /* the high half of struct thread's state; process.c asserts it */
#define SYS_VFORK 58

	.text
	.globl	vfork
	.type	vfork, @function
	.balign	16
vfork:
	.cfi_startproc
	endbr64
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rdi
	movl	$SYS_VFORK, %eax
	syscall
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_offset rip, -8
	movq	lull_thread@gottpoff(%rip), %rcx
	testq	%rax, %rax
	jz	1f
	js	2f
	subl	$2, %fs:THREAD_PLAIN(%rcx)	/* the child is gone, what it added stays */
	ret
1:	addl	$2, %fs:THREAD_PLAIN(%rcx)
	ret
2:	negl	%eax
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	call	__errno_location@PLT
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	movl	%ecx, (%rax)
	movl	$-1, %eax
	ret
	.cfi_endproc
	.size	vfork, . - vfork
#endif
	.section .note.GNU-stack, "", @progbits
