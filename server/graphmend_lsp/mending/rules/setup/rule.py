"""State that a method sets up: a method that only changes buffers or parameters of its module is one operator of the graph.

What it does
------------
``def init_(self, x): if self.ready: return; self.codes.copy_(...); self.ready.fill_(True)`` gets one decorator,
``@state_operator("codes", "ready")``; an ``if`` in another method moves into a method of its own. Uncompiled, the method is
called as it is. A graph holds an operator that runs it, and knows which buffers it changes.

Why it costs
------------
Whether the state is there is known to a tensor alone, so that Dynamo ends the graph at each question, in every call, for work
that is done once.

Safety
------
The method runs as it is, where it stands, on the buffers that the graph has by then. The graph sees what it has changed.
The operator raises where the method puts another tensor in the place of a buffer. It has no gradient, so what is written
must not carry one: it is written under `no_grad`, through `.data`, or from what is detached. CUDA graphs leave the
operator out. What the method says or draws at random comes when the operator runs.

When it is refused
------------------
For a method that returns a value, stores attributes, changes what is neither a buffer nor, through `.data`, a parameter of
its own, calls a module or a method of another file, or reads an attribute that another method sets.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.purity import may_ask_for_gradients
from graphmend_lsp.mending.rules.setup import RULE
from graphmend_lsp.mending.rules.setup.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import goes_over_lines
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded, local_names
from graphmend_lsp.mending.syntax.support import is_supported, supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_PLAIN = frozenset(("torch.no_grad()", "torch.inference_mode()", "torch.jit.ignore"))
_NOT_ALONE = frozenset(("forward", "__init__", "__call__"))


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The operator that holds the break; empty when nothing there sets up buffers.

    It is the method, where that does nothing else, or the ``if`` that asks, moved into a method of its own.
    """
    source, method = place.source, place.function
    owner = source.owner(method) if method is not None else None
    if method is None or owner is None or source.parents.get(method) is not owner or method.name == "__init__":
        return ()
    if isinstance(method, ast.AsyncFunctionDef) or not method.args.args or method.args.args[0].arg != "self":
        return ()
    if any(is_supported(source, _called(one), "state_operator") for one in method.decorator_list):
        return ()
    branch = next((one for one in (place.site.statement,) if isinstance(one, ast.If)), None)
    found: list[Mend] = []
    problem: str | None = None
    for moved in (None, branch):
        if (moved is None and method.name in _NOT_ALONE) or (moved is branch and branch is None):
            continue
        work = _Work(source, owner, _buffers(owner), _parameters(owner))
        work.read(method if moved is None else moved, method.name if moved is None else "")
        if work.problem is None and work.changed and moved is not None:
            work.problem = _cannot_move(source, method, moved)
        if work.changed and work.problem is None:
            found.append(_whole(place, method, work) if moved is None else _moved(place, method, moved, work))
        problem = problem or (work.problem if work.changed else None)
    if not found and problem is not None:
        raise Refused(problem)
    return tuple(found[:1])


def _whole(place: Place, method: ast.FunctionDef, work: _Work) -> Mend:
    source = place.source
    mark, imports = _decorator(source, method, work)
    start, _ = source.range(method)
    text = f"{mark}{source.newline}{source.indentation(method)}{source.text.value[start]}"
    spots = (*imports, TextEdit(source.path, source.between(start, start + 1), text))
    return _mend(place, f"make {method.name} one operator that changes state", method.name, spots)


def _moved(place: Place, method: ast.FunctionDef, branch: ast.If, work: _Work) -> Mend:
    source, owner = place.source, work.owner
    mark, imports = _decorator(source, method, work)
    taken = {one.name for one in owner.body if isinstance(one, ast.FunctionDef)} | {
        name for one in walk(owner) if (name := _own(one)) is not None
    }
    name = next(one for one in ("_set_up", *(f"_set_up_{number}" for number in range(2, 99))) if one not in taken)
    given = sorted((loaded(branch) & local_names(method)) - {"self"})
    base = source.indentation(branch)
    start, end = source.range(branch)
    lines = [line.removeprefix(base) for line in (base + source.text.value[start:end]).splitlines()]
    definition = [
        mark,
        f"def {name}({', '.join(('self', *given))}):",
        *(source.indent + line if line.strip() else "" for line in lines),
        "",
    ]
    spots = (
        *imports,
        edits.insert_before(source, method, definition),
        edits.replace(source, branch, branch, [f"self.{name}({', '.join(given)})"]),
    )
    return _mend(place, "set the state up in one operator", name, spots)


def _cannot_move(source: Source, method: ast.FunctionDef, branch: ast.If) -> str | None:
    """Why an ``if`` cannot become a method, or None."""
    made = assigned(branch)
    if used := made & {name for one in method.body for name in loaded(one) if one is not branch}:
        return f"`{min(used)}` is bound there, and used elsewhere."
    if not source.starts_line(branch) or source.code(branch).startswith("elif"):
        return "The `if` does not start its line."
    if any(isinstance(one, (ast.Break, ast.Continue, ast.Return)) for one in walk(branch)):
        return "The `if` leaves the statements around it."
    if any(goes_over_lines(source, one) for one in walk(branch)):
        return "A string over several lines stands in what would move."
    if any(isinstance(one, ast.Name) and one.id in ("super", "__class__") for one in walk(branch)):
        return "`super()` stands in what would move."
    return None


def _decorator(source: Source, method: ast.FunctionDef, work: _Work) -> tuple[str, list[TextEdit]]:
    others = {name for name in work.read_buffers if _is_written(work.owner, name, except_in=work.seen)}
    found = supported(source, method, "state_operator")
    if found is None:
        raise Refused("This file cannot import the support module, which has the operator.")
    names = ", ".join(f'"{one}"' for one in sorted(work.changed | work.handed | others))
    return f"@{found[0]['state_operator']}({names})", list(found[1])


def _mend(place: Place, title: str, name: str, spots: tuple[TextEdit, ...]) -> Mend:
    return Mend(
        rule=RULE.name,
        title=title,
        path=place.source.path,
        span=place.request.site.span,
        edits=spots,
        changes=(f"`{name}` runs uncompiled, as one operator of the graph, which CUDA graphs leave out.",),
        inductor=True,
    )


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _buffers(owner: ast.ClassDef) -> frozenset[str]:
    """The names of the buffers that a class registers."""
    return frozenset(
        one.args[0].value
        for one in walk(owner)
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr == "register_buffer"
        and one.args
        and isinstance(one.args[0], ast.Constant)
        and isinstance(one.args[0].value, str)
    )


def _parameters(owner: ast.ClassDef) -> frozenset[str]:
    """The names of the parameters that a class makes: ``self.scale = nn.Parameter(...)``, and gives no other value."""
    stored = [(name, one) for one in walk(owner) if isinstance(one, ast.Assign) and (name := _own(one.targets[0]))]
    made = {name for name, one in stored if _makes_parameter(one)}
    return frozenset(made - {name for name, one in stored if not _makes_parameter(one)})


def _makes_parameter(one: ast.Assign) -> bool:
    called = one.value.func if isinstance(one.value, ast.Call) and len(one.targets) == 1 else None
    return getattr(called, "attr", getattr(called, "id", "")) == "Parameter"


@dataclass
class _Work:
    """What a method and those of its class that it calls change, read, and do besides."""

    source: Source
    owner: ast.ClassDef
    buffers: frozenset[str]
    parameters: frozenset[str]
    changed: set[str] = field(default_factory=set)
    read_buffers: set[str] = field(default_factory=set)
    handed: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    problem: str | None = None

    def read(self, whole: Function | ast.If, name: str) -> None:
        """Go through a method, or an ``if`` (whose name is empty); the first thing in the way is kept as the problem."""
        first = not self.seen
        self.seen.add(name)
        for node in walk(whole):
            if isinstance(node, ast.Return) and node.value is not None and first:
                self._refuse(f"`{name}` returns a value.")
            elif isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)):
                self._refuse(f"Line {node.lineno} does more than running and ending.")
            elif isinstance(node, ast.Attribute) and (own := _own(node)) is not None:
                self._attribute(node, own)
            elif isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
                self._store(node)
            elif isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Name) and node.id == "self":
                self._self(node)

    def _refuse(self, words: str) -> None:
        self.problem = self.problem or words

    def _self(self, node: ast.Name) -> None:
        if not isinstance(self.source.parents.get(node), ast.Attribute):
            self._refuse(f"Line {node.lineno}: the module is handed on.")

    def _attribute(self, node: ast.Attribute, name: str) -> None:
        around = self.source.parents.get(node)
        if not isinstance(node.ctx, ast.Load):
            in_place = isinstance(around, ast.AugAssign) and name in self.buffers
            if in_place and isinstance(around, ast.AugAssign):
                self.changed.add(name)
                self._without_gradient(around, (around.value,))
            else:
                self._refuse(f"Line {node.lineno}: `self.{name}` is stored.")
        elif name in self.buffers | self.parameters:
            self.read_buffers.add(name)
            if isinstance(around, ast.Call) and node in around.args and not _is_torch(self.source, around):
                self.handed.add(name)  # the operator may change it, too
        elif not (isinstance(around, ast.Call) and around.func is node) and _is_written(self.owner, name):
            self._refuse(f"Line {node.lineno}: another method sets `self.{name}`, which a graph may not have done yet.")

    def _store(self, node: ast.Subscript | ast.Attribute) -> None:
        on = node.value.value if isinstance(node.value, ast.Attribute) and node.value.attr == "data" else node.value
        name = _own(on)
        if isinstance(node, ast.Subscript) and name is not None and self._may_change(name, on is not node.value):
            self.changed.add(name)
            statement = self.source.statement(node)
            if on is node.value and isinstance(statement, (ast.Assign, ast.AugAssign)):
                self._without_gradient(statement, (statement.value,))
        elif name is not None or isinstance(node, ast.Attribute):
            self._refuse(f"Line {node.lineno}: `{self.source.code(node)}` is stored.")

    def _may_change(self, name: str, through_data: bool) -> bool:
        """Whether that is state which the operator may change: of a parameter, what its graph of gradients does not see."""
        return name in self.buffers or (through_data and name in self.parameters)

    def _without_gradient(self, node: ast.stmt | ast.expr, values: tuple[ast.expr, ...]) -> None:
        """Refuse what would put a history of gradients into a buffer: an operator gives none."""
        if any(may_ask_for_gradients(self.source, one) for one in values):
            words = "may put a gradient into a buffer; write it under `torch.no_grad()`, or from `.detach()`"
            self._refuse(f"Line {node.lineno}: `{self.source.code(node)}` {words}.")

    def _call(self, node: ast.Call) -> None:
        function = node.func
        if not isinstance(function, ast.Attribute):
            return
        if (method := _own(function)) is not None:
            found = next(
                (one for one in self.owner.body if isinstance(one, ast.FunctionDef) and one.name == method), None
            )
            if found is None or not all(self.source.code(one) in _PLAIN for one in found.decorator_list):
                self._refuse(f"Line {node.lineno}: `self.{method}` is not a method of this class alone.")
            elif method not in self.seen:
                self.read(found, method)
            return
        on = function.value
        data = isinstance(on, ast.Attribute) and on.attr == "data"
        on = on.value if isinstance(on, ast.Attribute) and data else on
        if not (function.attr.endswith("_") and not function.attr.endswith("__")):
            return
        name = _own(on)
        if name is not None and self._may_change(name, data):
            self.changed.add(name)
            if not data:
                self._without_gradient(node, (*node.args, *(one.value for one in node.keywords)))
        elif name is not None:
            words = "no buffer that this class registers, nor a parameter that is changed through `.data`"
            self._refuse(f"Line {node.lineno}: `self.{name}` is changed, and is {words}.")


def _own(node: ast.AST) -> str | None:
    """The attribute that ``self.name`` is."""
    whole = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if whole and isinstance(node, ast.Attribute) else None


def _is_torch(source: Source, call: ast.Call) -> bool:
    """Whether a call is of torch's own, or of a builtin that asks only."""
    text = source.code(call.func)
    return text.startswith("torch.") or text in ("exists", "len", "isinstance", "tensor", "rearrange", "print")


def _is_written(owner: ast.ClassDef, name: str, except_in: set[str] | None = None) -> bool:
    """Whether a method other than ``__init__`` (and those left out) stores or changes ``self.name``."""
    return any(
        _own(target) == name
        for method in owner.body
        if isinstance(method, ast.FunctionDef) and method.name != "__init__" and method.name not in (except_in or ())
        for target in _targets(method)
    )


def _targets(method: ast.FunctionDef) -> Iterator[ast.AST]:
    for node in walk(method):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node
            yield node.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            on = node.func.value
            yield on.value if isinstance(on, ast.Attribute) and on.attr == "data" else on
