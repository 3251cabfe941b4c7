# Makefile of pg_dense; "make" alone prints the targets.
#
# There are two families of targets.  all, install, uninstall, clean and installcheck call PGXS
# for every extension, with the server that PG_CONFIG belongs to.  The other targets are the
# project's own: they install the packages that they need, build servers below build/, and use
# only private instances.

PG_CONFIG ?= pg_config
# The first major version in tools/pg-versions
MAJOR := $(shell sed -n 's/^\([0-9][0-9]*\) .*/\1/p' tools/pg-versions | sed q)
STUDY = tpcc

features := $(shell grep -v '^\#' tools/feature-list)
majors := $(shell sed -n 's/^\([0-9][0-9]*\) .*/\1/p' tools/pg-versions)

dense = build/$(MAJOR)/dense/bin/pg_config
extensions = tools/extensions $(dense) build/extensions/$(MAJOR)-dense

.DEFAULT_GOAL := help

help:
	@echo "make demo            run TPC-C with little memory, with and without pg_dense: bytes and throughput,"
	@echo "                     about 10 minutes after the build; KEEP=1 keeps the server"
	@echo "make check           run every test, on private instances, from a bare clone"
	@echo "make soak            run it with 50 times as many randomised cases, part by part, for one MAJOR;"
	@echo "                     goes on after an interrupt"
	@echo "make server          build PostgreSQL as build/MAJOR/stock and build/MAJOR/dense; MAJOR is one of"
	@echo "                     $(majors), here and in make demo and make bench (default: $(MAJOR));"
	@echo "                     CASSERT=1 adds build/MAJOR/cassert"
	@echo "make server PROFILE=production PREFIX=DIR   build the patched server with the libraries of"
	@echo "                     Debian's package (TLS, systemd, LLVM, ...), and install it in DIR with the"
	@echo "                     extensions (default: build/MAJOR/production)"
	@echo "make debs-server     build Debian packages of the patched server of one MAJOR, and test them"
	@echo "make bench           run one study: STUDY=tpcc (the default), see bench/run --help for the others"
	@echo "make check-patches   check that every server-patch series applies exactly, alone and together,"
	@echo "                     and that each patch compiles without a warning"
	@echo "make indent-check    check the layout of the C, Perl and Python sources"
	@echo "make all             build the extensions for the server of PG_CONFIG=path (default: pg_config)"
	@echo "make install         install them there"
	@echo "make installcheck    run their regression tests on that server, which must be running"
	@echo "make uninstall       remove them from there"
	@echo "make dist            write build/dist/pg_dense-VERSION.zip, the sources of HEAD with META.json"
	@echo "make clean           remove what make all built; everything else is below build/ (rm -rf build)"
	@echo
	@echo "Every program in tools/ prints its manual by --help, as in tools/check --help."

need_pg_config = $(PG_CONFIG) --pgxs > /dev/null 2>&1 || \
	{ echo "make $@: error: \"$(PG_CONFIG)\" is not a working pg_config, give one by PG_CONFIG=path" >&2; exit 1; }

all install uninstall clean:
	@$(need_pg_config)
	@set -e; for feature in $(features); do $(MAKE) --no-print-directory -C $$feature PG_CONFIG='$(PG_CONFIG)' $@; done
	@[ $@ != install ] || echo "make install: the extensions are installed in $$($(PG_CONFIG) --sharedir), for $$($(PG_CONFIG) --version)"

# Run the tests of all extensions, even if the tests of one have failed.
installcheck:
	@$(need_pg_config)
	@failed=; for feature in $(features); do \
		$(MAKE) --no-print-directory -C $$feature PG_CONFIG='$(PG_CONFIG)' $@ || failed="$$failed $$feature"; \
	done; [ -z "$$failed" ] || { echo "make $@: error: failed:$$failed" >&2; exit 1; }

ifneq ($(filter-out development production,$(or $(PROFILE),development)),)
$(error PROFILE is "production" or "development", not "$(PROFILE)")
endif

server:
	@tools/deps build $(filter production,$(PROFILE))
ifeq ($(PROFILE),production)
	@tools/server $(MAJOR) production $(if $(PREFIX),--prefix '$(PREFIX)')
	@tools/extensions $(or $(PREFIX),build/$(MAJOR)/production)/bin/pg_config build/extensions/$(MAJOR)-production
else
	@tools/server $(MAJOR) $(if $(CASSERT),--cassert)
endif

debs-server:
	@tools/deps build test
	@tools/debs-server --major $(MAJOR)

demo:
	@tools/deps build bench
	@tools/server $(MAJOR) dense
	@$(extensions)
	@bench/run demo --major $(MAJOR) $(if $(KEEP),--keep)

bench:
	@tools/deps build bench
	@tools/server $(MAJOR)
	@$(extensions)
	@bench/run $(STUDY) --major $(MAJOR)

check:
	@tools/check

soak:
	@tools/soak --major $(MAJOR)

check-patches:
	@tools/deps build
	@set -e; for major in $(majors); do tools/patches check $$major; tools/patches compile $$major; done

indent-check:
	@tools/deps build indent
	@tools/indent --check

# The file META.json has the version.
dist:
	@set -e; version=$$(sed -n 's/^  "version": "\(.*\)",/\1/p' META.json); mkdir -p build/dist; \
	git -c safe.directory='$(CURDIR)' archive --format=zip --prefix="pg_dense-$$version/" \
		-o "build/dist/pg_dense-$$version.zip" HEAD; \
	echo "build/dist/pg_dense-$$version.zip: $$(git -c safe.directory='$(CURDIR)' log -1 --format='%h %s')"

.PHONY: help all install uninstall clean installcheck server debs-server demo bench check soak check-patches indent-check dist
