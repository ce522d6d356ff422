// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual machines of x86, where the kvm module is loaded.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/kvm_host.h>
#if IS_ENABLED(CONFIG_KVM) && defined(CONFIG_X86_64)
#include <trace/events/kvm.h>
#include "events/fields.h"

/* What a virtual CPU wrote to a device or read from it, up to 8 bytes. */
static __always_inline u64 value_of(const void *bytes, int count)
{
	u64 value = 0;

	if (bytes && count > 0)
		__builtin_memcpy(&value, bytes, min_t(u32, sizeof(value), count));
	return value;
}

LULL_KERNEL_EVENT(kvm, kvm_userspace_exit, TP_PROTO(__u32 reason, int errno),
		  lull_u32(reason, reason), lull_i32(errno, errno));
LULL_KERNEL_EVENT(kvm, kvm_vcpu_wakeup, TP_PROTO(__u64 ns, bool waited, bool valid),
		  lull_u64(ns, ns), lull_bool(waited, waited), lull_bool(valid, valid));
LULL_KERNEL_EVENT(kvm, kvm_set_irq, TP_PROTO(unsigned int gsi, int level, int irq_source_id),
		  lull_u32(gsi, gsi), lull_i32(level, level),
		  lull_i32(irq_source_id, irq_source_id));
LULL_KERNEL_EVENT(kvm, kvm_ioapic_set_irq, TP_PROTO(__u64 e, int pin, bool coalesced),
		  lull_x64(e, e), lull_i32(pin, pin), lull_bool(coalesced, coalesced));
LULL_KERNEL_EVENT(kvm, kvm_ioapic_delayed_eoi_inj, TP_PROTO(__u64 e), lull_x64(e, e));
LULL_KERNEL_EVENT(kvm, kvm_msi_set_irq, TP_PROTO(__u64 address, __u64 data),
		  lull_x64(address, address), lull_x64(data, data));
LULL_KERNEL_EVENT(kvm, kvm_ack_irq, TP_PROTO(unsigned int irqchip, unsigned int pin),
		  lull_u32(irqchip, irqchip), lull_u32(pin, pin));
LULL_KERNEL_EVENT(kvm, kvm_mmio, TP_PROTO(int type, int len, u64 gpa, void *val),
		  lull_u32(type, (u32)type), lull_u32(len, (u32)len), lull_x64(gpa, gpa),
		  lull_x64(val, value_of(val, len)));
LULL_KERNEL_EVENT(kvm, kvm_fpu, TP_PROTO(int load), lull_u32(load, (u32)load));

#define KVM_ASYNC_GET_PAGE_FIELDS lull_x64(gva, gva), lull_x64(gfn, gfn)

LULL_KERNEL_EVENT(kvm, kvm_try_async_get_page, TP_PROTO(u64 gva, u64 gfn),
		  KVM_ASYNC_GET_PAGE_FIELDS);
LULL_KERNEL_EVENT(kvm, kvm_async_pf_repeated_fault, TP_PROTO(u64 gva, u64 gfn),
		  KVM_ASYNC_GET_PAGE_FIELDS);

#define KVM_ASYNC_PF_NOPRESENT_READY_FIELDS lull_u64(token, token), lull_x64(gva, gva)

LULL_KERNEL_EVENT(kvm, kvm_async_pf_not_present, TP_PROTO(u64 token, u64 gva),
		  KVM_ASYNC_PF_NOPRESENT_READY_FIELDS);
LULL_KERNEL_EVENT(kvm, kvm_async_pf_ready, TP_PROTO(u64 token, u64 gva),
		  KVM_ASYNC_PF_NOPRESENT_READY_FIELDS);
LULL_KERNEL_EVENT(kvm, kvm_async_pf_completed, TP_PROTO(unsigned long address, u64 gva),
		  lull_x64(address, address), lull_x64(gva, gva));
LULL_KERNEL_EVENT(kvm, kvm_halt_poll_ns,
		  TP_PROTO(bool grow, unsigned int vcpu_id, unsigned int new, unsigned int old),
		  lull_bool(grow, grow), lull_u32(vcpu_id, vcpu_id), lull_u32(new, new),
		  lull_u32(old, old));

/*
 * The kernel keeps the header of these two to itself. What its own events show beside the CPU comes
 * from functions of the processor's vendor, which a probe cannot call.
 */
DECLARE_TRACE(kvm_entry, TP_PROTO(struct kvm_vcpu *vcpu), TP_ARGS(vcpu));
DECLARE_TRACE(kvm_exit, TP_PROTO(struct kvm_vcpu *vcpu, u32 isa), TP_ARGS(vcpu, isa));
LULL_KERNEL_EVENT(kvm, kvm_entry, TP_PROTO(struct kvm_vcpu *vcpu),
		  lull_u32(vcpu_id, (u32)vcpu->vcpu_id));
LULL_KERNEL_EVENT(kvm, kvm_exit, TP_PROTO(struct kvm_vcpu *vcpu, u32 isa), lull_u32(isa, isa),
		  lull_u32(vcpu_id, (u32)vcpu->vcpu_id));
#endif
