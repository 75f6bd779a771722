"""What a statement that is put off must remember: the values it reads, taken at its place, and its text with them.

An expression is split where reading a tensor's value would break the graph: everything that can be traced is
evaluated in place and remembered under a name; only the rest (``.item()``, formatting, ``torch.equal``) waits. Pure
reading.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.effects import is_static
from graphmend_lsp.mending.facts.later import Later, root, subject
from graphmend_lsp.mending.facts.operators import operator_of_ast, operator_of_method
from graphmend_lsp.mending.facts.purity import is_neutral, needing_elements
from graphmend_lsp.mending.syntax.formatting import name_of, parses_to, requoted
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk

READS = frozenset(("item", "tolist", "numpy", "equal", "allclose", "__repr__", "__str__", "__bool__"))
_READING_CALLS = frozenset(("torch.equal", "torch.allclose"))
_PURE_BUILTINS = frozenset(
    (
        "float",
        "int",
        "bool",
        "str",
        "repr",
        "round",
        "format",
        "abs",
        "min",
        "max",
        "sum",
        "len",
        "sorted",
        "tuple",
        "list",
    )
)
_READING_BUILTINS = frozenset(("float", "int", "bool", "str", "repr", "round", "format"))
_INERT = frozenset(("shape", "dtype", "device", "ndim", "layout", "is_cuda", "requires_grad"))


@dataclass(frozen=True, slots=True)
class Capture:
    """A value to take in place: `name` for `code`; `node` is the expression. `copied`: code ends in a ``.clone()``."""

    name: str
    code: str
    node: ast.expr
    copied: bool = False

    @property
    def plain(self) -> bool:
        """Whether it is a name under its own name: nothing needs to be remembered as long as it keeps its value."""
        return isinstance(self.node, ast.Name) and self.code == self.name


@dataclass(frozen=True, slots=True)
class Replacement:
    """Other text for the stretch of offsets `start` to `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Captured:
    """The values to take, and where their names stand in the text that is put off."""

    captures: tuple[Capture, ...]
    replacements: tuple[Replacement, ...]


class _CannotWaitError(Exception):
    """Why an expression cannot be evaluated later."""


def capture(
    source: Source,
    function: Function,
    nodes: Sequence[ast.expr],
    coming: Later,
    *,
    keep_inert: bool,
    conditional: Sequence[ast.expr] = (),
    late: Sequence[ast.expr] = (),
    taken: Iterable[str] = (),
    whole: str | None = None,
) -> Captured | str:
    """What the expressions must remember to be evaluated at the end of the function; or why that cannot be.

    `whole` is the name wanted for an expression of `nodes` that is taken as it is. `conditional` are expressions that
    the statement evaluates only on a condition; only names and attributes of `self` are taken for them. `late` are
    expressions that are evaluated as a whole at the end, from the values that their names have at the place.
    `keep_inert` leaves ``y.shape`` and the like as they are when `y` is neither bound anew nor changed in place.
    """
    names = local_names(function)
    outer = source.function(function)
    while outer is not None:
        names |= local_names(outer)
        outer = source.function(outer)
    names |= {name for node in source.nodes if isinstance(node, ast.Global) for name in node.names}
    avoid = (
        set(taken)
        | names
        | {name for node in (*nodes, *conditional, *late) for name in loaded(node)}
        | set(dir(builtins))
    )
    avoid |= {name for one in source.tree.body for name in assigned(one)}
    wanted = {id(node): whole for node in nodes} if whole else {}
    work = _Work(source, names, avoid, coming, keep_inert, wanted)
    try:
        for node in nodes:
            work.put_off(node)
        for node in conditional:
            work.put_off(node, False)
        for node in late:
            work.put_off_whole(node)
    except _CannotWaitError as error:
        return str(error)
    return Captured(tuple(work.captures), tuple(work.replacements))


class _Work:
    """One walk over the expressions of a statement."""

    def __init__(
        self,
        source: Source,
        names: frozenset[str],
        avoid: set[str],
        coming: Later,
        keep_inert: bool,
        wanted: Mapping[int, str],
    ) -> None:
        self.source, self.names, self.avoid = source, names, avoid
        self.coming, self.keep_inert, self.wanted = coming, keep_inert, wanted
        stored = (one.targets if isinstance(one, ast.Assign) else [] for one in source.tree.body)
        self.variables = frozenset(one.id for targets in stored for one in targets if isinstance(one, ast.Name)) - names
        self.captures: list[Capture] = []
        self.replacements: list[Replacement] = []

    def put_off(self, node: ast.expr, certain: bool = True) -> None:
        """Evaluate `node` later. `certain`: it is evaluated whenever the statement runs."""
        source = self.source
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            raise _CannotWaitError(f"`{source.code(node)}` binds a name or waits, so it cannot wait until the end.")
        if isinstance(node, ast.Constant):
            return
        if isinstance(node, ast.Name):
            if node.id in self.names:
                self.take_name(node)
            return
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    self.put_off(part.value, certain)
                    if part.format_spec is not None:
                        self.put_off(part.format_spec, certain)
            return
        if not reads(source, node):
            self.take(node, certain)
            return
        if isinstance(node, ast.Call):
            self.put_off_call(node, certain)
        elif isinstance(node, ast.BoolOp):
            self.put_off(node.values[0], certain)
            for value in node.values[1:]:
                sure = loaded(value) <= loaded(node.values[0]) and is_neutral(source, value)
                self.put_off(value, certain and sure and not needing_elements(value))
        elif isinstance(node, ast.IfExp):
            self.put_off(node.test, certain)
            self.put_off(node.body, False)
            self.put_off(node.orelse, False)
        elif isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            raise _CannotWaitError(f"`{source.code(node)}` reads tensor values in its own scope.")
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.put_off(child, certain)

    def put_off_whole(self, node: ast.expr) -> None:
        """Evaluate all of `node` later, with the names it reads as they are now."""
        own: set[str] = set()
        for one in walk(node):
            if isinstance(one, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
                raise _CannotWaitError(
                    f"`{self.source.code(one)}` binds a name or waits, so it cannot wait until the end."
                )
            if isinstance(one, ast.comprehension):
                own |= {name.id for name in walk(one.target) if isinstance(name, ast.Name)}
            elif isinstance(one, ast.Lambda):
                own |= parameters(one)
        for one in walk(node):
            if isinstance(one, ast.Name) and one.id in self.names and one.id not in own:
                self.take_name(one)

    def put_off_call(self, node: ast.Call, certain: bool) -> None:
        source, function = self.source, node.func
        method = function.attr if isinstance(function, ast.Attribute) else ""
        name = dotted(source, function) or ""
        text = isinstance(function, ast.Attribute) and isinstance(function.value, (ast.Constant, ast.JoinedStr))
        builtin = (
            isinstance(function, ast.Name)
            and function.id in _PURE_BUILTINS
            and is_builtin(source, function, function.id)
        )
        if name in _READING_CALLS or name.startswith("math.") or builtin:
            pass
        elif isinstance(function, ast.Attribute) and (method in READS or text):
            self.put_off(function.value, certain)
        else:
            inner = next(
                one for one in walk(node) if isinstance(one, ast.expr) and one is not node and _reads(source, one)
            )
            raise _CannotWaitError(
                f"`{source.code(node)}` needs `{source.code(inner)}`, which reads a tensor's value before the end."
            )
        for one in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.put_off(one, certain)

    def take_name(self, node: ast.Name) -> None:
        if any(isinstance(one.node, ast.Name) and one.node.id == node.id for one in self.captures):
            known = next(one for one in self.captures if isinstance(one.node, ast.Name) and one.node.id == node.id)
            if known.name != node.id:
                self.replace(node, known.name)
            return
        if node.id in self.coming.containers:
            raise _CannotWaitError(f"`{node.id}` is changed after this place, so its text would differ at the end.")
        copied = node.id in self.coming.mutated
        code = f"{node.id}.clone()" if copied else node.id
        name = node.id
        if self.keep_inert and (copied or node.id in self.coming.rebound):
            name = self.fresh(f"{node.id}_then")
            self.replace(node, name)
        self.captures.append(Capture(name, code, node, copied))

    def take(self, node: ast.expr, certain: bool) -> None:
        source = self.source
        used = loaded(node)
        touched = used & self.names
        calls = any(isinstance(one, ast.Call) for one in walk(node))
        held = isinstance(node, (ast.Attribute, ast.Subscript)) and root(node) in self.variables
        if not touched and not calls and not (held and certain):
            return
        start = subject(node)
        parts = touched | ({start} if start else set())
        stable = not touched & (self.coming.rebound | self.coming.mutated)
        inert = isinstance(node, ast.Attribute) and node.attr in _INERT and isinstance(node.value, ast.Name)
        if self.keep_inert and stable and inert:
            return
        if isinstance(node, ast.Starred):
            self.put_off(node.value, certain)
            return
        if not certain and not (touched == {"self"} and not calls):
            raise _CannotWaitError(f"`{source.code(node)}` runs only under a condition, and must not run without it.")
        same = [one for one in self.captures if ast.dump(one.node) == ast.dump(node)]
        if same and not calls:
            self.replace(node, same[0].name)
            return
        if parts & self.coming.containers and not _fresh_value(node):
            raise _CannotWaitError(f"`{source.code(node)}` is changed after this place, so its text would differ.")
        code = source.code(node)
        if "\n" in code or "\r" in code:
            code = ast.unparse(node)
        if any(isinstance(one, ast.JoinedStr) for one in source.ancestors(node)):
            code = requoted(source, code, node)
        copied = bool(start and start in self.coming.mutated and not _fresh_value(node))
        if copied:
            code = (
                f"{code}.clone()" if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)) else f"({code}).clone()"
            )
        name = self.fresh(self.wanted.get(id(node)) or name_of(node))
        self.replace(node, name)
        self.captures.append(Capture(name, code, node, copied))

    def fresh(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self.avoid:
            number += 1
            name = f"{wanted}_{number}"
        self.avoid.add(name)
        return name

    def replace(self, node: ast.expr, name: str) -> None:
        source = self.source
        start, end = source.range(node)
        inside = [one for one in source.ancestors(node) if isinstance(one, ast.JoinedStr)]
        if inside:
            whole_start, whole_end = source.range(inside[-1])
            if not (whole_start < start < end < whole_end and parses_to(source.text.value[start:end], node)):
                raise _CannotWaitError(
                    f"`{ast.unparse(node)}` cannot be placed in its f-string; write it out of the string."
                )
            if source.text.value[end:].lstrip().startswith("=") and not source.text.value[end:].lstrip().startswith(
                "=="
            ):
                raise _CannotWaitError(
                    f"`{{{ast.unparse(node)}=}}` prints its own source text; write the text and the value separately."
                )
        self.replacements.append(Replacement(start, end, name))


def reads(source: Source, node: ast.AST) -> bool:
    """Whether evaluating a node takes the value out of a tensor (which breaks the graph), as far as its text tells."""
    return any(_reads(source, one) for one in walk(node))


def _reads(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not is_static(source, node.operand)
    if isinstance(node, ast.BoolOp):
        return not all(is_static(source, value) for value in node.values[:-1])
    if isinstance(node, ast.IfExp):
        return not is_static(source, node.test)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return not is_static(source, node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        if isinstance(function.value, ast.Constant) and function.attr in ("format", "join"):
            return True
        name = dotted(source, function) or ""
        if name in _READING_CALLS or name.startswith("math."):
            return True
        return function.attr in READS and not name
    if (
        isinstance(function, ast.Name)
        and function.id in _READING_BUILTINS
        and is_builtin(source, function, function.id)
    ):
        return not all(is_static(source, one) for one in node.args)
    return dotted(source, function) in _READING_CALLS


def _fresh_value(node: ast.expr) -> bool:
    """Whether an expression makes a new value rather than a view of an old one."""
    if isinstance(node, ast.Attribute):
        return node.attr in _INERT
    operator = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        operator = operator_of_method(node.func.attr)
    elif isinstance(node, (ast.BinOp, ast.UnaryOp)):
        operator = operator_of_ast(type(node.op))
    return isinstance(node, ast.Compare) or (operator is not None and operator.is_new and not operator.effect)
