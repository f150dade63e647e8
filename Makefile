# make book      build the book into _build/html
# make test      build it, and run every check
# make chapters  run the notebooks again and store what they print
#
# The work is in make.py. It runs inside $(shell), shows its progress on standard error and
# prints a cause only when it fails, so that the cause is the last line of make's own.

PYTHON ?= python3
NEEDED := mygpt needs Python 3.11 or newer, and

.PHONY: book test chapters clean

book test chapters:
	@: $(if $(dry_run),$(info $(PYTHON) make.py $@),$(call check_version,$(version))$(call stop_with,$(cause)))

clean:
	rm -rf _build

dry_run = $(findstring n,$(firstword -$(MAKEFLAGS)))
version = $(shell $(PYTHON) -c 'import sys; print(sys.version.split()[0], *["new"][: sys.version_info >= (3, 11)])' 2>/dev/null)
check_version = $(if $(1),$(if $(filter new,$(1)),,$(error $(NEEDED) $(PYTHON) is $(1))),$(error $(NEEDED) no $(PYTHON) is on the PATH))
cause = $(shell $(PYTHON) make.py $@ || echo "(make $@ stopped)")
stop_with = $(if $(1),$(error $(1)))
