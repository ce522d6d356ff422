/* SPDX-License-Identifier: MIT */
/*
 * What programs written for liburcu ask about how the library was built: for several processors,
 * with thread-local storage by the compiler, with all flavours in one process.
 */
#ifndef LULL_URCU_CONFIG_H
#define LULL_URCU_CONFIG_H

#define CONFIG_RCU_SMP 1
#define CONFIG_RCU_TLS 1
#define CONFIG_RCU_HAVE_CLOCK_GETTIME 1
#define CONFIG_RCU_HAVE_FUTEX 1
#define CONFIG_RCU_HAVE_MULTIFLAVOR 1

#if (defined(DEBUG_RCU) || defined(RCU_DEBUG)) && !defined(LULL_RCU_DEBUG)
#define LULL_RCU_DEBUG 1
#endif

#endif
