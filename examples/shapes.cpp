/* SPDX-License-Identifier: MIT */
/*
 * Events in C++: constructors, a template, a lambda. A template's event has one description
 * for all its instances, so its fields have the same types in each.
 *
 *	c++ -std=c++17 -O2 -I../core/include shapes.cpp -o shapes
 *	lull record -- ./shapes
 */
#include <cstdio>
#include <string>
#include <vector>
#include <lull/trace.h>

enum class kind : int { circle, square };

class shape
{
      public:
	shape(kind what, std::string name) : what_(what), name_(std::move(name))
	{
		lull_event("shape:made", lull_ptr(self, this),
			   lull_enum(kind, what_, "CIRCLE=0,SQUARE=1"),
			   lull_str(name, name_.c_str()));
	}
	template <class Number> Number area(Number size) const
	{
		Number result = what_ == kind::square ? size * size : size * size * 3;

		lull_event("shape:area", lull_ptr(self, this), lull_f64(area, double(result)));
		return result;
	}

      private:
	kind what_;
	std::string name_;
};

int main()
{
	const std::vector<shape> shapes = { { kind::circle, "coin" }, { kind::square, "tile" } };
	std::vector<uint32_t> areas;
	auto report = [&areas](const char *when) {
		lull_event("shape:report", lull_str(when, when),
			   lull_au32(areas, areas.data(), areas.size()));
	};

	report("before");
	for (const shape &one : shapes) {
		areas.push_back(one.area(2u));
		one.area(1.5);
	}
	report("after");
	std::printf("%zu shapes\n", shapes.size());
}
