"""One iteration of a loop that only data ends: which names it carries to the next one, and what it may hold.

Pure reading of `Source`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import defaults_to_none, is_bound, last_value
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.liveness import read_after
from graphmend_lsp.mending.facts.operators import names_that
from graphmend_lsp.mending.facts.purity import TENSOR_METHODS, hazards
from graphmend_lsp.mending.facts.region import Region, alias, assigned_in, calls_own, nodes_of, reads_first
from graphmend_lsp.mending.syntax.endings import leaving, sets
from graphmend_lsp.mending.syntax.formatting import first_line, render
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, loaded
from graphmend_lsp.mending.syntax.walk import walk

_KEPT = ("same", "promoted", "argument", "unknown", "float32")
_TRANSPOSED = frozenset(("t", "T", "mT", "transpose", "permute", "swapaxes", "swapdims", "movedim", "moveaxis"))
_CONVERTED = names_that(lambda one: one.form == "elementwise" and one.alias == "maybe" and one.dtype not in _KEPT)
_WITHOUT_HISTORY = names_that(lambda one: one.gives == "tensor" and not (one.carries_gradient or one.effect))
_JOINED = frozenset(("cat", "concat", "concatenate", "hstack", "vstack", "stack", "repeat_interleave"))


@dataclass(frozen=True, slots=True)
class Counter:
    """A Python number that an iteration only counts: its `name`, the `step` that counts it, and what it is after a step."""

    name: str
    step: ast.stmt
    following: str


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration. `body` is what it computes, without the step of the `counter`; `carried` are the names it hands on.

    `given_copies` are those of them that an iteration may leave on a tensor that there is already, `taken_copies` those that
    another name may hold before the loop; `calls_modules` is that of `cond_sides.Sides`.
    """

    body: tuple[ast.stmt, ...]
    carried: tuple[str, ...]
    given_copies: frozenset[str]
    taken_copies: frozenset[str]
    calls_modules: bool
    counter: Counter | None


def iteration_of(source: Source, kinds: Kinds, loop: ast.While, counter: Counter | None) -> Iteration:
    """The iteration of a loop.

    Raises:
        Refused: with the reason, for what ``torch.while_loop`` cannot hold.
    """
    if loop.orelse:
        raise Refused("The loop has an `else`; put its statements after the loop.")
    for one in loop.body:
        for left in leaving(one):
            word = type(left).__name__.lower()
            raise Refused(f"`{word}` leaves an iteration; say in the loop's test when it ends.")
    body = tuple(one for one in loop.body if counter is None or one is not counter.step)
    carried = _carried(source, loop, body)
    for name in carried:
        _refuse_python(source, kinds, loop, body, name)
    region = Region(source, kinds, "an iteration", "torch.while_loop", "may draw others when compiled")
    for one in body:
        region.refuse_statement(one, body)
    for part in (loop.test, *body):
        _refuse_methods(source, part)
    for name in carried:
        _refuse_name(source, kinds, loop, body, name)
    copies = frozenset(name for name in carried if not _is_new(source, body, name, carried))
    return Iteration(
        body,
        carried,
        copies,
        frozenset(name for name in carried if other_names(source, loop, name) is not None),
        any(calls_own(source, one) for one in (*body, loop.test)),
        counter,
    )


def step_of(source: Source, loop: ast.While, name: str) -> Counter:
    """The counter with that name, which the test reads and one statement of the body counts.

    Raises:
        Refused: when it is used for more than to count.
    """
    (step,) = (one for one in loop.body if name in assigned_in([one]))
    assert isinstance(step, ast.AugAssign)  # which is what `counter_of` finds
    following = f"{name} {'+' if isinstance(step.op, ast.Add) else '-'} {render(source, step.value)}"
    others = [one for one in loop.body if one is not step]
    if any(name in loaded(one) for one in others) or read_after(source, loop, name):
        raise Refused(
            f"`{name}` is a Python number, and is read for more than the loop's end; start it as a tensor, and count with "
            f"`{name} = {name} + 1`."
        )
    if not others or step not in (loop.body[0], loop.body[-1]):
        raise Refused(f"`{first_line(source, step)}` stands between other statements; put it at the end of the loop.")
    return Counter(name, step, following)


def refuse_floats(source: Source, loop: ast.While, own: frozenset[str]) -> Iterator[str]:
    """What to caution of: parameters with a default that are Python floats and that the loop reads.

    Raises:
        Refused: for one that each call gives.
    """
    function = source.function(loop)
    if function is None:
        return
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults))
    pairs = [*zip(positional, [*defaults, *a.defaults], strict=True), *zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    read = frozenset(name for one in (loop.test, *loop.body) for name in loaded(one)) - own
    for argument, default in pairs:
        words = source.code(argument.annotation) if argument.annotation is not None else ""
        number = isinstance(default, ast.Constant) and isinstance(default.value, float)
        if argument.arg not in read or not (number or ("float" in words and "Tensor" not in words)):
            continue
        if default is None:
            raise Refused(
                f"`{argument.arg}` is a Python float, and `torch.compile` raises for a loop in which it is another one "
                "than before; make it a constant or an attribute of the module."
            )
        yield f"`{argument.arg}` must be the same number in every call: `torch.compile` raises for another number."


def other_names(source: Source, loop: ast.While, name: str) -> list[str] | None:
    """The names that may hold the same tensor before the loop, as far as they are known; None when there are none."""
    function = source.function(loop)
    assert function is not None
    inside = {id(node) for node in walk(loop)}
    found: list[str] = []
    shared = False
    for one in walk(function):
        if not isinstance(one, (ast.Assign, ast.AnnAssign)) or id(one) in inside or one.value is None:
            continue
        targets = one.targets if isinstance(one, ast.Assign) else [one.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        roots = [root for value in _values(one.value) if (root := _root(value))]
        if name in names:
            shared |= len(names) > 1 or any(alias(value) for value in _values(one.value))
            found += [each for each in (*names, *roots) if each != name]
        elif name in roots:
            shared = True
            found += names
        elif name in assigned_in([one]):
            shared = True  # one of several values of a call
    return found if shared else None


def may_ask(source: Source, loop: ast.While, name: str) -> bool:
    """Whether a name may hold, before the loop, a tensor that asks for gradients although the loop itself has none.

    A loop without an iteration gives that tensor, of which ``torch.while_loop`` gives a copy without a history.
    """
    start = last_value(source, name, loop)
    if start is None or any(alias(value) for value in _values(start)):
        return True
    asks = isinstance(start, ast.Call) and any(one.arg in (None, "requires_grad") for one in start.keywords)
    if isinstance(start, ast.Call) and _last_operation(start) in _WITHOUT_HISTORY and not asks:
        return False
    return any(isinstance(one, ast.With) for one in source.ancestors(loop))  # gradients may be on in front of it


def _carried(source: Source, loop: ast.While, body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """The names that a later iteration, the loop's test or what stands behind the loop reads, in the order of the text."""
    own = assigned_in(body)
    function = source.function(loop)
    for node in walk(function or loop):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and set(node.names) & own:
            raise Refused(
                f"`{first_line(source, node)}`: an iteration of `torch.while_loop` cannot set what is not local."
            )
    test = loaded(loop.test)
    found = {
        node.id: None
        for node in sorted((one for one in nodes_of(body) if isinstance(one, ast.Name)), key=source.range)
        if isinstance(node.ctx, ast.Store)
        and (node.id in test or reads_first(body, node.id) or read_after(source, loop, node.id))
    }
    if not found:
        raise Refused("An iteration changes nothing that the loop's test or the code after it reads.")
    if not test & frozenset(found):
        raise Refused("An iteration changes nothing that the loop's test reads.")
    return tuple(found)


def _refuse_python(source: Source, kinds: Kinds, loop: ast.While, body: Sequence[ast.stmt], name: str) -> None:
    """Refuse a carried name that is surely a Python value before the loop."""
    start = last_value(source, name, loop)
    if isinstance(start, ast.Constant) or kinds.of(_node(body, name)) == "python":
        number = start.value if isinstance(start, ast.Constant) and type(start.value) is int else None
        words = f"; start it as a tensor (`{name} = torch.tensor({number})`), and count with `{name} = {name} + 1`"
        raise Refused(
            f"`{name}` is a Python value; `torch.while_loop` carries tensors only{words if number is not None else ''}."
        )


def _node(body: Sequence[ast.stmt], name: str) -> ast.Name:
    return next(one for one in nodes_of(body) if isinstance(one, ast.Name) and one.id == name)


def _refuse_name(source: Source, kinds: Kinds, loop: ast.While, body: Sequence[ast.stmt], name: str) -> None:
    if not is_bound(source, name, loop):
        raise Refused(f"`{name}` may have no value before the loop; give it one.")
    if defaults_to_none(source, name, loop) and last_value(source, name, loop) is None:
        raise Refused(f"`{name}` may be None before the loop; test that first.")
    if kinds.of(_node(body, name)) == "unknown" and not _is_tested(kinds, loop, name):
        raise Refused(f"GraphMend cannot tell whether `{name}` is a tensor; `torch.while_loop` carries tensors only.")
    start = last_value(source, name, loop)
    for value in _given(body, name):
        last = _last_operation(value)
        if value is None:
            continue
        if last in _TRANSPOSED:
            raise Refused(f"`{render(source, value)}` has other strides than before; `torch.while_loop` keeps them.")
        if last in _CONVERTED and (start is None or _last_operation(start) != last):
            raise Refused(f"`{render(source, value)}` may have another dtype than before; convert it before the loop.")
        if last in _JOINED and name in loaded(value):
            raise Refused(f"`{name}` grows in every iteration; `torch.while_loop` carries tensors of one shape.")


def _is_tested(kinds: Kinds, loop: ast.While, name: str) -> bool:
    """Whether a part of the loop's test that is a tensor comes of that name and of constants alone, by arithmetic."""
    parts = loop.test.values if isinstance(loop.test, ast.BoolOp) else [loop.test]
    plain = (ast.Compare, ast.BinOp, ast.UnaryOp, ast.Call, ast.Attribute, ast.Name, ast.Constant, ast.operator)
    return any(
        kinds.of(part) == "tensor"
        and loaded(part) - {"torch"} == {name}
        and all(isinstance(one, (*plain, ast.unaryop, ast.cmpop, ast.expr_context)) for one in walk(part))
        and all(
            isinstance(one.func, ast.Attribute) and one.func.attr in TENSOR_METHODS
            for one in walk(part)
            if isinstance(one, ast.Call)
        )
        for part in parts
    )


def _refuse_methods(source: Source, part: ast.AST) -> None:
    """Refuse calls of the class's own methods that draw random numbers or store something."""
    owner = source.owner(part)
    methods = {one.name: one for one in owner.body if isinstance(one, ast.FunctionDef)} if owner is not None else {}
    for call in walk(part):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in methods):
            continue
        if not (isinstance(call.func.value, ast.Name) and call.func.value.id == "self"):
            continue
        for node in nodes_of(methods[call.func.attr].body):
            stores = isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
            draws = isinstance(node, ast.Call) and any(
                one.kind == "random" and one.node is node for one in hazards(source, node)
            )
            if stores or draws:
                what = "stores something" if stores else "draws random numbers"
                raise Refused(
                    f"`{render(source, call)}` {what}: `{first_line(source, node)}`; an iteration of `torch.while_loop` may "
                    "only compute."
                )


def _is_new(source: Source, body: Sequence[ast.stmt], name: str, carried: Sequence[str]) -> bool:
    """Whether an iteration leaves in a name a tensor of its own, which no other carried name holds and none held before."""
    if name not in frozenset(each for one in body for each in sets(source, one)):
        return False
    for value in _given(body, name):
        if not isinstance(value, ast.Name):
            if value is None or any(alias(one) for one in _values(value)):
                return False
        elif not _hands_over(source, body, value.id, name, carried):
            return False
    return True


def _hands_over(source: Source, body: Sequence[ast.stmt], local: str, name: str, carried: Sequence[str]) -> bool:
    """Whether a name of one iteration holds a tensor of that iteration, of which nothing but `name` is made the holder."""
    if local in carried or local not in frozenset(each for one in body for each in sets(source, one)):
        return False
    if any(value is None or any(alias(one) for one in _values(value)) for value in _given(body, local)):
        return False
    return not any(
        isinstance(one, ast.Assign)
        and any(_root(value) == local for value in _values(one.value))
        and any(each != name for each in assigned_in([one]))
        for one in nodes_of(body)
    )


def _given(body: Sequence[ast.stmt], name: str) -> Iterator[ast.expr | None]:
    """The values that an iteration gives a name; None for one that is not written: a part of a call's, a loop's variable."""
    for one in nodes_of(body):
        if isinstance(one, (ast.Assign, ast.AnnAssign)) and name in assigned_in([one]):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id == name:
                    yield one.value
                elif isinstance(target, (ast.Tuple, ast.List)):
                    yield from _parts(target, one.value, name)
        elif isinstance(one, ast.For) and name in assigned_in([ast.Assign([one.target], one.iter)]):
            yield None


def _parts(target: ast.Tuple | ast.List, value: ast.expr | None, name: str) -> Iterator[ast.expr | None]:
    for index, part in enumerate(target.elts):
        if isinstance(part, ast.Name) and part.id == name:
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                yield value.elts[index]
            else:
                yield value if isinstance(value, ast.Call) else None


def _values(value: ast.expr) -> Iterator[ast.expr]:
    """What an expression may be: both sides of a conditional expression, the parts of a tuple."""
    if isinstance(value, ast.IfExp):
        yield from (*_values(value.body), *_values(value.orelse))
    elif isinstance(value, ast.BoolOp):
        yield from (part for one in value.values for part in _values(one))
    elif isinstance(value, (ast.Tuple, ast.List)):
        yield from (part for one in value.elts for part in _values(one))
    else:
        yield value


def _root(value: ast.expr) -> str:
    """The name whose tensor, or a view of it, an expression is; "" for none."""
    one: ast.expr = value
    while alias(one) and not isinstance(one, ast.Name):
        if isinstance(one, ast.Call):
            assert isinstance(one.func, ast.Attribute)
            of_torch = isinstance(one.func.value, ast.Name) and one.func.value.id == "torch"
            one = one.args[0] if of_torch and one.args else one.func.value
        else:
            assert isinstance(one, (ast.Attribute, ast.Subscript))
            one = one.value
    return one.id if isinstance(one, ast.Name) else ""


def _last_operation(value: ast.expr | None) -> str:
    """The name of the operation that gives a value: the last one of a chain of methods."""
    function = value.func if isinstance(value, ast.Call) else value
    return function.attr if isinstance(function, ast.Attribute) else ""
