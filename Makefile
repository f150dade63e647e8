# make book      build the book into _build/html
# make epub      build the e-book, _build/mygpt.epub
# make pdf       build the printed book, _build/mygpt.pdf
# make test      build it, and run every check
# make slow      run the tests that take minutes
# make chapters  run the notebooks again and store what they print
# make clean     remove what was built
#
# The work is in make.py, whose last line is the cause when it fails.

PYTHON ?= python3

.PHONY: book epub pdf test slow chapters clean

book epub pdf test slow chapters:
	@$(PYTHON) make.py $@

clean:
	rm -rf _build
