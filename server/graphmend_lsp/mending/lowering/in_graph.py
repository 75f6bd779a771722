"""What an operator of the graph can be given to say, and where it may come sooner than code in front of it. Knows no rule."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphmend_lsp.mending.facts.bindings import operator_called
from graphmend_lsp.mending.facts.effects import is_logger, is_static
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.lowering.capture import Captured
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.edits import one_line
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned
from graphmend_lsp.mending.syntax.support import is_supported
from graphmend_lsp.mending.syntax.walk import walk

PRINTS = "_print_in_graph"
"""What the name of the function that prints begins with in a file that cannot import it."""


def maps(source: Source, function: Function) -> bool:
    """Whether the file maps a function by `torch.func` or `vmap`, which have no rule for operators that are ordered.

    So it does where it maps another that leads to this one by name, and where it calls what is mapped otherwise.
    """
    reached: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.Call) and _is_map(source, node.func):
            reached |= {name for one in (*node.args, *node.keywords) for name in _names(one)}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
            _is_map(source, one) for each in node.decorator_list for one in walk(each)
        ):
            reached.add(node.name)
    functions = [one for one in source.nodes if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    waiting = list(reached)
    while waiting:
        name = waiting.pop()
        for one in functions:
            if one.name == name:
                new = _names(one) - reached
                reached |= new
                waiting += new
    return function.name in reached or (
        function.name == "forward" and bool(reached & {"self", "model", "net", "module"})
    )


def _is_map(source: Source, node: ast.AST) -> bool:
    name = dotted(source, node) if isinstance(node, (ast.Name, ast.Attribute)) else None
    return name is not None and (name.startswith(("torch.func.", "functorch.")) or name == "torch.vmap")


def _names(node: ast.AST) -> set[str]:
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in walk(node)
        if isinstance(one, (ast.Name, ast.Attribute))
    }


def written(source: Source, node: ast.expr, captured: Captured) -> str:
    """An expression on one line, with the names of what was taken in it."""
    start, end = source.range(node)
    parts: list[str] = []
    for one in sorted(captured.replacements, key=lambda one: one.start):
        if start <= one.start and one.end <= end:
            parts += (source.text.value[start : one.start], one.text)
            start = one.end
    return one_line("".join([*parts, source.text.value[start:end]]))


def may_raise_before(place: Place, call: ast.Call) -> str | None:
    """What may raise before the print, as a caution: inductor may print first, because the two share no values."""
    source, function = place.source, place.function
    assert function is not None
    frames = [one for one in place.request.site.chain if one.kind == "code"]
    if len({(one.path, one.function) for one in frames}) > 1:
        return f"Compiled, the text may appear although code before the call of `{function.name}` raises."
    loops = [one for one in source.ancestors(call) if isinstance(one, (ast.For, ast.While))]
    again = {node for loop in loops for node in walk(loop)}
    start, _ = source.range(call)
    own = set(walk(call))
    for one in (found for statement in function.body for found in _raising(source, statement)):
        if one not in own and (source.range(one)[0] < start or one in again):
            line = getattr(one, "lineno", 0)
            return f"Line {line}: `{render(source, one)}` may raise; compiled, the text may appear all the same."
    return None


def _raising(source: Source, statement: ast.stmt) -> list[ast.AST]:
    """What may raise in a statement: also a module of `self`, and a store in an item. A print does not."""
    found = [one.node for one in hazards(source, statement) if one.kind in ("raises", "effect")]
    for one in walk(statement):
        called = one.func if isinstance(one, ast.Call) else None
        module = isinstance(called, (ast.Attribute, ast.Subscript)) and source.code(called).startswith("self.")
        if module or (isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)):
            found.append(one)
    return [one for one in found if not (isinstance(one, ast.Call) and _prints(source, one.func))]


def _prints(source: Source, called: ast.expr) -> bool:
    ours = any(is_supported(source, called, one) for one in ("print_in_graph", "call_in_graph")) or (
        isinstance(called, ast.Name) and called.id.startswith(PRINTS)
    )
    return ours or is_builtin(source, called, "print")


_READING = frozenset(("item", "tolist"))
_NUMBERS = frozenset(("float", "int", "bool", "round"))


def require_given(source: Source, captured: Captured, said: Sequence[ast.expr]) -> None:
    """Refuse what the support module's operators cannot be given, and texts that they would say otherwise.

    Raises:
        Refused: with the value that is in the way.
    """
    for one in captured.captures:
        if Kinds(source).of(one.node) != "tensor" and not is_known(source, one.node):
            raise Refused(f"`{source.code(one.node)}` is not known to be a number, a text or a size.")
    taken = [(one.start, one.end) for one in captured.replacements]
    names = {one.name for one in captured.captures}
    for value in said:
        _require_shown(source, value)
        for name in walk(value):
            if not isinstance(name, ast.Name) or name.id in names or is_builtin(source, name, name.id):
                continue
            start, end = source.range(name)
            if not any(first <= start and end <= last for first, last in taken) and not _stays(source, name):
                raise Refused(f"The operator would read `{name.id}` when it runs, and this function changes it later.")


def _stays(source: Source, name: ast.Name) -> bool:
    """Whether a name of the file's own scope is a module, function, class, constant or logger."""
    if is_logger(source, name):
        return True
    bound = [one for one in source.tree.body if name.id in assigned(one)]
    if len(bound) != 1:
        return False
    if any(isinstance(one, ast.Global) and name.id in one.names for one in source.nodes):
        return False
    if isinstance(bound[0], ast.Assign):
        return isinstance(bound[0].value, ast.Constant)
    return isinstance(bound[0], (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef))


def is_known(source: Source, node: ast.expr) -> bool:
    """Whether Dynamo knows a value while it traces, and an operator can be given it: a number, a text, a size."""
    return is_static(source, node) or _was_plain(source, node)


def _require_shown(source: Source, node: ast.expr) -> None:
    """Refuse a tensor in a text that would be another in a graph, which knows no gradients."""
    kinds = Kinds(source)
    if isinstance(node, ast.Starred):
        raise Refused(f"`{source.code(node)}` passes values that the source does not show.")
    if isinstance(node, ast.JoinedStr):
        for one in node.values:
            if isinstance(one, ast.FormattedValue) and not _is_number(source, kinds, one):
                _require_shown(source, one.value)
    elif isinstance(node, (ast.Tuple, ast.List)):
        for child in node.elts:
            _require_shown(source, child)
    elif isinstance(node, ast.BinOp) and isinstance(node.left, (ast.Constant, ast.JoinedStr)):
        _require_shown(source, node.right)
    elif isinstance(node, ast.Call) and _is_text(node.func):
        for child in (*node.args, *(one.value for one in node.keywords)):
            _require_shown(source, child)
    elif kinds.of(node) == "tensor" and not (_is_read(node) or _has_no_gradient(source, node)):
        raise Refused(
            f"`{source.code(node)}` is a tensor, and its text tells of its gradient, which a graph does not know; "
            "say `.detach()` if that does not matter."
        )


def _is_number(source: Source, kinds: Kinds, field: ast.FormattedValue) -> bool:
    """Whether a format makes a number of a tensor without dimensions."""
    return field.conversion == -1 and Scalars(source, kinds).is_zero_dim(field.value)


def _is_text(function: ast.expr) -> bool:
    """Whether a function makes a text of its arguments: ``"...".format``, ``str``."""
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, (ast.Constant, ast.JoinedStr))
    return isinstance(function, ast.Name) and function.id in ("str", "repr", "format")


def _is_read(node: ast.expr) -> bool:
    """Whether an expression takes numbers out of a tensor."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Attribute):
        return called.attr in _READING
    return isinstance(called, ast.Name) and called.id in _NUMBERS


def _has_no_gradient(source: Source, node: ast.expr) -> bool:
    """Whether a tensor's text never tells of a gradient: it is detached here, or its dtype has none."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Attribute) and called.attr == "detach":
        return True
    operator = operator_called(source, node) if isinstance(node, ast.Call) else None
    if operator is not None and operator.gives == "tensor" and not operator.carries_gradient:
        return True
    if isinstance(node, ast.Call) and operator is not None and operator.dtype == "same" and operator.is_tensor:
        of_method = isinstance(called, ast.Attribute) and dotted(source, called) is None
        operands = [called.value] if of_method and isinstance(called, ast.Attribute) else node.args[:1]
        if operands and Seen(source).of(node) is None:
            return _has_no_gradient(source, operands[0])
    if Kinds(source).is_bool(node):
        return True
    seen = Seen(source)
    fact = seen.of(node)
    if fact is None or not fact.is_tensor or fact.tensor is None:
        return False
    if any(one.startswith(("float", "bfloat", "complex")) for one in fact.tensor.dtypes):
        return False
    seen.believe(node, f"of dtype {' or '.join(fact.tensor.dtypes)}")
    return True


def _was_plain(source: Source, node: ast.expr) -> bool:
    """Whether a run showed nothing but Python values that an operator can be given."""
    seen = Seen(source)
    fact = seen.of(node)
    if fact is None or not fact.is_plain:
        return False
    seen.believe(node, "a number, a text, a flag or None")
    return True
