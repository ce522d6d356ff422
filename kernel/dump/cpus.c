// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs: which there are, and which of them share what.
 */
#include <linux/cpumask.h>
#include <linux/topology.h>
#include "dump/record.h"

void lull_dump_cpus(struct dump *dump)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		bool is_online = cpu_online(cpu);
		int package = topology_physical_package_id(cpu), core = topology_core_id(cpu);
		int node = cpu_to_node(cpu);

		if (!lull_dump_goes_on(dump))
			return;
		LULL_DUMP_EVENT(&dump->counts[DUMP_CPU], "state:cpu", lull_u32(cpu, cpu),
				lull_bool(is_online, is_online), lull_i32(package, package),
				lull_i32(core, core), lull_i32(node, node));
	}
}
