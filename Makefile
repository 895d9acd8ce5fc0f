# tunec: make, make test, make demo.  VARIANT=debug|sanitize|release.

VARIANT ?= release
PREFIX  ?= /usr/local
CC      ?= cc
B       := $(if $(filter release,$(VARIANT)),build,build/$(VARIANT))

VERSION   := 0.1.0
COMMIT    := $(if $(wildcard .git),$(shell git describe --always --dirty \
	--exclude='*' --abbrev=12 2>/dev/null))
LLVM_CONFIG ?= llvm-config-19

FLAGS_release := -O2
FLAGS_debug   := -O0 -g3
FLAGS_sanitize := -O1 -g -fsanitize=address,undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer

CPPFLAGS += -I. -D_GNU_SOURCE -DTUNEC_VERSION='"$(VERSION)"'
CFLAGS   += -std=c11 -Wall -Wextra -Werror -fPIC -g $(FLAGS_$(VARIANT))
LDFLAGS  += $(filter -fsanitize=%,$(FLAGS_$(VARIANT)))
LDLIBS   := -lyaml -lsqlite3 -ljansson -lm -ldl -lpthread

# Targets that build on their own build with all CPUs, unless told otherwise.
JOBS     := $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

FOLDERS  := lib ir schedule codegen tuner cmd
MODULES  := $(wildcard codegen/llvm/module_*.c) tuner/model/module_xgboost.c
SOURCES  := $(filter-out $(MODULES),$(wildcard $(FOLDERS:=/*.c) \
	$(FOLDERS:=/*/*.c)))
OBJECTS  := $(SOURCES:%.c=$B/obj/%.o)
LIBRARY  := $(filter-out $B/obj/cmd/main.o,$(OBJECTS))
# LLVM=0: without its module; C, OpenCL C and CUDA C need none.
LLVM     ?= 1
MODULE_FILES := $(if $(filter-out 0,$(LLVM)),$B/tunec-llvm.so) \
	$(if $(wildcard tuner/model/module_xgboost.c),$B/tunec-xgboost.so)
# What a module calls of the program; nothing else is seen from outside, since
# a driver's library would find our functions by the names of the C library's.
MODULE_OBJECTS := $(if $(filter-out 0,$(LLVM)),$(patsubst %.c,$B/obj/%.o,\
	$(wildcard codegen/llvm/module_*.c))) $B/obj/tuner/model/module_xgboost.o
EXPORTS  := -Wl,--dynamic-list=$B/exports
# Tests in C are programs of their own; test/common*.c is linked into each.
TEST_SOURCES := $(wildcard test/unit/*.c test/property/*.c test/diff/*.c \
	test/bench/*.c test/fuzz/fuzz_*.c)
TEST_COMMON  := $(patsubst %.c,$B/obj/%.o,$(wildcard test/common*.c))
TEST_PROGRAMS := $(TEST_SOURCES:%.c=$B/%)
# They are many, and lld links one in half the time.
LLD := $(if $(filter fuzz,$(VARIANT)),,$(if $(shell command -v ld.lld),-fuse-ld=lld))
$(TEST_PROGRAMS): LDFLAGS += $(LLD)
# A reader to fuzz is linked with a driver of our own, or with libFuzzer's.
FUZZ_PROGRAMS := $(patsubst %.c,$B/%,$(wildcard test/fuzz/fuzz_*.c))
FUZZ_COMMON   := $B/obj/test/fuzz/common.o $B/obj/test/fuzz/stores.o \
	$(if $(filter fuzz,$(VARIANT)),,$B/obj/test/fuzz/driver.o)

.PHONY: all demo test test-long test-gpu bench dist fuzz fuzzers install uninstall deps layers figures fmt \
	lint clean bless tests FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: $B/tunec $(MODULE_FILES)

$B/exports: $(MODULE_OBJECTS)
	@nm -u $^ | awk 'BEGIN { print "{" } $$1 == "U" && !seen[$$2]++ { \
		print $$2 ";" } END { print "};" }' >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$B/tunec: $(OBJECTS) $B/exports
	@echo "  link $@"
	@$(CC) $(LDFLAGS) $(EXPORTS) -o $@ $(filter-out $B/exports,$^) $(LDLIBS)

LLVM_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(wildcard codegen/llvm/module_*.c))

$B/tunec-llvm.so: $(LLVM_OBJECTS)
	@echo "  link $@"
	@$(CC) $(LDFLAGS) -shared -o $@ $^ $(shell $(LLVM_CONFIG) --ldflags --libs) -lffi

$(LLVM_OBJECTS): CPPFLAGS += $(shell $(LLVM_CONFIG) --cppflags 2>/dev/null)

$B/tunec-xgboost.so: $B/obj/tuner/model/module_xgboost.o $(LIBRARY)
	@echo "  link $@"
	@$(CC) $(LDFLAGS) -shared -o $@ $< -lxgboost

# What `tunec --version` says; written where it changed.
$B/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@
FORCE:

$B/obj/cmd/main.o: $B/commit
$B/obj/cmd/main.o: CPPFLAGS += -DTUNEC_COMMIT='"$(COMMIT)"'

$B/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  cc   $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(FUZZ_PROGRAMS): LDFLAGS += $(if $(filter fuzz,$(VARIANT)),-fsanitize=fuzzer)
$(FUZZ_PROGRAMS): $B/test/fuzz/%: $B/obj/test/fuzz/%.o $(FUZZ_COMMON) $(LIBRARY) $B/exports
	@mkdir -p $(@D)
	@echo "  link $@"
	@$(CC) $(LDFLAGS) $(EXPORTS) -o $@ $(filter-out $B/exports,$^) $(LDLIBS)

$B/test/bench/bench_search $B/test/property/test_lab \
$B/test/property/test_tasks $B/test/property/test_transfer: \
	$(patsubst %.c,$B/obj/%.o,$(wildcard test/lab/*.c))

# What it makes of a GPU's kernels calls it for its fibers.
$B/test/diff/test_fibers: EXPORTS += -Wl,--export-dynamic-symbol='fibers_*'

$B/test/%: $B/obj/test/%.o $(TEST_COMMON) $(LIBRARY) $B/exports
	@mkdir -p $(@D)
	@echo "  link $@"
	@$(CC) $(LDFLAGS) $(EXPORTS) -o $@ $(filter-out $B/exports,$^) -lcmocka $(LDLIBS)

-include $(shell find $B/obj -name '*.d' 2>/dev/null)

tests: all $(TEST_PROGRAMS)

# Installs what is missing, says so first; does nothing where all is there.
deps:
	@test/tools/deps.sh

test: deps
	@$(MAKE) $(JOBS) --no-print-directory tests
	@VARIANT=$(VARIANT) BUILD=$B test/tools/run.sh quick

test-long: deps
	@$(MAKE) $(JOBS) --no-print-directory tests
	@VARIANT=$(VARIANT) BUILD=$B test/tools/run.sh long

# More of what is built for devices: 500 candidates through both compilers and
# ptxas, more kernels on the device of OpenCL and as fibers.
test-gpu: deps
	@$(MAKE) $(JOBS) --no-print-directory tests
	@for t in test_sample test_fibers diff/test_device; do \
		VARIANT=$(VARIANT) BUILD=$B SAMPLE=500 ONLY=$$t \
			test/tools/run.sh long || exit; done

# The readers of outside bytes with libFuzzer; test/tools/fuzz.sh runs them.
fuzz: deps
	@$(MAKE) $(JOBS) --no-print-directory VARIANT=fuzz CC=clang-14 fuzzers

fuzzers: $(FUZZ_PROGRAMS)

# The figures of docs/acceptance.md; ONLY=hand measures some of them.
bench: deps
	@$(MAKE) $(JOBS) -s all $(patsubst %.c,$B/%,$(wildcard test/bench/*.c))
	@BUILD=$B test/bench/run.sh

# Tunes a convolution for a minute and links it into a C program.
demo: deps
	@$(MAKE) $(JOBS) -s all
	@BUILD=$B test/tools/demo.sh

# A tarball for machines without any of what the build needs.
dist: deps
	@$(MAKE) $(JOBS) --no-print-directory all
	@BUILD=$B LLVM=$(LLVM) CC='$(CC)' test/tools/dist.sh $(VERSION) \
		'$(OBJECTS)' '$(LDLIBS)' '$(LLVM_OBJECTS)'

# Renew the expected texts of test/golden and test/error; review reads the diff.
bless: all
	@BUILD=$B BLESS=1 test/tools/run.sh quick

layers:
	@test/tools/layers.sh

# Sizes, asserts and circles of files, as docs/architecture.md has them.
figures: all
	@test/tools/figures.py

# The lines that differ from the last commit; tables set by hand stay.
fmt:
	git clang-format-14 --force -- $(FOLDERS) test ':!test/golden'

# Below DESTDIR, which is where a package is made; a path may have spaces.
PLACE   := '$(subst ','\'',$(DESTDIR)$(PREFIX))'

install: all
	install -d $(PLACE)/bin $(PLACE)/lib/tunec
	install $B/tunec $(PLACE)/bin/tunec
	$(if $(MODULE_FILES),install -m 644 $(MODULE_FILES) $(PLACE)/lib/tunec)

uninstall:
	rm -f $(PLACE)/bin/tunec $(PLACE)/lib/tunec/tunec-llvm.so \
		$(PLACE)/lib/tunec/tunec-xgboost.so
	test ! -d $(PLACE)/lib/tunec || \
		rmdir --ignore-fail-on-non-empty $(PLACE)/lib/tunec

clean:
	rm -rf build
