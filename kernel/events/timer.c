// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers, high-resolution timers and interval timers.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <trace/events/timer.h>
#include <trace/events/alarmtimer.h>
#include "events/fields.h"

#define TIMER_FIELDS lull_ptr(timer, timer)

LULL_KERNEL_EVENT(timer, timer_init, TP_PROTO(struct timer_list *timer), TIMER_FIELDS);
LULL_KERNEL_EVENT(timer, timer_start, LULL_TIMER_START, lull_ptr(timer, timer),
		  lull_ptr(function, timer->function), LULL_TIMER_START_FIELDS);
LULL_KERNEL_EVENT(timer, timer_expire_entry,
		  TP_PROTO(struct timer_list *timer, unsigned long baseclk), lull_ptr(timer, timer),
		  lull_u64(now, jiffies), lull_ptr(function, timer->function),
		  lull_u64(baseclk, baseclk));
LULL_KERNEL_EVENT(timer, timer_expire_exit, TP_PROTO(struct timer_list *timer), TIMER_FIELDS);
LULL_KERNEL_EVENT(timer, timer_cancel, TP_PROTO(struct timer_list *timer), TIMER_FIELDS);
LULL_KERNEL_EVENT(timer, hrtimer_init,
		  TP_PROTO(struct hrtimer *hrtimer, clockid_t clockid, enum hrtimer_mode mode),
		  lull_ptr(hrtimer, hrtimer), lull_i32(clockid, clockid),
		  lull_i32(mode, (int)mode));
LULL_KERNEL_EVENT(timer, hrtimer_start,
		  TP_PROTO(struct hrtimer *hrtimer, enum hrtimer_mode mode, bool was_armed),
		  lull_ptr(hrtimer, hrtimer), lull_ptr(function, hrtimer->function),
		  lull_i64(expires, hrtimer_get_expires(hrtimer)),
		  lull_i64(softexpires, hrtimer_get_softexpires(hrtimer)),
		  lull_i32(mode, (int)mode), lull_bool(was_armed, was_armed));
LULL_KERNEL_EVENT(timer, hrtimer_expire_entry, TP_PROTO(struct hrtimer *hrtimer, ktime_t *now),
		  lull_ptr(hrtimer, hrtimer), lull_i64(now, *now),
		  lull_ptr(function, hrtimer->function));

#define HRTIMER_FIELDS lull_ptr(hrtimer, hrtimer)

LULL_KERNEL_EVENT(timer, hrtimer_expire_exit, TP_PROTO(struct hrtimer *hrtimer), HRTIMER_FIELDS);
LULL_KERNEL_EVENT(timer, hrtimer_cancel, TP_PROTO(struct hrtimer *hrtimer), HRTIMER_FIELDS);
LULL_KERNEL_EVENT(timer, itimer_state,
		  TP_PROTO(int which, const struct itimerspec64 *const value,
			   unsigned long long expires),
		  lull_i32(which, which), lull_u64(expires, expires),
		  lull_i64(value_sec, value->it_value.tv_sec),
		  lull_i64(value_nsec, value->it_value.tv_nsec),
		  lull_i64(interval_sec, value->it_interval.tv_sec),
		  lull_i64(interval_nsec, value->it_interval.tv_nsec));
LULL_KERNEL_EVENT(timer, itimer_expire,
		  TP_PROTO(int which, struct pid *pid, unsigned long long now),
		  lull_i32(which, which), lull_i32(pid, pid_nr(pid)), lull_u64(now, now));
LULL_KERNEL_EVENT(timer, tick_stop, TP_PROTO(int success, int dependency),
		  lull_i32(success, success), lull_i32(dependency, dependency));

LULL_KERNEL_EVENT(alarmtimer, alarmtimer_suspend, TP_PROTO(ktime_t expires, int flag),
		  lull_i64(expires, expires), lull_u8(alarm_type, (u8)flag));

#define ALARM_FIELDS                                                  \
	lull_ptr(alarm, alarm), lull_u8(alarm_type, (u8)alarm->type), \
		lull_i64(expires, alarm->node.expires), lull_i64(now, now)

LULL_KERNEL_EVENT(alarmtimer, alarmtimer_fired, TP_PROTO(struct alarm *alarm, ktime_t now),
		  ALARM_FIELDS);
LULL_KERNEL_EVENT(alarmtimer, alarmtimer_start, TP_PROTO(struct alarm *alarm, ktime_t now),
		  ALARM_FIELDS);
LULL_KERNEL_EVENT(alarmtimer, alarmtimer_cancel, TP_PROTO(struct alarm *alarm, ktime_t now),
		  ALARM_FIELDS);
