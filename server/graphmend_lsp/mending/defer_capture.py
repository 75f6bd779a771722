"""What a statement that is put off must remember: the values it reads, taken at its place, and its text with them.

An expression is split where reading a tensor's value would break the graph: everything that can be traced is evaluated in
place and remembered under a name; only the rest (``.item()``, formatting, ``torch.equal``) waits. Pure reading.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.defer_effects import bindings, is_static, own_nodes, scalar_parameter
from graphmend_lsp.mending.imports import dotted, is_builtin
from graphmend_lsp.mending.source import Function, Source, assigned, loaded, local_names, parameters

READS = frozenset(("item", "tolist", "numpy", "equal", "allclose", "__repr__", "__str__", "__bool__"))
_READING_CALLS = frozenset(("torch.equal", "torch.allclose"))
_PURE_BUILTINS = frozenset(
    ("float", "int", "bool", "str", "repr", "round", "format", "abs", "min", "max", "sum", "len", "sorted", "tuple", "list")
)
_READING_BUILTINS = frozenset(("float", "int", "bool", "str", "repr", "round", "format"))
_INERT = frozenset(("shape", "dtype", "device", "ndim", "layout", "is_cuda", "requires_grad"))
_REDUCTIONS = frozenset(
    ("mean sum max min norm std var abs any all argmax argmin prod amax amin clone size dim numel isnan isinf "
     "isfinite").split()
)
_CONTAINERS = frozenset(
    "append extend insert remove pop clear update setdefault add discard sort reverse popitem appendleft".split()
)


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


@dataclass(frozen=True, slots=True)
class Later:
    """What happens to names after a place: bound anew, changed in place as a tensor, changed as a container."""

    rebound: frozenset[str]
    mutated: frozenset[str]
    containers: frozenset[str]


def later(source: Source, function: Function, after: ast.stmt | None) -> Later:
    """What the function does to its names behind a statement, or anywhere when None (a loop comes back)."""
    rebound: set[str] = set()
    mutated: set[str] = set()
    containers: set[str] = set()
    stop = source.range(after)[1] if after is not None else -1
    for node in own_nodes(function):
        if not isinstance(node, (ast.stmt, ast.expr)) or source.range(node)[0] < stop:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            rebound.add(node.id)
        elif isinstance(node, ast.stmt):
            rebound |= assigned(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            if not _is_number(source, function, node.target.id):
                mutated.add(node.target.id)
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            name = subject(source, node.value)
            if name and name not in ("self", "cls"):
                mutated.add(name)
        elif isinstance(node, ast.Call):
            name = subject(source, node.func.value) if isinstance(node.func, ast.Attribute) else None
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if name and method.endswith("_") and not method.startswith("_"):
                mutated.add(name)
            elif name and method in _CONTAINERS and isinstance(node.func, ast.Attribute):
                containers.add(name)
            for keyword in node.keywords:
                value = keyword.value
                if keyword.arg == "out":
                    mutated.add(subject(source, value) or "")
                if keyword.arg == "inplace" and isinstance(value, ast.Constant) and value.value and node.args:
                    mutated.add(subject(source, node.args[0]) or "")
    return Later(frozenset(rebound), frozenset(mutated - {""}), frozenset(containers))


def root(node: ast.AST) -> str | None:
    """The name that an attribute, subscript or method-call chain starts from."""
    while True:
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func
        else:
            return node.id if isinstance(node, ast.Name) else None


def subject(source: Source, node: ast.AST) -> str | None:
    """What a chain is a part of: its first name, or ``self.NAME`` when that is `self`; None for other expressions."""
    name = root(node)
    if name not in ("self", "cls"):
        return name
    first = node
    while not isinstance(first, ast.Name):
        if isinstance(first, ast.Attribute) and isinstance(first.value, ast.Name):
            return f"{name}.{first.attr}"
        first = next(iter(ast.iter_child_nodes(first)))
    return name


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
    taken: Iterable[str] = (),
) -> Captured | str:
    """What the expressions must remember to be evaluated at the end of the function; or why that cannot be.

    `conditional` are expressions that the statement evaluates only on a condition; names alone are taken for them.
    `keep_inert` leaves ``y.shape`` and the like as they are when `y` is neither bound anew nor changed in place.
    """
    names = local_names(function)
    outer = source.function(function)
    while outer is not None:
        names |= local_names(outer)
        outer = source.function(outer)
    names |= {name for node in ast.walk(source.tree) if isinstance(node, ast.Global) for name in node.names}
    avoid = set(taken) | names | {name for node in (*nodes, *conditional) for name in loaded(node)} | set(dir(builtins))
    avoid |= {name for one in source.tree.body for name in assigned(one)}
    work = _Work(source, function, names, avoid, coming, keep_inert)
    try:
        for node in nodes:
            work.put_off(node)
        for node in conditional:
            work.put_off(node, False)
    except _CannotWaitError as error:
        return str(error)
    return Captured(tuple(work.captures), tuple(work.replacements))


class _Work:
    """One walk over the expressions of a statement."""

    def __init__(
        self, source: Source, function: Function, names: frozenset[str], avoid: set[str], coming: Later, keep_inert: bool
    ) -> None:
        self.source, self.function, self.names, self.avoid = source, function, names, avoid
        self.coming, self.keep_inert = coming, keep_inert
        self.captures: list[Capture] = []
        self.replacements: list[Replacement] = []

    def put_off(self, node: ast.expr, certain: bool = True) -> None:
        """Evaluate `node` later. `certain`: it is evaluated whenever the statement runs."""
        source = self.source
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            raise _CannotWaitError(f"`{source.code(node)}` binds a name or waits, so it cannot be put off.")
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
                self.put_off(value, False)
        elif isinstance(node, ast.IfExp):
            self.put_off(node.test, certain)
            self.put_off(node.body, False)
            self.put_off(node.orelse, False)
        elif isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            raise _CannotWaitError(f"`{source.code(node)}` reads tensor values in a scope of its own.")
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.put_off(child, certain)

    def put_off_call(self, node: ast.Call, certain: bool) -> None:
        source, function = self.source, node.func
        method = function.attr if isinstance(function, ast.Attribute) else ""
        name = dotted(source, function) or ""
        text = isinstance(function, ast.Attribute) and isinstance(function.value, (ast.Constant, ast.JoinedStr))
        builtin = isinstance(function, ast.Name) and function.id in _PURE_BUILTINS and is_builtin(source, function, function.id)
        if name in _READING_CALLS or name.startswith("math.") or builtin:
            pass
        elif isinstance(function, ast.Attribute) and (method in READS or text):
            self.put_off(function.value, certain)
        else:
            inner = next(one for one in ast.walk(node) if isinstance(one, ast.expr) and one is not node and _reads(source, one))
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
            raise _CannotWaitError(f"`{node.id}` is changed after this place, so its text at the end would be another.")
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
        calls = any(isinstance(one, ast.Call) for one in ast.walk(node))
        if not touched and not calls:
            return
        start = subject(source, node)
        parts = touched | ({start} if start else set())
        stable = not touched & (self.coming.rebound | self.coming.mutated)
        if self.keep_inert and stable and isinstance(node, ast.Attribute) and node.attr in _INERT:
            if isinstance(node.value, ast.Name):
                return
        if isinstance(node, ast.Starred):
            self.put_off(node.value, certain)
            return
        if not certain and not (touched == {"self"} and not calls):
            raise _CannotWaitError(
                f"`{source.code(node)}` is evaluated only on a condition, and must not be evaluated without it."
            )
        same = [one for one in self.captures if ast.dump(one.node) == ast.dump(node)]
        if same and not calls:
            self.replace(node, same[0].name)
            return
        if parts & self.coming.containers and not _fresh_value(node):
            raise _CannotWaitError(f"`{source.code(node)}` is changed after this place, so its text would be another.")
        code = source.code(node)
        if "\n" in code or "\r" in code:
            code = ast.unparse(node)
        copied = bool(start and start in self.coming.mutated and not _fresh_value(node))
        if copied:
            code = f"{code}.clone()" if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)) else f"({code}).clone()"
        name = self.fresh(_name_for(node))
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
            if not (whole_start < start < end < whole_end and _parses_to(source.text.value[start:end], node)):
                raise _CannotWaitError(f"`{ast.unparse(node)}` cannot be placed in its f-string; write it out of the string.")
            if source.text.value[end:].lstrip().startswith("=") and not source.text.value[end:].lstrip().startswith("=="):
                raise _CannotWaitError(f"`{{{ast.unparse(node)}=}}` says its own text; write the text and the value apart.")
        self.replacements.append(Replacement(start, end, name))


def reads(source: Source, node: ast.AST) -> bool:
    """Whether evaluating a node takes the value out of a tensor (which breaks the graph), as far as its text tells."""
    return any(_reads(source, one) for one in ast.walk(node))


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
    if isinstance(function, ast.Name) and function.id in _READING_BUILTINS and is_builtin(source, function, function.id):
        return not all(is_static(source, one) for one in node.args)
    return dotted(source, function) in _READING_CALLS


def _is_number(source: Source, function: Function, name: str) -> bool:
    """Whether a name holds numbers or texts, which ``+=`` binds anew instead of changing."""
    if name in parameters(function) and not scalar_parameter(function, name):
        return False
    values = bindings(function, name)
    return all(value is not None and (is_static(source, value) or _counts(source, value)) for value in values)


def _counts(source: Source, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and is_builtin(source, value.func, "range")


def _fresh_value(node: ast.expr) -> bool:
    """Whether an expression makes a new value rather than a view of an old one."""
    if isinstance(node, ast.Attribute):
        return node.attr in _INERT
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _REDUCTIONS
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare))


def _name_for(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "value")
        return name.strip("_") or "value"
    if isinstance(node, ast.Attribute):
        return node.attr.strip("_") or "value"
    if isinstance(node, ast.Compare):
        return "condition"
    return "value"


def _parses_to(code: str, node: ast.expr) -> bool:
    try:
        return ast.dump(ast.parse(code.strip(), mode="eval").body) == ast.dump(node)
    except SyntaxError:
        return False
