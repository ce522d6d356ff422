/* SPDX-License-Identifier: MIT */
/*
 * How a litmus test ends: once each CPU has done its END and all stores have landed, what the
 * test calls FORBIDDEN must not have happened. Included after the test's registers. A machine
 * on which the assertion can fail allows that outcome. Paper: T 7.4.2.
 *
 * COVER_SEEN asks instead whether the test's SEEN can happen. Otherwise a test could pass because
 * the case that it is about never occurs.
 */
byte ended;
#define END ended++

#if CPUS == 2
#define ALL_LANDED (LANDED(0) && LANDED(1))
#elif CPUS == 3
#define ALL_LANDED (LANDED(0) && LANDED(1) && LANDED(2))
#else
#define ALL_LANDED (LANDED(0) && LANDED(1) && LANDED(2) && LANDED(3))
#endif

active proctype outcome()
{
	ended == CPUS && ALL_LANDED;
#ifdef COVER_SEEN
	assert(!(SEEN))
#else
	assert(!(FORBIDDEN))
#endif
}
