"""Tensors that the statements of an operator fill in place, and that they do not make.

Of those that the function made before, and that nothing else holds, the operator fills copies, and the names get the copies. Of
others it gives the new elements, which are copied into the tensor behind it: who holds it sees them. Pure reading.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphmend_lsp.mending.facts.bindings import last_value, makes_tensor
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.liveness import read_after_block
from graphmend_lsp.mending.facts.own import is_own
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rules.opaque.modules import gives_new
from graphmend_lsp.mending.rules.opaque.sizes import follows_data
from graphmend_lsp.mending.rules.opaque.taken import NUMBERS, Handed
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk

_FILLING = frozenset((
    "fill_", "zero_", "copy_", "masked_fill_", "masked_scatter_", "index_fill_", "index_add_", "index_copy_", "index_put_",
    "scatter_", "scatter_add_", "add_", "sub_", "mul_", "div_", "pow_", "neg_", "abs_", "sign_", "round_", "floor_", "ceil_",
    "clamp_", "clamp_min_", "clamp_max_", "clip_", "exp_", "log_", "sqrt_", "sigmoid_", "tanh_", "relu_", "lerp_", "addcmul_",
    "addcdiv_", "logical_and_", "logical_or_", "logical_not_", "logical_xor_", "bitwise_and_", "bitwise_or_", "bitwise_not_",
))  # fmt: skip
"""Methods that store elements, which leaves a tensor's shape, dtype and place in memory."""


def carried(source: Source, statements: Sequence[ast.stmt]) -> tuple[str, ...]:
    """The names of tensors that statements fill by an index or change by ``+=``, do not bind, and alone hold."""
    return tuple(
        name
        for name in _filled(statements)
        if is_own(source, name, statements[0]) and read_after_block(source, statements[-1], name)
    )


def changed(source: Source, statements: Sequence[ast.stmt]) -> tuple[str, ...]:
    """The names of local values that statements fill so, do not bind, and that others may hold."""
    function = source.function(statements[0])
    own = local_names(function) if function is not None else frozenset[str]()
    return tuple(name for name in _filled(statements) if name in own and not is_own(source, name, statements[0]))


def _filled(statements: Sequence[ast.stmt]) -> list[str]:
    """The names of what statements fill by an index, a method or ``+=``, and do not bind, nor functions inside."""
    nodes = [one for statement in statements for one in walk(statement)]
    filled = {name for one in nodes for name in changed_by(one)}
    bound = {name for statement in statements for name in _bound(statement)}
    for one in nodes:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bound |= local_names(one)
        elif isinstance(one, ast.Lambda):
            bound |= parameters(one)
    return sorted(
        name for name in filled - bound if all(_is_filling(one) for part in statements for one in _changes(part, name))
    )


def overlapping(
    source: Source, filled: Sequence[Handed], taken: Sequence[Handed], statements: Sequence[ast.stmt]
) -> str:
    """A caution where an operator takes what may be a part of a tensor that it fills, and would not see it change; "" for none.

    What a layer gives is no part of what it got, unless a hook gives that back: so it counts as one only where the statements
    read it after they have begun to fill.

    Raises:
        Refused: where it surely is one.
    """
    at = statements[0]
    for one in filled:
        is_of_layer = is_own(source, one.name, at, _is_new)
        for other in taken:
            if other is one or other.annotation in NUMBERS:
                continue
            if is_of_layer and not _reads_behind(source, statements, one.name, other.text):
                continue
            if one.fact is not None and other.fact is not None and not {*one.fact.dtypes} & {*other.fact.dtypes}:
                for each in (one, other):  # views of a tensor have its dtype
                    if each.node is not None and each.fact is not None:
                        Seen(source).believe(each.node, f"a tensor of {' or '.join(each.fact.dtypes)}")
                continue
            if is_own(source, other.name, at):
                continue
            if (value := last_value(source, other.name, at)) is not None and makes_tensor(source, value):
                continue
            common = _made_of(source, one.name, at) & _made_of(source, other.name, at)
            if common or (one.node and other.node and Seen(source).share_storage(one.node, other.node)):
                raise Refused(f"`{other.text}` may be a part of `{one.name}`, which the statements change.")
            return f"`{other.text}` may share memory with `{one.name}`, which changes; compiled, `{other.text}` stays as it was."
    return ""


def _is_new(source: Source, value: ast.expr) -> bool:
    """Whether a value is a new tensor, also one that a layer of torch gives, where no hook gives another."""
    return makes_tensor(source, value) or (isinstance(value, ast.Call) and gives_new(source, value.func))


def _reads_behind(source: Source, statements: Sequence[ast.stmt], filled: str, text: str) -> bool:
    """Whether statements may read `text` while they fill a tensor or behind that: anywhere in a loop, else in or behind the first
    statement that fills, but for what that computes before it stores it."""
    nodes = [one for statement in statements for one in walk(statement)]
    filling = [source.statement(one) for one in nodes if filled in changed_by(one)]
    first = min((one for one in filling if one is not None), key=source.range, default=None)
    if first is None or any(isinstance(one, (ast.For, ast.AsyncFor, ast.While)) for one in nodes):
        return True
    computes = isinstance(first, ast.Assign) and _is_new(source, first.value)
    start = source.range(first)[1 if computes else 0]
    reads = [one for one in nodes if isinstance(one, ast.expr) and source.code(one) == text]
    return any(source.range(one)[0] >= start for one in reads)


def unsized(source: Source, statements: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that statements bind to what has another size for other data."""
    return frozenset(
        name
        for statement in statements
        if isinstance(statement, ast.Assign) and follows_data(source, [statement]) is not None
        for name in assigned(statement)
    )


def _made_of(source: Source, name: str, at: ast.stmt) -> set[str]:
    """A local name, and those of the function's others that its value may be a view of."""
    function = source.function(at)
    own = local_names(function) - {"self"} if function is not None else frozenset[str]()
    found, rest = {name}, [name]
    while rest:
        value = last_value(source, rest.pop(), at)
        if value is None or makes_tensor(source, value):
            continue
        more = {one.id for one in walk(value) if isinstance(one, ast.Name)} & own - found
        found |= more
        rest += sorted(more)
    return found


def _changes(statement: ast.stmt, name: str) -> list[ast.AST]:
    return [one for one in walk(statement) if name in changed_by(one)]


def _bound(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement binds by more than a change in place."""
    changed = [one.target for one in walk(statement) if isinstance(one, ast.AugAssign)]
    names = [one for one in walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    in_place = {one.id for one in changed if isinstance(one, ast.Name)}
    other = {one.id for one in names if not any(one is each for each in changed)}
    return assigned(statement) - (in_place - other)


def _is_filling(node: ast.AST) -> bool:
    """Whether a change stores elements, which leaves a tensor's shape, dtype and place in memory; ``@=`` makes another tensor."""
    if isinstance(node, ast.Call):
        if not (isinstance(node.func, ast.Attribute) and node.func.attr in _FILLING):
            return False
        filled = node.func.value
        while isinstance(filled, ast.Subscript):
            filled = filled.value
        return isinstance(filled, ast.Name)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return not isinstance(node.op, ast.MatMult)
    part: ast.AST = node.target if isinstance(node, ast.AugAssign) else node
    if not (isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)):
        return False
    while isinstance(part, ast.Subscript):
        part = part.value
    return isinstance(part, ast.Name)
