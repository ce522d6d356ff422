// SPDX-License-Identifier: MIT
// A C++17 program: readers and an updater with classes, threads and lambdas of the language.
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>
#include "lull/rcu/memb.h"

namespace
{

class Section
{
      public:
	Section()
	{
		rcu_read_lock();
	}
	~Section()
	{
		rcu_read_unlock();
	}
	Section(const Section &) = delete;
	Section &operator=(const Section &) = delete;
};

class Reader
{
      public:
	Reader()
	{
		rcu_register_thread();
	}
	~Reader()
	{
		rcu_unregister_thread();
	}
	Reader(const Reader &) = delete;
	Reader &operator=(const Reader &) = delete;
};

struct Route : rcu_head {
	explicit Route(int begin) : from(begin), to(begin + 1)
	{
	}
	~Route()
	{
		from = to = -1;
	}
	int from, to;
};

Route *current;
std::atomic<bool> stop;
std::atomic<long> wrong;

void read_all()
{
	Reader reader;

	while (!stop) {
		Section section;
		const Route *route = rcu_dereference(current);

		if (route->to != route->from + 1)
			wrong++;
	}
}

void replace(int begin)
{
	auto route = std::make_unique<Route>(begin);
	Route *old = rcu_xchg_pointer(&current, route.release());

	if (begin % 2) {
		call_rcu(old, [](rcu_head *head) { delete static_cast<Route *>(head); });
		return;
	}
	synchronize_rcu();
	delete old;
}

} // namespace

int main()
{
	std::vector<std::thread> readers;

	current = new Route(0);
	for (int i = 0; i < 3; i++)
		readers.emplace_back(read_all);
	for (int i = 1; i < 2000; i++)
		replace(i);
	stop = true;
	for (auto &reader : readers)
		reader.join();
	rcu_barrier();
	delete current;
	std::printf("%d passed, %d failed, 0 skipped\n", !wrong, !!wrong);
	return wrong != 0;
}
