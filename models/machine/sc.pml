/* SPDX-License-Identifier: MIT */
/* Sequential consistency, as T 8.6 assumes: every access has its effect on memory at once. */
#define LOAD(cpu, v) mem[v]
#define STORE(cpu, v, x) mem[v] = (x)
#define STORE_RELEASE(cpu, v, x) STORE(cpu, v, x)
#define STORE_FULL(cpu, v, x) STORE(cpu, v, x)
#define ADD_LOCAL(cpu, v, x, result) d_step { result = mem[v] + (x); mem[v] = result }
#define LANDED(cpu) true

#define fetch_all_(cpu) skip
#define order_stores_(cpu) skip
#define land_all_(cpu) skip
#define barrier_(cpu) skip
#define write_through_(cpu, v, x) mem[v] = (x)
