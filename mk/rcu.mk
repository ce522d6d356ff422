# SPDX-License-Identifier: MIT
# liblull-rcu, from rcu and port/user/rcu: the shared and the static library, the headers that
# rcu/flavour generates, tests and examples.

RCU_SONAME := liblull-rcu.so.0
RCU_HEADERS := $(BUILD)/include/lull/rcu/memb.h
RCU_FLAVOURS := $(shell sed -n 's/^flavour \([a-z]*\) .*/\1/p' rcu/flavour/generate)
RCU_PROGRAM_HEADERS := $(shell find rcu/include -name '*.h' | sort) \
	$(patsubst %,$(BUILD)/include/lull/rcu/%.h,$(RCU_FLAVOURS) $(RCU_FLAVOURS:%=flavour/%))
RCU_INCLUDES := -Ircu/include -I$(BUILD)/include -Iport/user/rcu -Ircu/grace \
	-Ircu/grace/host -Ircu/call -Ircu/structure -Ircu/qdo -Ircu/qdo/host
# What the shared library offers is in rcu/exports.map.
RCU_CFLAGS := -std=gnu11 $(CFLAGS) -DLULL_RCU_LIBRARY -fPIC -ftls-model=initial-exec \
	-fno-semantic-interposition $(WARNINGS) $(RCU_INCLUDES)

RCU_SOURCES := $(shell find rcu -name '*.c' ! -name '*_test.c' ! -path '*/test/*' \
	! -path 'rcu/compat/*' | sort) $(sort $(wildcard port/user/rcu/*.c))
RCU_TEST_SOURCES := $(shell find rcu -name '*_test.c' ! -name '*_sched_test.c' \
	! -path 'rcu/compat/*' | sort)
RCU_EXAMPLE_SOURCES := $(sort $(wildcard examples/rcu/*.c))
RCU_OBJECTS := $(patsubst %.c,$(BUILD)/rcu/%.o,$(RCU_SOURCES))
RCU_TEST_PROGRAMS := $(patsubst %.c,$(BUILD)/test/%,$(RCU_TEST_SOURCES))
RCU_EXAMPLES := $(addprefix $(BUILD)/,$(basename $(RCU_EXAMPLE_SOURCES)))
RCU_LIBRARIES := $(BUILD)/lib/liblull-rcu.so $(BUILD)/lib/liblull-rcu.a

.PHONY: rcu
rcu: $(RCU_LIBRARIES) ## build liblull-rcu.so and liblull-rcu.a
library: rcu
headers: $(RCU_HEADERS)
examples: $(RCU_EXAMPLES)
test-programs: $(RCU_TEST_PROGRAMS)
TEST_PROGRAMS += $(RCU_TEST_PROGRAMS)

$(RCU_HEADERS): rcu/flavour/generate $(wildcard rcu/flavour/*.in)
	$(say) HEADERS $(BUILD)/include/lull/rcu
	$(Q)rcu/flavour/generate $(BUILD)/include
	$(Q)touch $@

$(BUILD)/rcu/flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(CC) $(RCU_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(RCU_CFLAGS)' > $@

$(BUILD)/rcu/%.o: %.c $(BUILD)/rcu/flags | $(RCU_HEADERS)
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(RCU_CFLAGS) -MMD -MP -c -o $@ $<

# Never unloaded: threads that outlive a dlclose() are unregistered by its code when they end.
$(BUILD)/lib/$(RCU_SONAME): $(RCU_OBJECTS) rcu/exports.map
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(RCU_CFLAGS) -shared -Wl,-soname,$(RCU_SONAME) -Wl,-z,now -Wl,-z,defs \
		-Wl,-z,nodelete -Wl,--version-script=rcu/exports.map -pthread -o $@ $(RCU_OBJECTS)

$(BUILD)/lib/liblull-rcu.so: $(BUILD)/lib/$(RCU_SONAME)
	$(Q)ln -sf $(RCU_SONAME) $@

$(BUILD)/lib/liblull-rcu.a: $(RCU_OBJECTS)
	$(say) AR $@
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@
	$(Q)$(AR) qcs $@ $^ # files of one name, from several folders, all stay

# Tests see hidden symbols; examples link as a program of anybody's does.
$(BUILD)/test/rcu/%: $(BUILD)/rcu/rcu/%.o $(BUILD)/lib/liblull-rcu.a
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(RCU_CFLAGS) -pthread -o $@ $^

$(BUILD)/examples/rcu/%: examples/rcu/%.c $(BUILD)/rcu/flags $(BUILD)/lib/liblull-rcu.so \
		| $(RCU_HEADERS)
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(CFLAGS) $(WARNINGS) -Ircu/include -I$(BUILD)/include -pthread \
		-MMD -MP -o $@ $< -L$(BUILD)/lib -llull-rcu -Wl,-rpath,'$$ORIGIN/../../lib'

-include $(shell find $(BUILD)/rcu $(BUILD)/examples/rcu -name '*.d' 2>/dev/null)
