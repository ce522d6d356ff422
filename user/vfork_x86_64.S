/* SPDX-License-Identifier: MIT */
/*
 * vfork, marking that a child runs on this thread's memory. x86-64.
 *
 * The child has its parent's thread-local memory but no restartable-sequence area of its
 * own, so its events must take the plain ring (probe.c). Nor is its identifier anywhere in that
 * memory: the kernel is asked to write it to struct thread, which takes a clone with the flags
 * of vfork. Where no session is attached, or a filter of system calls may allow vfork only, the
 * call is vfork, and the child is recorded with identifiers of 0.
 *
 * vfork returns twice on one stack, so this cannot be a C function around the real one: the return
 * address is kept in a register, and so is the identifier of a vfork child around this one.
 */
#if defined(__x86_64__)
#define THREAD_PLAIN 4 /* the high half of struct thread's state; process.c asserts it */
#define THREAD_VFORK_PID 8 /* likewise */
#define SYS_CLONE 56
#define SYS_VFORK 58
#define CLONE_VFORK_FLAGS 0x01004111 /* CHILD_SETTID, VFORK, VM, SIGCHLD */

	.text
	.globl	vfork
	.type	vfork, @function
	.balign	16
vfork:
	.cfi_startproc
	endbr64
	popq	%r9
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, r9
	movq	lull_thread@gottpoff(%rip), %r8
	movl	%fs:THREAD_VFORK_PID(%r8), %edx
	cmpl	$0, lull_vfork_tells(%rip)
	je	3f
	leaq	THREAD_VFORK_PID(%r8), %r10
	addq	%fs:0, %r10
	movl	$CLONE_VFORK_FLAGS, %edi
	xorl	%esi, %esi
	movl	$SYS_CLONE, %eax
	syscall
	testq	%rax, %rax
	jns	4f
3:	movl	$0, %fs:THREAD_VFORK_PID(%r8)
	movl	$SYS_VFORK, %eax
	syscall
4:	pushq	%r9
	.cfi_adjust_cfa_offset 8
	.cfi_offset rip, -8
	testq	%rax, %rax
	jz	1f
	movl	%edx, %fs:THREAD_VFORK_PID(%r8)
	js	2f
	subl	$2, %fs:THREAD_PLAIN(%r8)	/* the child is gone, what it added stays */
	ret
1:	addl	$2, %fs:THREAD_PLAIN(%r8)
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
