# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Front door. The work is done by scripts, in a Debian 13 tree that they create
# once in a cache (Documentation/testing/vm.rst), so nothing has to be installed.
# The kernel's build reads Kbuild instead of this file.

vm := tools/testing/vm

.PHONY: help
help:
	@echo 'make demo       boot a VM with an ohca HCA, run the verbs tools, compare with rxe'
	@echo 'make check      build everything, run every test'
	@echo 'make check-long  what takes too long for every change: debug kernel, repetitions'
	@echo 'make kunit      the KUnit tests of the driver, on User Mode Linux'
	@echo 'make bench      measure against rxe: tables and a plot in build/bench'
	@echo 'make build      userspace and driver, in build/'
	@echo 'make modules    the driver only (KDIR=... for a kernel build directory)'
	@echo 'make test-unit  the tests that need no VM'
	@echo 'make test-vm    the tests that need one'
	@echo 'make clean      remove build/ (not the cache)'
	@echo ''
	@echo '$(vm)/run -- COMMAND runs a command in a VM, $(vm)/shell gives a shell in one.'

.PHONY: demo check check-long kunit bench build modules test-unit test-vm clean
demo:
	@tools/testing/demo/run
check:
	@tools/testing/check
check-long:
	@tools/testing/check --long
kunit:
	@tools/testing/kunit/run
bench:
	@tools/testing/bench/run
build:
	@$(vm)/build
modules:
	@$(vm)/build $(if $(KDIR),--kernel '$(KDIR)') modules
test-unit:
	@tools/testing/check unit
test-vm:
	@tools/testing/check vm
clean:
	rm -rf build
