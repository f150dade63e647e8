# make book       build the book into _build/html
# make lab        open the notebooks in JupyterLab, in a folder to work in
# make plain      make them as every viewer shows them, in _build/notebooks
# make epub       build the e-book, _build/mygpt.epub
# make pdf        build the printed book, _build/mygpt.pdf
# make test       build it, and run every check
# make test chapter 08    run what belongs to one chapter
# make slow       run the tests that take minutes: trainings, kills, damaged files
# make unit       run the unit tests alone
# make chapters   run the notebooks again and store what they print
# make processors compare the notebooks under settings that stand for other processors
# make mutants    see which of hundreds of planted mistakes the tests notice
# make mends      see how many wrong programs the checker catches, names and mends
# make links      follow every link that leads out of the book
# make kernels    compile what trains a GPT in the page
# make colab      run every notebook with the versions that Colab has
# make binder     run every notebook in Binder's environment
# make newest     run notebooks and unit tests with the newest packages
# make release    build the wheel and the sdist, and try each
# make clean      remove what was built
#
# The work is in make.py, whose last line is the cause when it fails.

PYTHON ?= python3

COMMANDS = book lab plain epub pdf test unit slow chapters processors mutants mends links javascript kernels colab binder newest release

.PHONY: $(COMMANDS) clean

# What follows `test chapter` is a name, not another command.
ifeq ($(wordlist 1, 2, $(MAKECMDGOALS)),test chapter)
NAMES := $(wordlist 2, 99, $(MAKECMDGOALS))
.PHONY: $(NAMES)
$(NAMES): ; @:
endif

$(COMMANDS):
	@$(PYTHON) make.py $@$(if $(NAMES), $(NAMES))

clean:
	rm -rf _build
