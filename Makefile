# SPDX-License-Identifier: MIT
# Shortcuts; the build itself is meson's. Everything may be called from a fresh
# Debian 12 with only make and git: what is missing is installed first.
BUILD ?= build
JOBS  ?= 2

PACKAGES = gcc libc6-dev meson ninja-build pkg-config libglib2.0-dev \
           libyaml-dev libjson-glib-dev check gnuplot-nox graphviz
PACKAGES_QEMU = qemu-system-x86 dpkg-dev libfdt-dev libpixman-1-dev cpio
PACKAGES_GUEST = linux-image-amd64 linux-headers-amd64 linux-source-6.1 \
                 busybox-static kmod cpio bash diffutils binutils xz-utils \
                 pci.ids
PACKAGES_CLUSTER = $(PACKAGES_QEMU) $(PACKAGES_GUEST)
PACKAGES_KDEBUG = $(PACKAGES_CLUSTER) flex bison bc patch libelf-dev \
                  libssl-dev
PACKAGES_FUZZ = clang libclang-rt-14-dev
PACKAGES_STYLE = clang clang-format sparse perl git

# $(call programs,NAMES): succeeds if all are there; dash's command -v takes one.
programs = (for p in $(1); do command -v $$p >/dev/null || exit 1; done)

# Each of these says quickly if the packages of its list are installed.
HAVE = $(call programs,cc gcc meson ninja gnuplot dot pkg-config) && \
       pkg-config --exists glib-2.0 gio-2.0 json-glib-1.0 yaml-0.1 \
                            check
HAVE_GUEST = ls /boot/vmlinuz-6.1.*-amd64 /usr/src/linux-source-6.1.tar.xz \
             /usr/src/linux-headers-6.1.*-amd64 /bin/busybox >/dev/null 2>&1 && \
             $(call programs,kmod cpio bash cmp readelf xz)
HAVE_QEMU = $(call programs,qemu-system-x86_64 dpkg-source cpio) && \
            pkg-config --exists pixman-1 && [ -e /usr/include/libfdt.h ]
HAVE_CLUSTER = $(HAVE_GUEST) && $(HAVE_QEMU)
HAVE_KDEBUG = $(HAVE_CLUSTER) && \
              $(call programs,flex bison bc patch) && \
              [ -e /usr/include/libelf.h ] && [ -e /usr/include/openssl/ssl.h ]
HAVE_FUZZ = $(call programs,clang) && \
            ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a \
                >/dev/null 2>&1
HAVE_STYLE = $(call programs,clang clang-format sparse perl git)

# $(call need,CONDITION,PACKAGES): installs the packages unless all is there.
define need
@{ $(1); } || $(MAKE) --no-print-directory deps DEPS='$(strip $(2))'
endef

# Options of meson setup.
SETUP =

DEPS = $(PACKAGES)
APT  = env DEBIAN_FRONTEND=noninteractive apt-get
INSTALL = $(APT) install -y --no-install-recommends
SUDO = $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)

# A quick run of the same scenarios: make paper QUICK=1
PAPER = $(wildcard scenarios/paper/*/*.yaml)
RUN_FLAGS = -j $(JOBS) $(if $(QUICK),--limit transfer=1MiB)

# The scenarios with committed results in results/baseline/.
BASELINE = $(PAPER) $(wildcard scenarios/teaching/*.yaml)

# Experiments of the paper that results/baseline/ has.
PAPER_BASELINE = $(foreach s,$(PAPER),$(if $(wildcard \
    results/baseline/$(notdir $(s:.yaml=.csv))),$(s)))

.PHONY: all deps need-deps paper report fidelity cluster devices guest kmod \
        gate test test-sim test-device test-cluster test-lending test-kdebug \
        test-hostile bench bench-vm regress regress-clang baseline asan build-asan fuzz \
        check-style clean

all: need-deps $(BUILD)/build.ninja
	ninja -C $(BUILD)

need-deps:
	$(call need,$(HAVE),$(PACKAGES))

$(BUILD)/build.ninja: | need-deps
	meson setup $(BUILD) $(SETUP)

deps:
	@$(SUDO) true 2>/dev/null || { \
	    echo "Missing packages, and no right to install them. As root, run:"; \
	    echo "  apt-get install --no-install-recommends $(DEPS)"; \
	    exit 1; \
	} >&2
	@# The first try fails where apt knows no packages yet, or old ones.
	@set -x; $(SUDO) $(INSTALL) $(DEPS) 2>/dev/null || { \
	    $(SUDO) $(APT) update && $(SUDO) $(INSTALL) $(DEPS); \
	}

paper: all
	$(BUILD)/cli/farside run $(PAPER) -o results/paper $(RUN_FLAGS)
	@echo "The plots:" && ls results/paper/*.svg results/paper/*.png

# All of the paper on one page, with what limits and where the time goes.
report: RUN_FLAGS += --explain
report: paper
	$(BUILD)/cli/farside report results/paper -o results/index.html \
	    --title "Device Lending across NTBs: the paper's experiments"

# docs/reference/fidelity.md, from the results that are committed.
fidelity: all
	$(BUILD)/cli/farside report results/baseline \
	    $(PAPER_BASELINE:%=--scenario %) --fidelity docs/reference/fidelity.md

# In the gate a warning of Debian 12's compiler is an error; others warn of what
# nobody here has seen.
GATE = -Dgate=true -Dwerror=$(if $(filter 12.%,$(shell \
    $(CC) -dumpfullversion)),true,false)

# The gate: all tests but the long ones, and the checks of the style.
gate: SETUP = $(GATE)
gate: need-deps $(BUILD)/build.ninja
	@[ -e $(BUILD)/GATE ] || { \
	    meson configure $(BUILD) $(GATE) && touch $(BUILD)/GATE; \
	}
	ninja -C $(BUILD)

test: gate
	@{ $(HAVE_STYLE); } || \
	    $(MAKE) --no-print-directory deps DEPS='$(PACKAGES_STYLE)' || \
	    echo "Some checks of the style need what is not here: they are skipped."
	@if { $(HAVE_CLUSTER); } || \
	    $(MAKE) --no-print-directory deps DEPS='$(PACKAGES_CLUSTER)'; then \
	    $(MAKE) --no-print-directory cluster; \
	else \
	    echo "No virtual machines here: what needs them is skipped."; \
	fi
	tests/run $(BUILD) --no-suite long

# The tests that need no QEMU.
test-sim: all
	tests/run $(BUILD) --no-suite device --no-suite vms --no-suite lending \
	    --no-suite long

# The NTB device in QEMU, without a guest.
test-device: devices
	tests/run $(BUILD) --suite device

# Clusters of virtual machines: the command, and the kernel's own NTB stack.
# Here two hosts read from each other for a minute; in "make test" for less.
test-cluster: cluster
	CROSS_SECONDS=60 tests/run $(BUILD) --suite vms

# Device Lending on them.
test-lending: cluster
	tests/run $(BUILD) --suite lending --suite long

# Device Lending on a kernel that looks for faults; builds it first.
test-kdebug: devices
	$(call need,$(HAVE_KDEBUG),$(PACKAGES_KDEBUG))
	tests/kdebug/run $(BUILD) build-kdebug

# All that "farside cluster" needs.
cluster: devices guest

# The devices for the installed QEMU. meson looks for it only when it is told to.
devices: all
	$(call need,$(HAVE_QEMU),$(PACKAGES_QEMU))
	qemu-dev/headers build-qemu
	@cmp -s build-qemu/VERSION $(BUILD)/QEMU-VERSION || { \
	    meson setup --reconfigure $(BUILD) -Dqemu=enabled && \
	    cp build-qemu/VERSION $(BUILD)/QEMU-VERSION; \
	}
	ninja -C $(BUILD)

# The image that the machines of a cluster boot, with the modules of Device
# Lending, their tool, and the programs that tests run in them.
GUEST_FILES = kmod/lendctl/lendctl tests/lending/fuzz_ctl tests/lending/seqread
guest: all
	$(call need,$(HAVE_GUEST),$(PACKAGES_GUEST))
	cluster/guest/build build-guest --module-dir kmod \
	    $(GUEST_FILES:%=--add $(BUILD)/%) \
	    $(foreach f,$(wildcard /usr/share/misc/pci.ids),--add $(f):$(f))

# The modules of Device Lending alone, in build-kmod/, for the kernel of the guests.
kmod: guest
	[ ! -e build-guest/ntb/STAMP ] || $(MAKE) -C kmod NTB=../build-guest/ntb \
	    KDIR="$$(cut -d ' ' -f 2 build-guest/ntb/STAMP)"

# Hostile guests and peers for long; each round has a seed, which is printed, and
# how many accesses and messages it made.
HOSTILE_ROUNDS ?= 5
test-hostile: build-asan
	@for round in $$(seq $(HOSTILE_ROUNDS)); do \
	    seed=$$(shuf -i 1-1000000000 -n 1); \
	    FARSIDE_SEED=$$seed FARSIDE_MESSAGES=100000 \
	        tests/run build-asan device_hostile --timeout-multiplier 4; \
	    status=$$?; \
	    echo "seed $$seed:"; \
	    grep '^# ' build-asan/meson-logs/testlog.txt; \
	    [ $$status -eq 0 ] || exit 1; \
	done

bench: all
	mkdir -p results/bench
	$(BUILD)/cli/farside bench -o results/bench/simulated.csv \
	    --only 'engine/*' --only 'model/*' --only 'run/*'
	tests/cluster/bench/run $(BUILD) -o results/bench/emulated.csv

# The second half alone: of virtual machines.
bench-vm: all
	mkdir -p results/bench
	tests/cluster/bench/run $(BUILD) -o results/bench/emulated.csv

regress: all
	tests/regress $(BUILD) -j $(JOBS)
	@if command -v clang >/dev/null; then \
	    $(MAKE) --no-print-directory regress-clang; \
	else \
	    echo "No clang here: not compared with what it would build."; \
	fi

# Another compiler, the same bytes: compares with what regress has left.
regress-clang: need-deps
	[ -f build-clang/build.ninja ] || CC=clang meson setup build-clang
	ninja -C build-clang cli/farside
	tests/regress-clang build-clang -j $(JOBS)

# Accepts the numbers as they are now.
baseline: all
	$(BUILD)/cli/farside run $(BASELINE) -o results/baseline -j $(JOBS) \
	    --no-plot --quiet

# All tests with the compiler's checks for memory and undefined behaviour.
# Programs that run in a guest, or boot one, are built and run without them.
asan: build-asan
	tests/run build-asan --timeout-multiplier 4 --no-suite vms \
	    --no-suite lending --no-suite long

build-asan:
	$(MAKE) --no-print-directory BUILD=$@ \
	    SETUP='-Db_sanitize=address,undefined -Db_lundef=false' devices

# Each fuzzer for a minute with libFuzzer.
FUZZ_SECONDS ?= 60
fuzz: need-deps
	$(call need,$(HAVE_FUZZ),$(PACKAGES_FUZZ))
	[ -f build-fuzz/build.ninja ] || \
	    CC=clang meson setup build-fuzz -Dfuzz=true -Db_lundef=false \
	        -Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link
	ninja -C build-fuzz
	cd build-fuzz && for f in tests/fuzz/libfuzzer_*; do \
	    [ -x "$$f" ] && [ -f "$$f" ] || continue; \
	    "$$f" -max_total_time=$(FUZZ_SECONDS) -max_len=65536 || exit 1; \
	done

# Without a build of the devices and the guest, what needs these is skipped.
check-style: all
	$(call need,$(HAVE_STYLE),$(PACKAGES_STYLE))
	tests/style $(BUILD)

clean:
	rm -rf $(BUILD) build-asan build-clang build-fuzz build-guest build-kdebug \
	    build-kmod build-qemu
