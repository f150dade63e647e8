"""Patterns of Python with open parts, and what comes in the place of what fits."""

import ast

import pytest
from helpers.tables import rows_of

from mygpt.check.mends.edit_site import EditSite
from mygpt.check.mends.edits import rule_book
from mygpt.check.mends.names import FunctionNames
from mygpt.check.mends.patterns import RuleBook
from mygpt.check.mends.scope import Scope
from mygpt.check.mends.source import EditableSource

WORDS = {"op": ["+", "*"], "other": ["+", "*"], "new": ["$x.exp()", "-$x"]}
# What is fitted, a pattern, a replacement, and the texts that it makes of a value.
ROWS = rows_of("""
a method | x.mean(1) | $x.mean(...) | $x.sum(...) | x.sum(1)
a function of a module | torch.mean(x, 1) | $x.mean(...) | $x.sum(...) | x.sum(1)
the same call | torch.mean(x, 1) | $x.mean($n) | $call($n - 1) | torch.mean(x, 1 - 1)
no more arguments | torch.mean(x, 1) | $x.mean(...) | $call() | torch.mean(x)
one argument more | x.mean(1) | $x.mean(...) | $call(..., dim=0) | x.mean(1, dim=0)
an argument that is given | x.mean(dim=1) | $x.mean(...) | $call(..., dim=0) | none
no rest | x.mean(1) | $x.mean() | $x.sum() | none
a named argument | f(x, 1, n=2) | f($x, ..., n=$n) | f($x, ..., m=$n) | f(x, 1, m=2)
brackets where they are needed | (x + n).exp() | $x.exp() | $x * 2 | (x + n) * 2
none where they are not | f(x + n) | f($x) | [$x] | [x + n]
brackets around it | 2 * f(x) | f($x) | $x + 1 | (x + 1)
the same part twice | x - x.exp() | $x - $x.exp() | $x.sin() | x.sin()
two parts | x - n.exp() | $x - $x.exp() | $x.sin() | none
a word of several | x.max() | $x.min|max() | $x.sum() | x.sum()
a word on both sides | x + n | $x {op} $y | $y {op} $x | n + x
two words that differ | (x + n) * n | ($x {op} $y) {other} $z | $x {other} $z {op} $y
    | x * n + n
a list of replacements | x | $x | {new} | x.exp(); -x
a slice | x[1:n] | span: $i:$j | :$j | :n
a place | x.exp() | argument: $x | $x + 1 | none
a choice in scope | range(n) | range($x) | range($unused) | range(m)
a module is no expression | torch.exp(x) | $x.exp | $x.log | none
""")


def site_edits(value, rules):
    """The texts that rules make of the nodes of `return VALUE` in a function."""
    source = EditableSource(f"def f(x, n, m):\n    return {value}\n", "f.py")
    (function,) = source.tree.body
    scope = Scope(source, function)
    parents = {
        child: parent
        for parent in ast.walk(function)
        for child in ast.iter_child_nodes(parent)
    }
    names = FunctionNames(function)
    for node in parents:
        if isinstance(node, ast.expr):
            site = EditSite(scope, names, node, parents)
            yield from (edit.new for edit in rules.edits(site))


@pytest.mark.parametrize(
    ("value", "pattern", "new", "made"),
    [row[1:] for row in ROWS],
    ids=[row[0] for row in ROWS],
)
def test_what_fits_a_pattern_is_replaced(value, pattern, new, made):
    rules = RuleBook({"a kind": {pattern: (1.0, new)}}, WORDS)
    wanted = [] if made == "none" else made.split("; ")
    assert [text for text in site_edits(value, rules) if text in wanted] == wanted
    assert bool(wanted) or not list(site_edits(value, rules))


def test_every_row_has_a_cost_before_its_replacements():
    rules = [rule for found in rule_book().rules.values() for rule in found]
    assert all(1 <= cost <= 3 for rule in rules for cost, _ in rule.news)
    assert all(rule.news for rule in rules)
