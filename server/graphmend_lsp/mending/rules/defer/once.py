"""Messages that are said only once anyway: said while Dynamo traces, through a helper under `assume_constant_result`.

One local edit and one helper a file; measured: no break, also in inlined functions, loops and `try`, also under
backends that remove dead code (facts: a call with constant arguments is evaluated once for each compilation). A text made
of Python values is guarded by them: with others the function is traced, and the message said, anew. A text that holds a
tensor breaks the graph at the helper as it did before, and is said there. Knows nothing of moving effects.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mending.facts.effects import Effect, bindings, blames_caller, is_static
from graphmend_lsp.mending.syntax.edits import rewrite
from graphmend_lsp.mending.syntax.formatting import layout, line_limit
from graphmend_lsp.mending.syntax.imports import add_function, add_value, is_builtin, spell
from graphmend_lsp.mending.syntax.source import Source, local_names, parameters
from graphmend_lsp.mending.syntax.support import is_supported, supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit

_TARGET = "torch.compiler.assume_constant_result"
_DOC = '    """Say a message that is said only once: at trace time, where it breaks no graph."""'


@dataclass(frozen=True, slots=True)
class Once:
    """The mend's title, edits and changes; `constant`: the source shows that the message holds no tensor."""

    title: str
    edits: tuple[TextEdit, ...]
    changes: tuple[str, ...]
    constant: bool


def once(source: Source, effect: Effect) -> Once | str | None:
    """The mend; or why it cannot be; None when the message is not one said once."""
    if not (effect.once or effect.kind == "warn"):
        return None
    if blamed := blames_caller(effect):
        return blamed
    receiver = effect.call.func
    root: ast.expr = receiver
    while isinstance(root, ast.Attribute):
        root = root.value
    function = source.function(effect.statement)
    if not isinstance(root, ast.Name) or (function is not None and root.id in local_names(function)):
        return (
            f"`{source.code(receiver)}` is not reached from a module-level name, which a helper at module level needs."
        )
    constant = True
    for value in (*effect.call.args, *(keyword.value for keyword in effect.call.keywords)):
        if not isinstance(value, ast.Starred) and is_static(source, value):
            continue
        # A tensor as an argument of its own would be computed while tracing; in a text it never is.
        if not _is_text(source, value):
            return f"`{source.code(value)}` may hold a tensor; only a message of constants can be said while tracing."
        constant = False
    if any(keyword.arg is None for keyword in effect.call.keywords):
        return "The call passes **keywords whose values are not known; write them out."
    name = _existing(source, receiver)
    edits: list[TextEdit] = []
    if name is None:
        name = source.fresh("_" + source.code(receiver).replace(".", "_").strip("_"))
        edits += _helper(source, receiver, name)
    edits.append(rewrite(source, receiver, name))
    return Once(f"call {effect.label} while tracing", tuple(edits), _changes(effect), constant)


def _helper(source: Source, receiver: ast.expr, name: str) -> list[TextEdit]:
    """The edits that add the helper: in one line from the support module, which reaches the callee when it is called."""
    found = supported(source, source.tree, "while_tracing")
    call = f"{source.code(receiver)}(*args, **kwargs)"
    if found is not None:
        line = f"{name} = {found[0]['while_tracing']}(lambda *args, **kwargs: {call})"
        return [*found[1], add_value(source, layout(line, source.indent, line_limit(source)))]
    decorator, added = spell(source, _TARGET, source.tree)
    lines = [f"@{decorator}", f"def {name}(*args, **kwargs):", _DOC, f"    {call}"]
    return [*([added] if added else []), add_function(source, lines)]


def _is_text(source: Source, node: ast.expr) -> bool:
    """Whether an expression surely gives a text, and one that calls nothing to read the values in it."""
    match node:
        case ast.Constant():
            return isinstance(node.value, str)
        case ast.JoinedStr():
            return all(_is_text(source, part) for part in node.values)
        case ast.FormattedValue():
            return _is_read(source, node.value) and (node.format_spec is None or _is_text(source, node.format_spec))
        case ast.BinOp(op=ast.Add()):
            return _is_text(source, node.left) and _is_text(source, node.right)
        case ast.BinOp(op=ast.Mod()):
            return _is_text(source, node.left) and _is_read(source, node.right)
        case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str()))):
            given = (*node.args, *(keyword.value for keyword in node.keywords))
            return all(_is_read(source, one) for one in given)
        case ast.Name():
            function = source.function(node)
            if function is None or node.id not in local_names(function) or node.id in parameters(function):
                return False
            if any(isinstance(one, (ast.Match, ast.Nonlocal)) for one in walk(function)):
                return False  # these bind names where `bindings` does not look
            values = bindings(function, node.id)
            return bool(values) and all(value is not None and _is_said(source, node.id, value) for value in values)
    return False


def _is_said(source: Source, name: str, value: ast.expr) -> bool:
    """Whether a value that a name gets is a text made without the name itself."""
    names = {one.id for one in walk(value) if isinstance(one, ast.Name)}
    return name not in names and not isinstance(value, ast.Name) and _is_text(source, value)


def _is_read(source: Source, node: ast.expr) -> bool:
    """Whether an expression only reads what names, attributes and elements hold, or is known while tracing."""
    if is_static(source, node):
        return True
    match node:
        case ast.Name():
            return True
        case ast.Attribute() | ast.Starred():
            return _is_read(source, node.value)
        case ast.Subscript():
            return _is_read(source, node.value) and _is_read(source, node.slice)
        case ast.Tuple() | ast.List():
            return all(_is_read(source, one) for one in node.elts)
        case ast.Call():
            # Others may read a tensor: `str(x)` ends the graph, and what follows would be guarded by the text.
            return is_builtin(source, node.func, "getattr") and all(_is_read(source, one) for one in node.args)
    return False


def _changes(effect: Effect) -> tuple[str, ...]:
    if effect.kind == "log":
        return ("The message is logged while the graph is traced; the record's function name is the helper's.",)
    return (
        "The warning is given once for each compilation, from the helper's line: the text is the same with the default "
        "filter; with `-W always` it no longer comes on every call.",
    )


def _existing(source: Source, receiver: ast.expr) -> str | None:
    """The helper of an earlier mend for the same callee."""
    wanted = f"lambda *args, **kwargs: {source.code(receiver)}(*args, **kwargs)"
    for statement in source.tree.body:
        if isinstance(statement, ast.Assign) and isinstance(made := statement.value, ast.Call):
            ours = is_supported(source, made.func, "while_tracing") and [ast.unparse(one) for one in made.args] == [
                wanted
            ]
            if ours and isinstance(statement.targets[0], ast.Name):
                return statement.targets[0].id
        if not (
            isinstance(statement, ast.FunctionDef) and len(statement.decorator_list) == 1 and len(statement.body) == 2
        ):
            continue
        last = statement.body[-1]
        decorated = source.code(statement.decorator_list[0]).endswith("assume_constant_result")
        if decorated and isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
            passes = source.code(last.value) == f"{source.code(receiver)}(*args, **kwargs)"
            if passes and ast.unparse(statement.args) == "*args, **kwargs":
                return statement.name
    return None
