# SPDX-License-Identifier: MIT
# Shortcuts; meson does the build itself. Every target works on a fresh Debian
# 12 or 13 with only make and git: it installs missing packages first, whose names
# are in install/packages.
BUILD ?= build
JOBS  ?= 2

# $(call programs,NAMES): succeeds if all programs are installed. The loop is
# there because dash's command -v takes one name.
programs = (for p in $(1); do command -v $$p >/dev/null || exit 1; done)

# Each of these conditions tests quickly if the packages of a list are there.
HAVE = $(call programs,cc gcc meson ninja gnuplot dot pkg-config) && \
       pkg-config --exists glib-2.0 gio-2.0 json-glib-1.0 yaml-0.1 \
                            cminpack check
HAVE_GUEST = host/guest/build --check >/dev/null 2>&1
HAVE_QEMU = $(call programs,qemu-system-x86_64 cpio) && \
            { ! $(call programs,apt-get) || $(call programs,dpkg-source); } && \
            pkg-config --exists pixman-1 && [ -e /usr/include/libfdt.h ]
HAVE_CLUSTER = $(HAVE_GUEST) && $(HAVE_QEMU)
HAVE_KDEBUG = $(HAVE_CLUSTER) && \
              $(call programs,flex bison bc patch) && \
              [ -e /usr/include/libelf.h ] && [ -e /usr/include/openssl/ssl.h ]
HAVE_FUZZ = $(call programs,clang) && \
            ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a \
                >/dev/null 2>&1
HAVE_DEB = $(HAVE_QEMU) && \
           $(call programs,dh dh_dkms dh_python3 debootstrap lintian)
HAVE_STYLE = $(call programs,clang clang-format sparse perl git)

# $(call need,CONDITION,GROUPS): installs the groups' packages unless CONDITION holds.
define need
@{ $(1); } || install/deps $(2)
endef

# Options of meson setup.
SETUP =

# The groups that "make deps" installs.
DEPS = program

# A quick run of the same scenarios: make paper QUICK=1
PAPER = $(wildcard scenarios/paper/*/*.yaml)
RUN_FLAGS = -j $(JOBS) $(if $(QUICK),--limit transfer=1MiB)

# The scenarios that make baseline runs.
BASELINE = $(PAPER) $(wildcard scenarios/teaching/*.yaml \
    scenarios/devmem/*.yaml scenarios/compared/*.yaml \
    scenarios/replay/*.yaml scenarios/lending/*.yaml)

# Experiments of the paper that have a result in results/baseline/.
PAPER_BASELINE = $(foreach s,$(PAPER),$(if $(wildcard \
    results/baseline/$(notdir $(s:.yaml=.csv))),$(s)))

# Targets build in one folder, so one at a time; ninja uses the processors.
.NOTPARALLEL:
.PHONY: all program deps need-deps paper report fidelity oracles accuracy cluster \
        devices devices-setup guest guest-6.12 guest-7.3 guest-debug kmod \
        gate test test-ci test-platforms test-sim test-sweep test-device test-cluster test-lending \
        test-intree test-kdebug test-kvm test-vm test-chips test-devmem \
        test-drive test-ring test-hostile fuzz-chips test-timed explore bench bench-vm regress \
        regress-clang baseline asan asan-setup build-asan fuzz \
        fuzz-run check-style install deb test-deb clean

all: need-deps $(BUILD)/build.ninja
	ninja -C $(BUILD)

# The program alone, which is half of what there is to build.
program: need-deps $(BUILD)/build.ninja
	ninja -C $(BUILD) cli/farside

need-deps:
	$(call need,$(HAVE),program)

$(BUILD)/build.ninja: | need-deps
	meson setup $(BUILD) $(SETUP)

deps:
	install/deps $(DEPS)

paper: program
	$(BUILD)/cli/farside run $(PAPER) -o results/paper $(RUN_FLAGS)
	@echo "The plots:" && ls results/paper/*.svg results/paper/*.png

# All experiments of the paper on one page, with bottlenecks and hop tables.
report: RUN_FLAGS += --explain
report: paper
	$(BUILD)/cli/farside report results/paper -o results/index.html \
	    --title "Device Lending across NTBs: the paper's experiments"

# Writes docs/reference/fidelity.md from the committed results.
fidelity: program
	$(BUILD)/cli/farside report results/baseline \
	    $(PAPER_BASELINE:%=--scenario %) --fidelity docs/reference/fidelity.md \
	    --statements scenarios/paper/statements.csv

# In the gate a warning of a compiler that has been tried is an error: those of
# Debian 12 and 13, and gcc of Debian 14. Others may have warnings that are unknown here.
TRIED = gcc-12 gcc-14 gcc-16 clang-14 clang-19
COMPILER = $(shell printf '__clang__ __clang_major__ __GNUC__\n' | $(CC) -E -P -x c - | \
    awk 'NF == 3 && $$1 == 1 { print "clang-" $$2 } \
         NF == 3 && $$1 != 1 { print "gcc-" $$3 }')
GATE = -Dgate=true -Dwerror=$(if $(filter $(TRIED),$(COMPILER)),true,false)

# Published measurements of other machines than the paper's. Fails if a value
# with a bound is missed by more.
ORACLES = $(wildcard scenarios/oracles/*/*.yaml)
oracles: program
	@status=0; for s in $(ORACLES); do \
	    $(BUILD)/cli/farside run $$s -o results/oracles -j $(JOBS) \
	        --bounds --quiet || status=1; \
	done; exit $$status

# Results of --accuracy against exact ones, of ACCURACY_COUNT random descriptions
# from number ACCURACY_FROM on, and of all scenarios. An interrupted run goes on.
ACCURACY_COUNT ?= 1000
ACCURACY_FROM ?= 1000
accuracy: all
	tests/accuracy --from $(ACCURACY_FROM) --count $(ACCURACY_COUNT) \
	    --state $(BUILD)/accuracy $(BUILD) $(BASELINE) $(ORACLES)

# The build of the gate, in which the checks of the style are tests.
gate: SETUP = $(GATE)
gate: need-deps $(BUILD)/build.ninja
	@[ -e $(BUILD)/GATE ] || { \
	    meson configure $(BUILD) $(GATE) && touch $(BUILD)/GATE; \
	}
	ninja -C $(BUILD)

test: gate
	@{ $(HAVE_STYLE); } || \
	    install/deps style || \
	    echo "Some checks of the style need what is not here: they are skipped."
	@if { $(HAVE_CLUSTER); } || \
	    install/deps qemu guest; then \
	    $(MAKE) --no-print-directory cluster; \
	else \
	    echo "No virtual machines here: what needs them is skipped."; \
	fi
	tests/run $(BUILD) --beside vms --beside lending --beside bounded --no-suite long

# The tests that need no QEMU; in a gate's build also the checks of the style. They have
# no bound of time that a busy machine would not keep.
test-sim: all
	CK_TIMEOUT_MULTIPLIER=10 tests/run $(BUILD) --timeout-multiplier 10 \
	    --no-suite device --no-suite vms --no-suite lending --no-suite long

# The workflows of docs/user/ci.md, step by step, each job on a clean Debian. Needs
# root. "make test-ci JOBS_MOST=2" ends after two jobs; the next run goes on.
test-ci: all
	$(call need,$(call programs,debootstrap git) && \
	    python3 -c 'import yaml' 2>/dev/null,ci)
	tests/ci/run $(BUILD) build-ci $(JOBS_MOST)

# The committed tree on clean systems: builds, tests, boots and times it in each, and
# prints a table. Needs root. make test-platforms ROOTS="trixie forky" tries these; a run
# that was interrupted, or in which a step has failed, goes on with the rest.
ROOTS =
test-platforms:
	$(call need,$(call programs,debootstrap git),ci)
	tests/platforms/run build-platforms $(ROOTS)

# Sweeps that are killed ten times, and divided among the jobs of Slurm and of
# GNU parallel.
test-sweep: all
	$(call need,$(call programs,sbatch munge parallel),sweep)
	tests/run $(BUILD) --suite sweep

# The NTB device in QEMU, without a guest.
test-device: devices
	tests/run $(BUILD) --suite device

# Clusters of virtual machines: farside cluster, and the kernel's own NTB stack.
# Here two hosts read from each other for a minute, in "make test" for 4 s.
test-cluster: cluster
	CROSS_SECONDS=60 tests/run $(BUILD) --suite vms --no-suite timed

# Device Lending on virtual machines, also with Linux 6.12 and with both kernels in
# one cluster.
test-lending: cluster guest-6.12
	tests/run $(BUILD) --suite lending

# Device memory TCP on Linux 6.12: the kernel's own test program, and what goes wrong. Sending
# needs an image with Linux 7.3 (guest-7.3), and is left out without it.
test-devmem: cluster guest-6.12
	tests/run $(BUILD) --suite devmem

# A drive that is lent and comes back hundreds of times.
LOANS ?= 200
test-drive: cluster
	CYCLES=$(LOANS) FARSIDE_GUEST=build-guest tests/lending/drive \
	    $(BUILD)/cli/farside scenarios/cluster/lending.yaml

# Hosts in a ring that lend, borrow and fail at random. A run that was interrupted goes on
# where it was: $(BUILD)/ring has the rounds that have passed.
HOSTS  ?= 8
CYCLES ?= 1000
SEED   ?= 1
test-ring: cluster
	STATE=$(BUILD)/ring FARSIDE_GUEST=build-guest tests/lending/ring \
	    $(BUILD)/cli/farside $(HOSTS) $(CYCLES) $(SEED)

# The kernel's NTB tests and clients on every chip. "make test-chips CHIPS='--chip amd'"
# tries one; KERNEL='--kernel 6.12' another kernel.
CHIPS  ?=
KERNEL ?=
test-chips: cluster
	$(BUILD)/cli/farside ntb-test $(CHIPS) $(KERNEL) -o $(BUILD)/ntb-test \
	    --junit $(BUILD)/ntb-test.xml

# Clusters whose machines have KVM, in a machine that emulates it if need be.
# Virtual machines inside the machines of a cluster.
test-vm: cluster
	tests/run $(BUILD) 'lending inner' 'lending inner-p2p' 'lending machines' \
	    'lending mediated' 'lending interrupts' 'lending live'

test-kvm: cluster
	tests/kvm/run $(BUILD)

# The devices in a source tree of QEMU, built there without the plugin: make test-intree
# SOURCE=TREE. A run that was interrupted goes on.
SOURCE =
test-intree: cluster
	tests/device/intree $(BUILD) build-intree $(SOURCE)

# Device Lending on a kernel that looks for faults; builds that kernel first.
test-kdebug: devices
	$(call need,$(HAVE_KDEBUG),qemu guest kdebug)
	tests/kdebug/run $(BUILD) build-kdebug

# All that "farside cluster" needs.
cluster: devices guest

# The devices for the installed QEMU.
devices: devices-setup
	ninja -C $(BUILD)

# Sets the build up for the devices, and builds nothing. Once QEMU's headers are there,
# -Dqemu=enabled makes meson look for them again.
devices-setup: need-deps $(BUILD)/build.ninja
	$(call need,$(HAVE_QEMU),qemu)
	qemu-dev/headers build-qemu
	@cmp -s build-qemu/VERSION $(BUILD)/QEMU-VERSION || { \
	    meson setup --reconfigure $(BUILD) -Dqemu=enabled && \
	    cp build-qemu/VERSION $(BUILD)/QEMU-VERSION; \
	}

# The image that the machines of a cluster boot, with the modules of Device
# Lending, their tool, and the programs that tests run in them.
GUEST_FILES = kmod/fgpu/fgpu kmod/lendctl/lendctl tests/lending/fuzz_ctl \
              tests/lending/attack tests/lending/p2pspeed \
              tests/lending/seqread
GUEST_PARTS = --module-dir kmod $(GUEST_FILES:%=--add $(BUILD)/%) \
              $(foreach f,$(wildcard /usr/share/misc/pci.ids),--add $(f):$(f))
guest: all
	$(call need,$(HAVE_GUEST),guest)
	host/guest/build build-guest $(GUEST_PARTS)

# The same with Debian's Linux 6.12: make guest-6.12
HAVE_612 = host/guest/build --check --kernel 6.12 >/dev/null 2>&1 && \
           $(call programs,patch) && [ -e /usr/sbin/ethtool ] && \
           [ -e /usr/include/libmnl/libmnl.h ] && \
           python3 -c 'import yaml' 2>/dev/null
# Its guests have the programs of devmem TCP.
guest-6.12: all
	$(call need,$(HAVE_612),guest guest-6.12)
	tests/devmem/build build-devmem
	host/guest/build build-$@ --kernel 6.12 $(GUEST_PARTS) $$(cat build-devmem/PARTS)

# And with Linux 7.3, which also sends from memory of devices; "make guest-7.3" installs no
# kernel, but names the packages.
guest-7.3: all
	host/guest/build --check --kernel 7.3
	tests/devmem/build build-devmem-7.3 /usr/src/linux-source-7.3.tar.xz
	host/guest/build build-$@ --kernel 7.3 $(GUEST_PARTS) $$(cat build-devmem-7.3/PARTS)

# The same with a kernel that looks for faults: "kernel: debug" of a host.
guest-debug: all
	$(call need,$(HAVE_KDEBUG),qemu guest kdebug)
	tests/kdebug/build build-kdebug
	host/guest/build build-kdebug/guest --kernel build-kdebug/vmlinuz \
	    --modules build-kdebug/linux $(GUEST_PARTS)

# The modules of Device Lending in build-kmod/, for the kernel of the guests.
kmod: guest
	[ ! -e build-guest/ntb/STAMP ] || $(MAKE) -C kmod NTB=../build-guest/ntb \
	    KDIR="$$(cut -d ' ' -f 2 build-guest/ntb/STAMP)"

# Machines in virtual time. "make test" has the board's and the model's tests, and five
# schedules of faults.
test-timed: cluster
	tests/run $(BUILD) --suite timed

# Hostile guests and peers, for longer than in "make test". Each round prints
# its seed and how many accesses and messages it made.
HOSTILE_ROUNDS ?= 5
test-hostile: asan-setup
	@for round in $$(seq $(HOSTILE_ROUNDS)); do \
	    seed=$$(shuf -i 1-1000000000 -n 1); \
	    FARSIDE_SEED=$$seed FARSIDE_ACCESSES=1000000 FARSIDE_MESSAGES=100000 \
	        tests/run build-asan device_hostile --timeout-multiplier 4; \
	    status=$$?; \
	    echo "seed $$seed:"; \
	    grep '^# ' build-asan/meson-logs/testlog.txt; \
	    [ $$status -eq 0 ] || exit 1; \
	done

# Accesses of a hostile guest and of hostile peers to each chip; Switchtec has
# those of test-hostile. tests/run builds what the test needs.
FUZZ_ACCESSES ?= 1000000
fuzz-chips: asan-setup
	@for chip in amd epf idt intel intel_gen1; do \
	    FARSIDE_FUZZ=$(FUZZ_ACCESSES) CK_RUN_CASE=fuzz \
	        tests/run build-asan device_$$chip --timeout-multiplier 100; \
	    status=$$?; \
	    grep '^# ' build-asan/meson-logs/testlog.txt; \
	    [ $$status -eq 0 ] || exit 1; \
	done

# Schedules of faults for two hosts of which one lends a drive. Goes on with its
# report in results/explore/lending/ if it was interrupted.
EXPLORE_SEEDS ?= 1000
explore: cluster
	$(BUILD)/cli/farside cluster explore scenarios/explore/lending.yaml \
	    --script scenarios/explore/lending.sh -o results/explore/lending \
	    --seeds $(EXPLORE_SEEDS) --limit 300s --jobs $(JOBS) --resume

bench: all
	mkdir -p results/bench
	$(BUILD)/cli/farside bench -o results/bench/simulated.csv \
	    --only 'engine/*' --only 'model/*' --only 'run/*'
	REQUIRE=$(REQUIRE) tests/cluster/bench/run $(BUILD) -o results/bench/emulated.csv

# The benchmarks of virtual machines alone. With REQUIRE=1, missing QEMU or
# missing devices are a failure.
bench-vm: all
	mkdir -p results/bench
	REQUIRE=$(REQUIRE) tests/cluster/bench/run $(BUILD) -o results/bench/emulated.csv

# A quick one, with gcc alone: make regress QUICK=1
regress: all
	tests/regress $(if $(QUICK),--quick) $(BUILD) -j $(JOBS)
	@if [ -n "$(QUICK)" ]; then :; \
	elif command -v clang >/dev/null; then \
	    $(MAKE) --no-print-directory regress-clang; \
	else \
	    echo "No clang here: not compared with what it would build."; \
	fi

# Runs the scenarios with a build by clang: the bytes must be those that regress
# has left.
regress-clang: need-deps
	[ -f build-clang/build.ninja ] || CC=clang meson setup build-clang
	ninja -C build-clang cli/farside tests/fuzz/fuzz_run
	tests/regress-clang $(BUILD) build-clang -j $(JOBS)

# Writes the numbers as they are now to results/baseline/.
baseline: program
	$(BUILD)/cli/farside run $(BASELINE) -o results/baseline -j $(JOBS) \
	    --no-plot --quiet

# The tests with the compiler's checks for memory and undefined behaviour,
# without those that boot a guest.
asan: build-asan
	tests/run build-asan --timeout-multiplier 4 --no-suite vms \
	    --no-suite lending --no-suite long

ASAN = BUILD=build-asan SETUP='-Db_sanitize=address,undefined -Db_lundef=false'
build-asan:
	$(MAKE) --no-print-directory $(ASAN) devices

asan-setup:
	$(MAKE) --no-print-directory $(ASAN) devices-setup

# Each fuzzer for a minute with libFuzzer.
FUZZ_SECONDS ?= 60
fuzz: need-deps
	$(call need,$(HAVE_FUZZ),fuzz)
	[ -f build-fuzz/build.ninja ] || \
	    CC=clang meson setup build-fuzz -Dfuzz=true -Db_lundef=false \
	        -Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link
	ninja -C build-fuzz
	cd build-fuzz && for f in tests/fuzz/libfuzzer_*; do \
	    [ -x "$$f" ] && [ -f "$$f" ] || continue; \
	    "$$f" -max_total_time=$(FUZZ_SECONDS) -max_len=65536 || exit 1; \
	done

# Random descriptions, checked and run under AddressSanitizer. A run that was
# interrupted goes on where it was; "make fuzz-run FUZZ_FROM=N" begins elsewhere.
# One frame of each allocation makes it quicker; a seed is repeated with all of them.
FUZZ_FROM  ?= 1
FUZZ_COUNT ?= 1000000
fuzz-run: need-deps
	[ -f build-asan/build.ninja ] || \
	    meson setup build-asan -Db_sanitize=address,undefined -Db_lundef=false
	ninja -C build-asan tests/fuzz/fuzz_run
	ASAN_OPTIONS=malloc_context_size=1 \
	build-asan/tests/fuzz/fuzz_run --from $(FUZZ_FROM) --count $(FUZZ_COUNT) \
	    --state build-asan/fuzz-run-$(FUZZ_FROM)

# A check that needs a build of the devices or the guest is skipped without it.
check-style: all
	$(call need,$(HAVE_STYLE),style)
	tests/style $(BUILD)

# Installs all that has been built: make install PREFIX=/usr/local DESTDIR=
# The prefix may be moved afterwards.
PREFIX ?= /usr/local
install: all
	meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX))
	meson install -C $(BUILD) $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

# The Debian packages in build-deb/.
deb: devices
	$(call need,$(HAVE_DEB),qemu deb)
	install/deb build-deb

# Installs the packages on a clean Debian and uses them there. Needs root.
test-deb: deb
	install/test-deb build-deb

clean:
	rm -rf $(BUILD) build-asan build-ci build-clang build-deb build-devmem \
	    build-devmem-7.3 build-fuzz build-guest build-guest-6.12 build-guest-7.3 \
	    build-intree build-kdebug build-kvm \
	    build-kmod build-platforms build-qemu
