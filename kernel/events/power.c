// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power, idle CPUs and frequencies.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/cpufreq.h>
#include <linux/device.h>
#include <trace/events/power.h>
#include <trace/events/cpuhp.h>
#include "events/fields.h"

/* As the kernel's dev_driver_string(), which is no inline function. */
static __always_inline const char *driver_of(const struct device *dev)
{
	const struct device_driver *driver = READ_ONCE(dev->driver);

	if (driver)
		return driver->name;
	if (dev->bus)
		return dev->bus->name;
	return dev->class ? dev->class->name : "";
}

#define CPU_FIELDS lull_u32(state, state), lull_u32(cpu_id, cpu_id)

LULL_KERNEL_EVENT(power, cpu_idle, TP_PROTO(unsigned int state, unsigned int cpu_id), CPU_FIELDS);
LULL_KERNEL_EVENT(power, cpu_idle_miss,
		  TP_PROTO(unsigned int cpu_id, unsigned int state, bool below),
		  lull_u32(cpu_id, cpu_id), lull_u32(state, state), lull_bool(below, below));
LULL_KERNEL_EVENT(power, pstate_sample,
		  TP_PROTO(u32 core_busy, u32 scaled_busy, u32 from, u32 to, u64 mperf, u64 aperf,
			   u64 tsc, u32 freq, u32 io_boost),
		  lull_u32(core_busy, core_busy), lull_u32(scaled_busy, scaled_busy),
		  lull_u32(from, from), lull_u32(to, to), lull_u64(mperf, mperf),
		  lull_u64(aperf, aperf), lull_u64(tsc, tsc), lull_u32(freq, freq),
		  lull_u32(io_boost, io_boost));
LULL_KERNEL_EVENT(power, cpu_frequency, TP_PROTO(unsigned int frequency, unsigned int cpu_id),
		  lull_u32(state, frequency), lull_u32(cpu_id, cpu_id));
LULL_KERNEL_EVENT(power, cpu_frequency_limits, TP_PROTO(struct cpufreq_policy *policy),
		  lull_u32(min_freq, policy->min), lull_u32(max_freq, policy->max),
		  lull_u32(cpu_id, policy->cpu));
LULL_KERNEL_EVENT(power, device_pm_callback_start,
		  TP_PROTO(struct device *dev, const char *pm_ops, int event),
		  lull_str(device, dev_name(dev)), lull_str(driver, driver_of(dev)),
		  lull_str(parent, dev->parent ? dev_name(dev->parent) : "none"),
		  lull_str(pm_ops, pm_ops ? pm_ops : "none "), lull_i32(event, event));
LULL_KERNEL_EVENT(power, device_pm_callback_end, TP_PROTO(struct device *dev, int error),
		  lull_str(device, dev_name(dev)), lull_str(driver, driver_of(dev)),
		  lull_i32(error, error));
LULL_KERNEL_EVENT(power, suspend_resume, TP_PROTO(const char *action, int val, bool start),
		  lull_str(action, action), lull_i32(val, val), lull_bool(start, start));

#define WAKEUP_SOURCE_FIELDS lull_str(name, name), lull_u64(state, state)

LULL_KERNEL_EVENT(power, wakeup_source_activate, TP_PROTO(const char *name, unsigned int state),
		  WAKEUP_SOURCE_FIELDS);
LULL_KERNEL_EVENT(power, wakeup_source_deactivate, TP_PROTO(const char *name, unsigned int state),
		  WAKEUP_SOURCE_FIELDS);

#define CLOCK_FIELDS lull_str(name, name), lull_u64(state, state), lull_u64(cpu_id, cpu_id)

LULL_KERNEL_EVENT(power, clock_enable,
		  TP_PROTO(const char *name, unsigned int state, unsigned int cpu_id),
		  CLOCK_FIELDS);
LULL_KERNEL_EVENT(power, clock_disable,
		  TP_PROTO(const char *name, unsigned int state, unsigned int cpu_id),
		  CLOCK_FIELDS);
LULL_KERNEL_EVENT(power, clock_set_rate,
		  TP_PROTO(const char *name, unsigned int state, unsigned int cpu_id),
		  CLOCK_FIELDS);

#define POWER_DOMAIN_FIELDS lull_str(name, name), lull_u64(state, state), lull_u64(cpu_id, cpu_id)

LULL_KERNEL_EVENT(power, power_domain_target,
		  TP_PROTO(const char *name, unsigned int state, unsigned int cpu_id),
		  POWER_DOMAIN_FIELDS);

#define CPU_LATENCY_QOS_REQUEST_FIELDS lull_i32(value, value)

LULL_KERNEL_EVENT(power, pm_qos_add_request, TP_PROTO(s32 value), CPU_LATENCY_QOS_REQUEST_FIELDS);
LULL_KERNEL_EVENT(power, pm_qos_update_request, TP_PROTO(s32 value),
		  CPU_LATENCY_QOS_REQUEST_FIELDS);
LULL_KERNEL_EVENT(power, pm_qos_remove_request, TP_PROTO(s32 value),
		  CPU_LATENCY_QOS_REQUEST_FIELDS);

#define PM_QOS_UPDATE_FIELDS                                             \
	lull_i32(action, (int)action), lull_i32(prev_value, prev_value), \
		lull_i32(curr_value, curr_value)

LULL_KERNEL_EVENT(power, pm_qos_update_target,
		  TP_PROTO(enum pm_qos_req_action action, int prev_value, int curr_value),
		  PM_QOS_UPDATE_FIELDS);
LULL_KERNEL_EVENT(power, pm_qos_update_flags,
		  TP_PROTO(enum pm_qos_req_action action, int prev_value, int curr_value),
		  PM_QOS_UPDATE_FIELDS);

#define DEV_PM_QOS_REQUEST_FIELDS \
	lull_str(name, name), lull_i32(type, (int)type), lull_i32(new_value, new_value)

LULL_KERNEL_EVENT(power, dev_pm_qos_add_request,
		  TP_PROTO(const char *name, enum dev_pm_qos_req_type type, s32 new_value),
		  DEV_PM_QOS_REQUEST_FIELDS);
LULL_KERNEL_EVENT(power, dev_pm_qos_update_request,
		  TP_PROTO(const char *name, enum dev_pm_qos_req_type type, s32 new_value),
		  DEV_PM_QOS_REQUEST_FIELDS);
LULL_KERNEL_EVENT(power, dev_pm_qos_remove_request,
		  TP_PROTO(const char *name, enum dev_pm_qos_req_type type, s32 new_value),
		  DEV_PM_QOS_REQUEST_FIELDS);
LULL_KERNEL_EVENT(power, guest_halt_poll_ns,
		  TP_PROTO(bool grow, unsigned int new, unsigned int old), lull_bool(grow, grow),
		  lull_u32(new, new), lull_u32(old, old));

LULL_KERNEL_EVENT(cpuhp, cpuhp_enter,
		  TP_PROTO(unsigned int cpu, int target, int idx, int (*fun)(unsigned int)),
		  lull_u32(cpu, cpu), lull_i32(target, target), lull_i32(idx, idx),
		  lull_ptr(fun, fun));
LULL_KERNEL_EVENT(cpuhp, cpuhp_multi_enter,
		  TP_PROTO(unsigned int cpu, int target, int idx,
			   int (*fun)(unsigned int, struct hlist_node *), struct hlist_node *node),
		  lull_u32(cpu, cpu), lull_i32(target, target), lull_i32(idx, idx),
		  lull_ptr(fun, fun));
LULL_KERNEL_EVENT(cpuhp, cpuhp_exit, TP_PROTO(unsigned int cpu, int state, int idx, int ret),
		  lull_u32(cpu, cpu), lull_i32(state, state), lull_i32(idx, idx),
		  lull_i32(ret, ret));
