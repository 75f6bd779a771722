"""The expression of a read in the words of the function's caller: parameters as arguments, names as their values.

No rule's knowledge enters here.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.rules.caller.call import Call
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk

Known = dict[str, ast.expr | None]
"""The names that are bound in front of a read, with their values; None for a parameter that may keep what it was given."""


def read_in(source: Source, statement: ast.Assign, name: str, call: Call) -> str:
    """The text of a statement's value for the caller, in front of the call.

    Raises:
        Refused: when the caller cannot compute it, or what stands in front of the read does more than name values.
    """
    if name in parameters(call.callee):
        raise Refused(f"`{name}` is a parameter of `{call.callee.name}` already.")
    if not source.starts_line(statement) or edits.comments(source, *source.range(statement)):
        raise Refused("The read shares its lines with a comment or another statement.")
    known: Known = {}
    for one in call.callee.body[: call.callee.body.index(statement)]:
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            continue
        if (other := _optional(source, one)) is not None:
            known[other] = None
            continue
        target = one.targets[0] if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
        if not isinstance(one, ast.Assign) or not isinstance(target, ast.Name) or hazards(source, one.value):
            raise Refused(f"Line {one.lineno} comes before the read and does more than name a value.")
        if target.id in known or target.id in parameters(call.callee):
            raise Refused(f"Line {one.lineno} binds `{target.id}` again before the read.")
        known[target.id] = one.value
    for hazard in hazards(source, statement.value):
        raise Refused(f"`{render(source, hazard.node)}` {hazard.words}.")
    return _text(source, statement.value, known, call)


def _text(source: Source, node: ast.expr, known: Known, call: Call) -> str:
    exchange: dict[ast.AST, str] = {}
    for one in walk(node):
        if isinstance(one, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            raise Refused(f"`{render(source, one)}` has its own names.")
        if isinstance(one, ast.Name):
            exchange[one] = _word(source, one, known, call)
    if isinstance(node, ast.Name):
        return exchange[node]
    return render(source, node, exchange)


def _optional(source: Source, statement: ast.stmt) -> str | None:
    """The parameter that ``if name is None: name = value`` gives a value, None for other statements."""
    if not isinstance(statement, ast.If) or len(statement.body) != 1 or statement.orelse:
        return None
    one = statement.body[0]
    name = one.targets[0] if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
    if not isinstance(name, ast.Name) or ast.unparse(statement.test) != f"{name.id} is None":
        return None
    return name.id if isinstance(one, ast.Assign) and not hazards(source, one.value) else None


def _word(source: Source, one: ast.Name, known: Known, call: Call) -> str:
    """What stands for a name of the callee in the caller."""
    if one.id in known:
        value = known[one.id]
        if value is None:
            raise Refused(f"`{one.id}` gets another value before the read where it is None.")
        return operand(_text(source, value, known, call))
    if one.id in parameters(call.callee):
        given = call.arguments.get(one.id)
        if given is None:
            raise Refused(f"`{one.id}` is not an argument of the call, so the caller does not have it.")
        if not isinstance(given, (ast.Name, ast.Constant)):
            raise Refused(f"`{one.id}` is given as `{render(source, given)}`; give it a name before the call.")
        return render(source, given)
    scopes = [call.callee, call.caller, *source.ancestors(call.caller)]
    if any(isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.id in local_names(up) for up in scopes):
        raise Refused(f"`{one.id}` is another name in `{call.caller.name}`.")
    return one.id
