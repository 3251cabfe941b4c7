# bundle.mk - what the Makefile of every extension includes last
#
# A feature sets EXTENSION, MODULE_big and OBJS, and includes this file.  Its
# regression tests are ../sql/EXTENSION*.sql, its isolation tests are
# ../specs/EXTENSION*.spec, so that a test needs no listing anywhere.  Works
# in the feature's own folder and in any other one:
#
#	make -C BUILDDIR -f .../FEATURE/Makefile PG_CONFIG=...

feature_dir := $(patsubst %/,%,$(dir $(abspath $(firstword $(MAKEFILE_LIST)))))
bundle_dir := $(abspath $(feature_dir)/..)

DATA = $(notdir $(wildcard $(feature_dir)/$(EXTENSION)--*.sql))

REGRESS = $(sort $(patsubst $(bundle_dir)/sql/%.sql,%,$(wildcard $(bundle_dir)/sql/$(EXTENSION)*.sql)))
REGRESS_OPTS = --inputdir=$(bundle_dir) --outputdir=results_regress \
	--load-extension=$(EXTENSION) --encoding=UTF8 --no-locale

ISOLATION = $(sort $(patsubst $(bundle_dir)/specs/%.spec,%,$(wildcard $(bundle_dir)/specs/$(EXTENSION)*.spec)))
ISOLATION_OPTS = --inputdir=$(bundle_dir) --outputdir=results_isolation \
	--load-extension=$(EXTENSION) --encoding=UTF8 --no-locale

EXTRA_CLEAN += results_regress results_isolation

PG_CFLAGS += -Wall -Wextra -Wno-unused-parameter $(WERROR)

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

$(OBJS): $(addprefix $(feature_dir)/,$(FEATURE_HEADERS))
