"""A file as rules see it: its tree with parents, the node at a break, names in scope, and the text of any node.

Pure reading. What changes text is in `edits`, what may have an effect in `purity`, what a name means in `imports`.
No rule's own knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, wraps
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from graphmend_lsp.mending.rule import DEFAULT_STYLE, Style
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Belief, Span
from graphmend_lsp.text import Text
from graphmend_lsp.values import FileFacts

AnyNode = TypeVar("AnyNode", bound=ast.AST)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that no rule may edit; `reason` is for the user."""

    reason: str


@dataclass(frozen=True, slots=True)
class Site:
    """Where a break lies. `node` is the exact operand or statement of the break's span.

    `loops`, `tries` and `withs` are the enclosing statements of the same function, innermost first.
    """

    node: ast.AST
    statement: ast.stmt
    function: Function | None
    owner: ast.ClassDef | None
    loops: tuple[ast.stmt, ...]
    tries: tuple[ast.stmt, ...]
    withs: tuple[ast.stmt, ...]


class Bound(NamedTuple):
    """The names that a scope binds, what module or member each of its imports binds, and those that anything else binds, too."""

    names: frozenset[str]
    imported: Mapping[str, str]
    others: frozenset[str]


@dataclass
class _Known:
    """What was worked out of a file's text once, for every view of it."""

    nodes: tuple[ast.AST, ...] = ()
    names: frozenset[str] = frozenset()
    ranges: dict[ast.AST, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A parsed file. `text` is the whole text, a byte order mark included; node offsets count in it.

    `noted` is what a run showed of its values; ask through `facts.seen`. `rested` collects what was believed for it.
    `style` is how its project writes code.
    """

    path: str
    text: Text
    tree: ast.Module
    parents: Mapping[ast.AST, ast.AST]
    noted: FileFacts | None = None
    rested: dict[Belief, None] = field(default_factory=dict, compare=False)
    style: Style = DEFAULT_STYLE
    bound: dict[ast.AST, Bound] = field(default_factory=dict, compare=False, repr=False)  # `imports.bound_in`, by scope
    sites: dict[Span, Site | None] = field(default_factory=dict, compare=False, repr=False)  # `site`
    known: _Known = field(default_factory=_Known, compare=False, repr=False)

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node, in the order of `ast.walk`."""
        if not self.known.nodes:
            self.known.nodes = (self.tree, *self.parents)
        return self.known.nodes

    # -- places ---------------------------------------------------------------------------------------------------

    @cached_property
    def newline(self) -> str:
        """The line end of the file: the first one's."""
        starts = self.text.starts
        return "\r\n" if len(starts) > 1 and self.text.value[: starts[1]].endswith("\r\n") else "\n"

    @cached_property
    def indent(self) -> str:
        """One level of indentation as this file writes it."""
        for node in self.nodes:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.If)):
                outer, inner = self.indentation(node), self.indentation(node.body[0])
                if inner.startswith(outer) and len(inner) > len(outer) and self.starts_line(node.body[0]):
                    return inner[len(outer) :]
        return "    "

    def span(self, node: ast.AST) -> Span:
        """Where a node stands; a decorated definition starts at its ``def``.

        Raises:
            ValueError: for nodes that have no place (contexts, operators, `ast.arguments`).
        """
        line, column = getattr(node, "lineno", None), getattr(node, "col_offset", None)
        end_line, end_column = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        if line is None or column is None or end_line is None or end_column is None:
            raise ValueError(f"{type(node).__name__} has no place")
        mark = 3 if self.text.value.startswith("\ufeff") else 0  # the tree was parsed without the mark's three bytes
        return self.text.span_from_utf8(
            line, column + mark * (line == 1), end_line, end_column + mark * (end_line == 1)
        )

    def range(self, node: ast.AST) -> tuple[int, int]:
        """The offsets of a node in the text, half-open."""
        found = self.known.ranges.get(node)
        if found is None:
            span = self.span(node)
            found = self.known.ranges[node] = self.text.offset(span.start), self.text.offset(span.end)
        return found

    def between(self, start: int, end: int) -> Span:
        """The span of two offsets."""
        return Span(self.text.position(start), self.text.position(end))

    def code(self, node: ast.AST) -> str:
        """The text of a node, exactly as written (without parentheses around it)."""
        start, end = self.range(node)
        return self.text.value[start:end]

    def indentation(self, node: ast.AST) -> str:
        """The white space at the start of the node's first line."""
        line = self.text.line(self.span(node).start.line).lstrip("\ufeff")
        return line[: len(line) - len(line.lstrip(" \t"))]

    def starts_line(self, node: ast.AST) -> bool:
        """Whether only white space stands before the node on its line."""
        start, _ = self.range(node)
        line_start = self.text.starts[self.span(node).start.line - 1]
        return not self.text.value[line_start:start].strip(" \t\ufeff")

    # -- the tree -------------------------------------------------------------------------------------------------

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The node's parents, innermost first, the module last."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that contains the node (itself when it is one)."""
        for one in (node, *self.ancestors(node)):
            if isinstance(one, ast.stmt):
                return one
        return None

    def function(self, node: ast.AST) -> Function | None:
        """The innermost ``def`` around the node (not the node itself)."""
        for one in self.ancestors(node):
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return one
        return None

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around the node, also from inside functions nested in its methods."""
        for one in self.ancestors(node):
            if isinstance(one, ast.ClassDef):
                return one
        return None

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that `statement` is one of."""
        parent = self.parents.get(statement)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]

    def after(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements behind `statement` in its block."""
        block = self.block(statement)
        return block[block.index(statement) + 1 :]

    def node_at(self, span: Span) -> ast.AST | None:
        """The outermost expression or statement that stands at exactly `span`; else the smallest around it."""
        best: ast.AST | None = None
        best_size = 0
        start, end = self.text.offset(span.start), self.text.offset(span.end)
        stack: list[ast.AST] = [self.tree]
        while stack:
            node = stack.pop()
            if isinstance(node, (ast.expr, ast.stmt)):
                first, last = self.range(node)
                if first <= start and end <= last:
                    if best is None or last - first < best_size:
                        best, best_size = node, last - first
                elif isinstance(node, ast.stmt):
                    stack.extend(getattr(node, "decorator_list", ()))  # which stand before their definition
                    continue
            stack.extend(
                child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.expr_context, ast.operator))
            )
        if isinstance(best, ast.Expr) and self.range(best.value) == (start, end):
            return best.value
        return best

    def site(self, span: Span) -> Site | None:
        """The node at a break with what is around it; None when nothing of the file stands there."""
        if span not in self.sites:
            self.sites[span] = self._site(span)
        return self.sites[span]

    def _site(self, span: Span) -> Site | None:
        node = self.node_at(span)
        statement = self.statement(node) if node is not None else None
        if node is None or statement is None:
            return None
        loops: list[ast.stmt] = []
        tries: list[ast.stmt] = []
        withs: list[ast.stmt] = []
        for one in self.ancestors(statement):
            if isinstance(one, _SCOPES):
                break
            if isinstance(one, _LOOPS):
                loops.append(one)
            elif isinstance(one, ast.Try) or type(one).__name__ == "TryStar":
                tries.append(one)  # type: ignore[arg-type]
            elif isinstance(one, (ast.With, ast.AsyncWith)):
                withs.append(one)
        function = self.function(node)
        return Site(node, statement, function, self.owner(node), tuple(loops), tuple(tries), tuple(withs))

    # -- names ----------------------------------------------------------------------------------------------------

    @property
    def names(self) -> frozenset[str]:
        """Every identifier of the file, attributes and keywords included."""
        if not self.known.names:
            self.known.names = self._names()
        return self.known.names

    def _names(self) -> frozenset[str]:
        found: set[str] = set()
        for node in self.nodes:
            found |= {
                value
                for name in ("id", "attr", "arg", "name", "asname")
                if isinstance(value := getattr(node, name, None), str)
            }
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                found.update(node.names)
        return frozenset(found)

    def fresh(self, wanted: str, taken: frozenset[str] = frozenset()) -> str:
        """`wanted`, or it with a number, such that it is used nowhere in the file and not in `taken`."""
        name, number = wanted, 1
        while name in self.names or name in taken:
            number += 1
            name = f"{wanted}_{number}"
        return name


@lru_cache(maxsize=8)
def read(path: str, value: str) -> Source | Unreadable:
    """The file parsed, or why no rule may edit it; rules that read the same text share it. Never raises."""
    body = value.removeprefix("\ufeff")
    if "\f" in body:
        return Unreadable("The file contains a form feed; remove it so that the edit can be placed exactly.")
    if "\r" in body.replace("\r\n", ""):
        return Unreadable("The file contains a line end that is a lone carriage return; save it with \\n line ends.")
    try:
        tree = ast.parse(body)
        parents = _parents(tree)
    except SyntaxError as error:
        return Unreadable(f"The file has a syntax error in line {error.lineno}: {error.msg}.")
    except (ValueError, RecursionError, MemoryError) as error:
        return Unreadable(f"The file cannot be parsed: {error}.")
    return Source(path, Text(value), tree, parents)


def _parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    """The parent of each node, in the order of `ast.walk`."""
    found: dict[ast.AST, ast.AST] = {}
    waiting: list[ast.AST] = [tree]
    for node in waiting:  # which grows
        for child in ast.iter_child_nodes(node):
            found[child] = node
            waiting.append(child)
    return found


def kept(find: Callable[[AnyNode], frozenset[str]]) -> Callable[[AnyNode], frozenset[str]]:
    """A function of nodes, which nothing changes once they are parsed, that finds each node's names once."""
    known: WeakKeyDictionary[ast.AST, frozenset[str]] = WeakKeyDictionary()

    @wraps(find)
    def once(node: AnyNode) -> frozenset[str]:
        found = known.get(node)
        if found is None:
            found = known[node] = find(node)
        return found

    return once


@kept
def loaded(node: ast.AST) -> frozenset[str]:
    """The names that are read anywhere in a node, nested functions and comprehensions included."""
    return frozenset(one.id for one in walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))


@kept
def assigned(node: ast.AST) -> frozenset[str]:
    """The names that running a node (a statement or an expression) binds in its own scope; deleted ones too."""
    found: set[str] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(one.name)
            stack.extend(one.decorator_list)
            continue
        if isinstance(one, ast.Lambda):
            continue
        if isinstance(one, ast.Name) and isinstance(one.ctx, (ast.Store, ast.Del)):
            found.add(one.id)
        elif isinstance(one, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.split(".")[0] for alias in one.names}
        elif isinstance(one, ast.ExceptHandler) and one.name:
            found.add(one.name)
        elif type(one).__name__ in ("MatchAs", "MatchStar") and isinstance(name := getattr(one, "name", None), str):
            found.add(name)
        elif type(one).__name__ == "MatchMapping" and isinstance(rest := getattr(one, "rest", None), str):
            found.add(rest)
        if isinstance(one, _COMPREHENSIONS):
            stack.extend(walrus.target for walrus in walk(one) if isinstance(walrus, ast.NamedExpr))
            continue
        stack.extend(ast.iter_child_nodes(one))
    return frozenset(found)


def parameters(function: Scope) -> frozenset[str]:
    """The names of a function's parameters."""
    a = function.args
    rest = [one for one in (a.vararg, a.kwarg) if one is not None]
    return frozenset(one.arg for one in (*a.posonlyargs, *a.args, *a.kwonlyargs, *rest))


@kept
def local_names(function: Function) -> frozenset[str]:
    """The names that are local to a function: parameters and what its body binds, less ``global``/``nonlocal`` ones."""
    bound: set[str] = set(parameters(function))
    foreign: set[str] = set()
    for statement in function.body:
        bound |= assigned(statement)
        foreign |= {
            name for one in walk(statement) if isinstance(one, (ast.Global, ast.Nonlocal)) for name in one.names
        }
    return frozenset(bound - foreign)


@kept
def free_names(function: Scope) -> frozenset[str]:
    """The names a function reads from outside it."""
    if isinstance(function, ast.Lambda):
        return loaded(function.body) - parameters(function)
    read_names = frozenset(name for statement in function.body for name in loaded(statement))
    return read_names - local_names(function)
