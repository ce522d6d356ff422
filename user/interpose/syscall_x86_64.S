/* SPDX-License-Identifier: MIT */
/*
 * syscall(), as in the C library, but for two numbers (confine.c). x86-64.
 *
 * It has no frame, as the C library's has none: some callers switch stacks by it.
 */
#if defined(__x86_64__)
#define SYS_PRCTL 157
#define SYS_SECCOMP 317

	.text
	.globl	syscall
	.type	syscall, @function
	.balign	16
syscall:
	.cfi_startproc
	endbr64
	cmpq	$SYS_SECCOMP, %rdi
	je	lull_syscall_watched
	cmpq	$SYS_PRCTL, %rdi
	je	lull_syscall_watched
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	1f
	ret
1:	negl	%eax
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	call	__errno_location@PLT
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	movl	%ecx, (%rax)
	movq	$-1, %rax
	ret
	.cfi_endproc
	.size	syscall, . - syscall
#endif
	.section .note.GNU-stack, "", @progbits
