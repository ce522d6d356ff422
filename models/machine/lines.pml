/* SPDX-License-Identifier: MIT */
/* What may happen on one CPU between its instructions; included once for each CPU_. */
#ifdef MEMORY_LAZY
	:: mem[0] == mem[0] /* nothing moves, for as long as it likes */
#endif
#ifdef MACHINE_TSO
	:: d_step { tso_count[CPU_] > 0 -> tso_land_(CPU_) }
#else
#ifndef LINE_MOVES
#define LINE_WRITES_BACK(v) :: d_step { MAY_LAND(CPU_, v) -> write_back_(CPU_, v) }
#ifdef MACHINE_ALPHA
#define LINE_MOVES(v) LINE_WRITES_BACK(v) \
	:: d_step { STALE_(CPU_, v) -> fetch_(CPU_, v) }
#else
#define LINE_MOVES(v) LINE_WRITES_BACK(v)
#endif
#endif
	LINE_MOVES(0)
#if VARS > 1
	LINE_MOVES(1)
#endif
#if VARS > 2
	LINE_MOVES(2)
#endif
#if VARS > 3
	LINE_MOVES(3)
#endif
#if VARS > 4
	LINE_MOVES(4)
#endif
#if VARS > 5
	LINE_MOVES(5)
#endif
#if VARS > 6
	LINE_MOVES(6)
#endif
#if VARS > 7
	LINE_MOVES(7)
#endif
#if VARS > 8
	LINE_MOVES(8)
#endif
#if VARS > 9
	LINE_MOVES(9)
#endif
#if VARS > 10
	LINE_MOVES(10)
#endif
#if VARS > 11
	LINE_MOVES(11)
#endif
#if VARS > 12
	LINE_MOVES(12)
#endif
#if VARS > 13
	LINE_MOVES(13)
#endif
#if VARS > 14
	LINE_MOVES(14)
#endif
#if VARS > 15
	LINE_MOVES(15)
#endif
#endif
