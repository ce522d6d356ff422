// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that only x86 has: page faults, and the interrupts that the CPU's own controller makes.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#ifdef CONFIG_X86_64
#include <asm/trace/exceptions.h>
#include <asm/trace/irq_vectors.h>
#include <asm/msr-trace.h>
#include "events/fields.h"

#define PAGE_FAULT(name)                                                                         \
	LULL_KERNEL_EVENT(                                                                       \
		exceptions, name,                                                                \
		TP_PROTO(unsigned long address, struct pt_regs *regs, unsigned long error_code), \
		lull_x64(address, address), lull_x64(ip, regs->ip),                              \
		lull_flags64(error_code, error_code,                                             \
			     "PROT=0x1,WRITE=0x2,USER=0x4,RSVD=0x8,INSTR=0x10,PK=0x20,"          \
			     "SHSTK=0x40,SGX=0x8000"))

PAGE_FAULT(page_fault_user);
PAGE_FAULT(page_fault_kernel);

#define VECTOR(name)                                                       \
	LULL_KERNEL_EVENT(irq_vectors, name##_entry, TP_PROTO(int vector), \
			  lull_i32(vector, vector));                       \
	LULL_KERNEL_EVENT(irq_vectors, name##_exit, TP_PROTO(int vector), lull_i32(vector, vector))

VECTOR(local_timer);
VECTOR(spurious_apic);
VECTOR(error_apic);
VECTOR(x86_platform_ipi);
VECTOR(irq_work);
VECTOR(reschedule);
VECTOR(call_function);
VECTOR(call_function_single);
#ifdef CONFIG_X86_MCE_THRESHOLD
VECTOR(threshold_apic);
#endif
#ifdef CONFIG_X86_MCE_AMD
VECTOR(deferred_error_apic);
#endif
#ifdef CONFIG_X86_THERMAL_VECTOR
VECTOR(thermal_apic);
#endif

#define MSR(name)                                                                     \
	LULL_KERNEL_EVENT(msr, name, TP_PROTO(unsigned int msr, u64 val, int failed), \
			  lull_x32(msr, msr), lull_x64(val, val), lull_i32(failed, failed))

MSR(read_msr);
MSR(write_msr);
MSR(rdpmc);
#endif
