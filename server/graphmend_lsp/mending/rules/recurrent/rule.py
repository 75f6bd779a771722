"""A recurrent layer of torch stays in the graph: as one operator, which runs the library's own kernels.

What it does
------------
``self.lstm(x)`` becomes ``recurrent(lambda: self.lstm, x)``, in each place of the function where a recurrent layer is called.
In compiled code that is one operator of the layer's inputs and weights. Uncompiled it is the call as it was. Where the input is
packed right in front (`pack_padded_sequence`) and its result padded right behind, the operator does that, too. A statement
``self.lstm.flatten_parameters()`` stays for uncompiled code.

Why it costs
------------
TorchDynamo leaves `nn.LSTM`, `nn.GRU` and `nn.RNN` to the library's own kernels and ends its graph where it meets one. In a
loop, it leaves the whole function to Python.

Safety
------
The operator calls the layer itself, with the same weights, so that values and gradients are the layer's own. It knows the
shapes of the results from the layer's sizes. The graph breaks as before where more happens than computing: dropout in
training, hooks, autocast, a subclass. The backward pass runs the layer again, which costs time in training.
`flatten_parameters` changes no value, but where the weights lie in GPU memory.

When it is refused
------------------
For an expression that does more than find the layer, for other arguments than an input and a state, for a packed sequence that
is used for more, and where the function also uses the layer otherwise (``self.lstm.hidden_size``), which ends the graph, too.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rules.recurrent import RULE
from graphmend_lsp.mending.rules.recurrent.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.rules.recurrent.packed import Packed, layer_beside, packed_by
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import goes_over_lines, line_limit, render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.mending.syntax.wrapping import layout
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_LAYERS = frozenset(f"torch.nn.modules.rnn.{one}" for one in ("RNN", "GRU", "LSTM"))


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The call of a recurrent layer as an operator; empty when the break is at no such call."""
    source, function = place.source, place.function
    call = None if function is None else _call_of(source, place)
    if function is None or call is None:
        return ()
    others = [one for one in walk(function) if isinstance(one, ast.Call) and _is_another(source, one, call)]
    calls = [call, *others]
    for one in calls:
        _refuse_call(source, one)
    layers = {render(source, one.func) for one in calls}
    moving = [one for one in walk(function) if _moves_weights(source, one, layers)]
    _refuse_other_uses(source, function, layers, moving)
    found_by = [packed_by(source, function, one) for one in calls]
    packed = [one for one in found_by if one is not None]
    wanted = [
        "recurrent",
        *(["pack_padded"] if packed else []),
        *(["pad_packed"] if any(one.pad for one in packed) else []),
    ]
    found = supported(source, function, *wanted)
    if found is None:
        raise Refused("The file cannot import the support module, which has the operator.")
    several = len(calls) > 1
    compiling, added = spell(source, "torch.compiler.is_compiling", function) if moving else ("", None)
    guarded = [
        edits.replace(source, one, one, [f"if not {compiling}():", source.indent + render(source, one.value)])
        for one in moving
        if isinstance(one, ast.Expr)
    ]
    return (
        Mend(
            rule=RULE.name,
            title=f"Run the recurrent layer{'s' * several} as {'operators' if several else 'one operator'} in the graph",
            path=source.path,
            span=source.span(call),
            edits=(
                *([] if added is None else [added]),
                *found[1],
                *guarded,
                *_edits(source, calls, packed, found[0]),
            ),
            changes=(
                f"The layer{'s run' if several else ' runs'} uncompiled, as {'operators' if several else 'one operator'} of "
                f"the library's own kernels; the backward pass runs {'them' if several else 'it'} again.",
                *(
                    f"Compiled code leaves out {_code(source, one)}, which only moves weights in GPU memory."
                    for one in moving
                ),
            ),
            inductor=True,
        ),
    )


def _call_of(source: Source, place: Place) -> ast.Call | None:
    """The call of a layer that a break is at, or that takes or gives the packed sequence that it is at."""
    node = place.node
    if "GB0014" not in place.gb_ids:
        beside = layer_beside(source, node)
        packed = (
            packed_by(source, place.function, beside) if place.function is not None and beside is not None else None
        )
        return beside if packed is not None and node in (packed.pack, packed.pad) else None
    parent = source.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return parent
    statement = source.statement(node)
    if place.function is not None and isinstance(node, ast.expr) and statement is not None:
        text = render(source, node)
        if _moves_weights(source, statement, {text}):
            calls = (one for one in walk(place.function) if isinstance(one, ast.Call))
            return next((one for one in calls if render(source, one.func) == text), None)
    return node if isinstance(node, ast.Call) else None


def _moves_weights(source: Source, statement: ast.AST, layers: Collection[str]) -> bool:
    """Whether that is the statement ``self.lstm.flatten_parameters()`` of one of the layers."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.args or call.keywords or not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr == "flatten_parameters" and render(source, call.func.value) in layers


def _code(source: Source, statement: ast.AST) -> str:
    return f"`{source.code(statement)}`"


def _is_another(source: Source, node: ast.Call, call: ast.Call) -> bool:
    """Whether it is another call of the layer, or of one that was a recurrent layer every time."""
    if node is call:
        return False
    fact = Seen(source).of(node.func)
    known = fact is not None and fact.kinds == ("module",) and bool(fact.classes) and _LAYERS.issuperset(fact.classes)
    return known or render(source, node.func) == render(source, call.func)


def _refuse_call(source: Source, call: ast.Call) -> None:
    """Refuse a call that a function of the layer and its arguments cannot stand for.

    Raises:
        Refused: with the reason.
    """
    text = render(source, call)
    if not _only_finds(call.func):
        raise Refused(f"`{render(source, call.func)}` does more than find a layer; give the layer a name first.")
    named = [one.arg for one in call.keywords]
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    if starred or not call.args or len(call.args) + len(named) > 2 or any(one != "hx" for one in named):
        raise Refused(f"`{text}` is called with more than an input and a state.")
    statement = source.statement(call)
    if statement is None:
        raise Refused(f"`{text}` stands in no statement.")
    if edits.comments(source, *source.range(call)) or goes_over_lines(source, call):
        raise Refused("There are comments, or a text over several lines, inside the call; move them above it first.")


def _only_finds(node: ast.expr) -> bool:
    """Whether an expression reads names, attributes and items alone."""
    if isinstance(node, ast.Attribute):
        return _only_finds(node.value)
    if isinstance(node, ast.Subscript):
        return _only_finds(node.value) and isinstance(node.slice, (ast.Constant, ast.Name))
    return isinstance(node, ast.Name)


def _refuse_other_uses(source: Source, function: Function, layers: Collection[str], moving: Sequence[ast.AST]) -> None:
    """Refuse layers that the function also uses otherwise than by calling them: the graph ends there, too.

    Raises:
        Refused: with the use.
    """
    known = {one for each in moving for one in walk(each)}
    for one in walk(function):
        if not isinstance(one, (ast.Attribute, ast.Name, ast.Subscript)) or not isinstance(one.ctx, ast.Load):
            continue
        parent = source.parents.get(one)
        if one in known or (isinstance(parent, ast.Call) and parent.func is one) or render(source, one) not in layers:
            continue
        around = source.parents.get(parent) if isinstance(parent, ast.Attribute) else None
        used = around if isinstance(around, ast.Call) else parent if isinstance(parent, ast.Attribute) else one
        raise Refused(
            f"`{render(source, used)}` also uses the layer, and ends the graph as well; do it outside of the compiled "
            "function, or keep what it reads as an attribute of the module."
        )


def _edits(
    source: Source, calls: Sequence[ast.Call], packed: Sequence[Packed], names: Mapping[str, str]
) -> list[TextEdit]:
    """The calls as those of the support module's functions, statement by statement."""
    texts: dict[ast.AST, str] = {}
    for each in packed:
        texts[each.pack.func] = names["pack_padded"]
        if each.pad is not None:
            texts[each.pad.func] = names["pad_packed"]
    for one in sorted(calls, key=lambda each: -sum(1 for _ in source.ancestors(each))):  # those inside of others first
        given = [render(source, each, texts) for each in one.args]
        given += [f"{each.arg}={render(source, each.value, texts)}" for each in one.keywords]
        texts[one] = f"{names['recurrent']}({', '.join([f'lambda: {render(source, one.func)}', *given])})"
    outer = [one for one in texts if not any(each in texts for each in source.ancestors(one))]
    found = []
    for statement in dict.fromkeys(source.statement(one) for one in outer):
        assert statement is not None
        inside = {one: texts[one] for one in outer if source.statement(one) is statement}
        base = source.indentation(statement)
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)):
            lines = layout(base + render(source, statement, inside), source.indent, line_limit(source))
            found.append(edits.replace(source, statement, statement, [one.removeprefix(base) for one in lines]))
        else:
            found += [edits.rewrite(source, one, text) for one, text in inside.items() if isinstance(one, ast.expr)]
    return found
