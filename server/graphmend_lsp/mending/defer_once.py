"""Messages that are said only once anyway: said while Dynamo traces, through a helper under `assume_constant_result`.

One local edit and one helper a file; measured: no break, also in inlined functions, loops and `try`, also under
backends that remove dead code (facts: a call with constant arguments is evaluated once for each compilation). Knows
nothing of moving effects.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.defer_effects import Effect, is_static
from graphmend_lsp.mending.edits import rewrite
from graphmend_lsp.mending.imports import add_function, spell
from graphmend_lsp.mending.source import Source, local_names
from graphmend_lsp.model import TextEdit

_TARGET = "torch.compiler.assume_constant_result"
_DOC = '    """Say a message that is said only once: at trace time, where it breaks no graph."""'


def once(source: Source, effect: Effect) -> tuple[str, tuple[TextEdit, ...], tuple[str, ...]] | str | None:
    """The title, edits and changes of the mend; or why it cannot be; None when the message is not one said once."""
    if not (effect.once or effect.kind == "warn"):
        return None
    receiver = effect.call.func
    root: ast.expr = receiver
    while isinstance(root, ast.Attribute):
        root = root.value
    function = source.function(effect.statement)
    if not isinstance(root, ast.Name) or (function is not None and root.id in local_names(function)):
        return (
            f"`{source.code(receiver)}` is not reached from a module-level name, which a helper at module level needs."
        )
    for value in (*effect.call.args, *(keyword.value for keyword in effect.call.keywords)):
        if isinstance(value, ast.Starred) or not is_static(source, value):
            return f"`{source.code(value)}` may hold a tensor; only a message of constants can be said while tracing."
    if any(keyword.arg is None for keyword in effect.call.keywords):
        return "The call passes **keywords whose values are not known; write them out."
    name = _existing(source, receiver)
    edits: list[TextEdit] = []
    if name is None:
        name = source.fresh("_" + source.code(receiver).replace(".", "_").strip("_"))
        decorator, added = spell(source, _TARGET, source.tree)
        edits += [added] if added else []
        call = f"    {source.code(receiver)}(*args, **kwargs)"
        edits.append(add_function(source, [f"@{decorator}", f"def {name}(*args, **kwargs):", _DOC, call]))
    edits.append(rewrite(source, receiver, name))
    return f"say {effect.label} while tracing", tuple(edits), _changes(effect)


def _changes(effect: Effect) -> tuple[str, ...]:
    if effect.kind == "log":
        return ("The message is logged while the graph is traced; the record's function name is the helper's.",)
    return (
        "The warning is given once for each compilation, from the helper's line: the text is the same with the default "
        "filter; with `-W always` it no longer comes on every call.",
    )


def _existing(source: Source, receiver: ast.expr) -> str | None:
    """The helper of an earlier mend for the same callee."""
    for statement in source.tree.body:
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
