# bundle.mk - the common part of the extensions' Makefiles, which include it last
#
# The Makefile of a feature sets EXTENSION, MODULE_big and OBJS, and includes this file.  If the
# folder has a second extension, FURTHER_DATA names its control file and its scripts.  The
# feature's regression tests are ../sql/EXTENSION*.sql, and its isolation tests are
# ../specs/EXTENSION*.spec, so that no list of tests is needed.  Its C code can include
# ../bundle_compat.h as "bundle_compat.h".  make works in the feature's own folder and in any
# other folder:
#
#	make -C BUILDDIR -f .../FEATURE/Makefile PG_CONFIG=...
#
# If the extension needs the feature's server patch, the Makefile also sets "patched".  The
# value is empty if the server of PG_CONFIG does not have the patch.  In that case, every
# target prints that the extension is skipped, and succeeds.

PG_CONFIG ?= pg_config

feature_dir := $(patsubst %/,%,$(dir $(abspath $(firstword $(MAKEFILE_LIST)))))
bundle_dir := $(abspath $(feature_dir)/..)

ifeq ($(origin patched):$(patched),file:)

all install uninstall clean installcheck:
	@echo "$(notdir $(feature_dir)): skipped, `$(PG_CONFIG) --version` of \"$(PG_CONFIG)\" is a server without the patch"

.PHONY: all install uninstall clean installcheck

else

DATA = $(notdir $(wildcard $(feature_dir)/$(EXTENSION)--*.sql)) $(FURTHER_DATA)

REGRESS = $(sort $(patsubst $(bundle_dir)/sql/%.sql,%,$(wildcard $(bundle_dir)/sql/$(EXTENSION)*.sql)))
REGRESS_OPTS = --inputdir=$(bundle_dir) --outputdir=results_regress \
	--load-extension=$(EXTENSION) --encoding=UTF8 --no-locale

ISOLATION = $(sort $(patsubst $(bundle_dir)/specs/%.spec,%,$(wildcard $(bundle_dir)/specs/$(EXTENSION)*.spec)))
ISOLATION_OPTS = --inputdir=$(bundle_dir) --outputdir=results_isolation \
	--load-extension=$(EXTENSION) --encoding=UTF8 --no-locale

EXTRA_CLEAN += results_regress results_isolation

# Make the compiler find bundle_compat.h, even if the caller sets PG_CPPFLAGS.
override PG_CPPFLAGS += -I$(bundle_dir)
PG_CFLAGS += -Wall -Wextra -Wno-unused-parameter $(WERROR)

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

$(OBJS): $(bundle_dir)/bundle_compat.h $(addprefix $(feature_dir)/,$(FEATURE_HEADERS))

# In a folder other than the feature's, first make the folders of the objects.  Their names are
# absolute, because make would find relative ones by VPATH.
object_dirs := $(addprefix $(CURDIR)/,$(filter-out ./,$(sort $(dir $(OBJS)))))
$(OBJS) $(OBJS:.o=.bc): | $(object_dirs)
$(object_dirs):
	@mkdir -p $@

endif
