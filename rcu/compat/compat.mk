# SPDX-License-Identifier: MIT
# liblull-urcu and the headers for programs written for liburcu, from rcu/compat: tables of
# functions and entry points beside liblull-rcu, headers whose flavours rcu/compat/flavour
# generates, and tests, which are built as a program of anybody's is.
#
# After mk/rcu.mk.

URCU_SONAME := liblull-urcu.so.0
URCU_HEADERS := $(BUILD)/compat/urcu/map/clear.h
URCU_FLAVOURS := qsbr mb signal memb bp
URCU_INCLUDES := -Ircu/compat/include -I$(BUILD)/compat -Ircu/include -I$(BUILD)/include
URCU_OBJECTS := $(patsubst rcu/compat/%.c,$(BUILD)/compat/obj/%.o,$(sort \
	$(wildcard rcu/compat/*.c))) $(URCU_FLAVOURS:%=$(BUILD)/compat/obj/flavour/%.o)
URCU_CFLAGS = -std=gnu11 $(CFLAGS) -fPIC $(WARNINGS) $(URCU_INCLUDES) -MMD -MP
URCU_TEST_SOURCES := $(sort $(wildcard rcu/compat/tests/*_test.c rcu/compat/tests/*_test.cc))
URCU_TEST_PROGRAMS := $(addprefix $(BUILD)/test/,$(basename $(URCU_TEST_SOURCES)))
URCU_LIBRARIES := $(BUILD)/lib/liblull-urcu.so $(BUILD)/lib/liblull-urcu.a
URCU_LINK := -L$(BUILD)/lib -llull-urcu -llull-rcu -Wl,-rpath,$(abspath $(BUILD)/lib)

.PHONY: urcu urcu-test-programs urcu-programs
urcu: $(URCU_LIBRARIES) $(URCU_HEADERS) ## build what programs written for liburcu need
library: urcu
urcu-test-programs: $(URCU_TEST_PROGRAMS) # which rcu/compat/tests/run runs

urcu-programs: ## build Debian's programs that use liburcu against ours, and run their tests
	$(Q)tests/urcu/run

$(URCU_HEADERS): $(wildcard rcu/compat/flavour/*)
	$(say) HEADERS $(BUILD)/compat/urcu
	$(Q)rcu/compat/flavour/generate $(BUILD)/compat
	$(Q)touch $@

$(BUILD)/compat/obj/%.o: rcu/compat/%.c $(BUILD)/rcu/flags | $(RCU_HEADERS) $(URCU_HEADERS)
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(URCU_CFLAGS) -c -o $@ $<

$(BUILD)/compat/source/%.c: $(URCU_HEADERS) ;

$(BUILD)/compat/obj/flavour/%.o: $(BUILD)/compat/source/%.c $(BUILD)/rcu/flags | $(RCU_HEADERS)
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(URCU_CFLAGS) -c -o $@ $<

# liblull-rcu lies beside it, wherever that is.
$(BUILD)/lib/$(URCU_SONAME): $(URCU_OBJECTS) $(BUILD)/lib/liblull-rcu.so
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,$(URCU_SONAME) -Wl,-z,now -Wl,-z,defs -o $@ \
		$(URCU_OBJECTS) -L$(BUILD)/lib -llull-rcu -Wl,-rpath,'$$ORIGIN'

$(BUILD)/lib/liblull-urcu.so: $(BUILD)/lib/$(URCU_SONAME)
	$(Q)ln -sf $(URCU_SONAME) $@

$(BUILD)/lib/liblull-urcu.a: $(URCU_OBJECTS)
	$(say) AR $@
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/test/rcu/compat/tests/%: rcu/compat/tests/%.c $(BUILD)/rcu/flags $(URCU_LIBRARIES) \
		| $(URCU_HEADERS)
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(CFLAGS) $(WARNINGS) $(URCU_INCLUDES) -pthread -MMD -MP -o $@ $< \
		$(URCU_LINK)

$(BUILD)/test/rcu/compat/tests/%: rcu/compat/tests/%.cc $(BUILD)/rcu/flags $(URCU_LIBRARIES) \
		| $(URCU_HEADERS)
	$(say) CXX $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 $(CFLAGS) $(WARNINGS) $(URCU_INCLUDES) -pthread -MMD -MP -o $@ $< \
		$(URCU_LINK)

-include $(shell find $(BUILD)/compat $(BUILD)/test/rcu/compat -name '*.d' 2>/dev/null)
