# SPDX-License-Identifier: MIT
# liblull, from core, port/user and user; the examples; the C test programs; the headers.
#
# One set of position-independent objects makes the shared and the static library. Objects
# depend on what they include (-MMD) and on the compiler and its flags ($(BUILD)/obj/flags).

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
CLANG ?= clang
BUILD ?= build
AR ?= ar
SONAME := liblull.so.0
comma := ,

INCLUDES := -Iport/user -Icore/include -Icore -Icore/ring -Icore/clock -Icore/site \
	-Icore/filter -Iuser
WARNINGS := -Wall -Wextra -Werror
CFLAGS ?= -O2 -g
LULL_CFLAGS := -std=gnu11 $(CFLAGS) -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	-fno-semantic-interposition $(WARNINGS) $(INCLUDES)
# One segment for all that is only read: every recorded process maps each segment anew.
LULL_LDFLAGS := -shared -Wl,-soname,$(SONAME) -Wl,-z,initfirst -Wl,-z,now -Wl,-z,defs \
	-Wl,-z,noseparate-code -Wl,--build-id -Wl,-T,user/liblull.ld

CORE_SOURCES := $(shell find core -name '*.c' ! -name '*_test.c' ! -path '*/test/*' | sort)
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
USER_SOURCES := $(filter-out %_test.c,$(sort $(wildcard port/user/*.c user/*.c)))
ASSEMBLY_SOURCES := $(sort $(wildcard port/user/*_$(ARCH).S user/*_$(ARCH).S))
INTERPOSE_SOURCES := $(filter-out %_test.c,$(sort $(wildcard user/interpose/*.c)))
MALLOC_SOURCES := $(filter-out %_test.c,$(sort $(wildcard user/interpose/malloc/*.c)))
TEST_SOURCES := $(shell find core user port/user -name '*_test.c' ! -name '*_sched_test.c' | sort)
EXAMPLE_SOURCES := $(sort $(wildcard examples/*.c examples/*.cpp))
VERSIONS := $(wildcard user/interpose/symbols_$(ARCH).map)

# What programs include, in C and C++; and what tools, tests and the kernel include, in C.
# The other headers in core/include/lull are parts of trace.h.
PROGRAM_HEADERS := core/include/lull/trace.h
C_HEADERS := core/include/lull/clock.h $(sort $(wildcard core/include/lull/abi/*.h))

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
CORE_OBJECTS := $(call objects,$(CORE_SOURCES) $(USER_SOURCES)) \
	$(patsubst %.S,$(BUILD)/obj/%.o,$(ASSEMBLY_SOURCES))
INTERPOSE_OBJECTS := $(call objects,$(INTERPOSE_SOURCES)) \
	$(patsubst %.S,$(BUILD)/obj/%.o,$(wildcard user/interpose/*_$(ARCH).S))
MALLOC_OBJECTS := $(call objects,$(MALLOC_SOURCES) user/interpose/resolve.c)
TEST_PROGRAMS := $(patsubst %.c,$(BUILD)/test/%,$(TEST_SOURCES))
EXAMPLES := $(addprefix $(BUILD)/,$(basename $(EXAMPLE_SOURCES)))
LIBRARIES := $(BUILD)/lib/liblull.so $(BUILD)/lib/liblull.a
ifneq ($(MALLOC_SOURCES),)
LIBRARIES += $(BUILD)/lib/liblull-malloc.so
endif

.SECONDARY:
.PHONY: library examples test-programs headers clang
library: $(LIBRARIES) ## build liblull.so, liblull-malloc.so and liblull.a
examples: $(EXAMPLES)
test-programs: $(TEST_PROGRAMS)

# Call stacks lead through the functions of liblull that record events to the program's; but for
# those of locks, streams and memory, whose calls are so short that a frame would be felt.
SHORT := $(addprefix user/interpose/,condition.c lock.c stream.c)
FRAMED := $(call objects,$(filter-out $(SHORT),$(INTERPOSE_SOURCES)) \
	user/control.c user/objects.c user/process.c)
$(FRAMED): FRAME_CFLAGS := -fno-omit-frame-pointer

# Rewritten only when it changes, so that other flags or another compiler rebuild everything.
$(BUILD)/obj/flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(CC) $(LULL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(LULL_CFLAGS)' > $@

$(BUILD)/obj/%.o: %.c $(BUILD)/obj/flags
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LULL_CFLAGS) $(FRAME_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.o: %.S $(BUILD)/obj/flags
	$(say) AS $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LULL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/lib/$(SONAME): $(CORE_OBJECTS) $(INTERPOSE_OBJECTS) $(VERSIONS) user/liblull.ld
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LULL_CFLAGS) $(LULL_LDFLAGS) -o $@ $(filter %.o,$^) \
		$(addprefix -Wl$(comma)--version-script=,$(VERSIONS))

$(BUILD)/lib/liblull.so: $(BUILD)/lib/$(SONAME)
	$(Q)ln -sf $(SONAME) $@

# One relocatable object: a program that refers to anything of it gets all of it, and
# constructors are never left out. No interposers: a static program has nothing to interpose.
$(BUILD)/lib/liblull.a: $(CORE_OBJECTS)
	$(say) AR $@
	$(Q)mkdir -p $(@D)
	$(Q)$(LD) -r -o $(BUILD)/obj/liblull.o $^
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(BUILD)/obj/liblull.o

$(BUILD)/lib/liblull-malloc.so: $(MALLOC_OBJECTS) $(BUILD)/lib/liblull.so
	$(say) LINK $@
	$(Q)$(CC) $(LULL_CFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,now -o $@ $(MALLOC_OBJECTS) \
		-L$(BUILD)/lib -llull

$(BUILD)/examples/%: examples/%.c $(BUILD)/obj/flags
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(CFLAGS) $(WARNINGS) -Icore/include -pthread -MMD -MP -o $@ $<

$(BUILD)/examples/%: examples/%.cpp $(BUILD)/obj/flags
	$(say) CXX $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 $(CFLAGS) $(WARNINGS) -Icore/include -pthread -MMD -MP -o $@ $<

# A test program holds its *_test.c and those of the library's objects that it refers to,
# hidden symbols included.
$(BUILD)/obj/objects.a: $(CORE_OBJECTS)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/test/%: $(BUILD)/obj/%.o $(BUILD)/obj/objects.a
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LULL_CFLAGS) -pthread -o $@ $^

headers: ## check that each public header compiles alone, as C and C++, with gcc and clang
	$(Q)mk/headers "$(CC)" "$(CLANG)" "$(CXX)" "$(CLANG)++" \
		"$(PROGRAM_HEADERS) $(RCU_PROGRAM_HEADERS)" "$(C_HEADERS)"

clang: ## build the C code with clang too, beside the other build
	$(Q)$(MAKE) CC=$(CLANG) CXX=$(CLANG)++ BUILD=$(BUILD)/clang library examples test-programs

-include $(shell find $(BUILD)/obj $(BUILD)/examples -name '*.d' 2>/dev/null)
