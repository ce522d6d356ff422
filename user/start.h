/* SPDX-License-Identifier: MIT */
/*
 * Where variables lie that each process writes when it starts: together, behind the records of
 * liblull's events (liblull.ld), for each page that a process writes costs it a fault and a copy.
 */
#ifndef LULL_START_H
#define LULL_START_H

#define AT_START __attribute__((section(".lull.start")))
/* Of what is long, of which most processes write the beginning. */
#define AT_START_LAST __attribute__((section(".lull.start.last")))

#endif
