"""Branches of the where rule: statements of both sides, lowered to stores whose values `torch.where` chooses.

A branch is a list of items in program order. `merge` pairs the items of both sides; what only one side stores keeps
its old value on the other. The order of the merged items must give each side exactly the values it had.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graphmend_lsp.mending.kinds import Kinds
from graphmend_lsp.mending.purity import TENSOR_METHODS
from graphmend_lsp.mending.source import Source, assigned, loaded, parameters
from graphmend_lsp.mending.where_condition import Conditions, Refused, Test
from graphmend_lsp.mending.where_text import render
from graphmend_lsp.mending.where_values import (
    Choice,
    Leaf,
    Made,
    Old,
    Value,
    differing_arguments,
    refuse_conversion,
    refuse_hazards,
    refuse_value,
)  # fmt: skip

_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One step of a branch. `reads` and `writes` are names and ``self.name``s.

    `lines` are statements that stand as they are (set-up), `call` is a call made for its effect, `values` are what is
    returned (`returns`) or stored in `key`; `test` marks where a condition gets its name if it needs one, `chosen` is
    the condition of the pairs of arguments of a call. `moved` says that the lines only move a tensor to a device.
    """

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    lines: tuple[str, ...] = ()
    key: str = ""
    values: tuple[Value, ...] = ()
    returns: bool = False
    call: ast.Call | None = None
    pairs: tuple[tuple[ast.expr, ast.expr], ...] = ()
    test: Test | None = None
    chosen: Test | None = None
    comments: tuple[str, ...] = ()
    moved: bool = False


@dataclass(slots=True)
class Lowering:
    """Lowers statements. `comments` are the comments of each statement; `tests` collects the conditions met."""

    source: Source
    kinds: Kinds
    conditions: Conditions
    root: ast.stmt
    fresh: Callable[[str], str]
    comments: Mapping[ast.stmt, tuple[str, ...]] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)

    def block(self, statements: Sequence[ast.stmt]) -> list[Item]:
        """The items of a block.

        Raises:
            Refused: for a statement that cannot run on both sides.
        """
        items: list[Item] = []
        for statement in statements:
            if items and items[-1].returns:
                break
            items += self._statement(statement, statements)
        return items

    def _statement(self, one: ast.stmt, block: Sequence[ast.stmt]) -> Iterator[Item]:
        notes = self.comments.get(one, ())
        if isinstance(one, ast.Assign) and len(one.targets) == 1:
            yield from self._assign(one, one.targets[0], one.value, block, notes)
        elif isinstance(one, ast.AnnAssign) and one.value is not None:
            yield from self._assign(one, one.target, one.value, block, notes)
        elif isinstance(one, ast.AugAssign):
            yield self._augmented(one, notes)
        elif isinstance(one, ast.Return):
            yield self._returned(one, notes)
        elif isinstance(one, ast.If):
            yield from self._nested(one, notes)
        elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
            yield self._called(one.value, notes)
        elif isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
            return
        else:
            raise Refused(f"A branch contains `{_first_line(self.source, one)}`, which cannot run on both sides.")

    def _assign(
        self, one: ast.stmt, target: ast.expr, value: ast.expr, block: Sequence[ast.stmt], notes: tuple[str, ...]
    ) -> Iterator[Item]:
        if isinstance(target, (ast.Tuple, ast.List)):
            yield from self._unpacked(target, value, notes)
            return
        if isinstance(target, ast.Name) and self._is_local(target.id, block):
            refuse_hazards(self.source, value, self.changes)
            yield Item(_reads(value), frozenset({target.id}), (render(self.source, one),), comments=notes)
            return
        if moved := self._moved(target, value):
            self.changes.append(f"`{moved}` is moved in every call, not only when its side is taken.")
            lines = (render(self.source, one),)
            yield Item(_reads(value), _keys(target), lines, comments=notes, moved=True)
            return
        yield self._store(target, self._value(value), _reads(value), notes)

    def _store(self, target: ast.expr, value: Value, reads: frozenset[str], notes: tuple[str, ...]) -> Item:
        if isinstance(target, ast.Name):
            return Item(reads, frozenset({target.id}), key=target.id, values=(value,), comments=notes)
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            key = render(self.source, target)
            return Item(reads | {target.value.id}, frozenset({key}), key=key, values=(value,), comments=notes)
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            if not _constant_index(target.slice):
                raise Refused(
                    f"The index of `{render(self.source, target)}` may be out of range when its side is not taken."
                )
            if self.kinds.of(target.value) != "tensor":
                raise Refused(f"`{target.value.id}` is not known to be a tensor, so its element cannot be kept.")
            key = render(self.source, target)
            writes = frozenset({target.value.id, key})
            return Item(reads | {target.value.id}, writes, key=key, values=(value,), comments=notes)
        raise Refused(f"`{render(self.source, target)}` is not stored in on both sides.")

    def choice(self, test: Test, then: ast.expr, other: ast.expr) -> Value:
        """The value of ``then if test else other``."""
        return _choice(self, test, self._value(then), self._value(other), None)

    def _value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.IfExp) and self.kinds.of(node.test) == "tensor":
            test = self.conditions.take(node.test)
            if test.static or test.setup:
                raise Refused(
                    "A condition inside the branch's value has a Python part; give it a statement of its own."
                )
            self.tests.append(test)
            return Choice(test, self._value(node.body), self._value(node.orelse))
        refuse_value(self.source, self.kinds, node, self.changes)
        return Leaf(node)

    def _unpacked(self, target: ast.Tuple | ast.List, value: ast.expr, notes: tuple[str, ...]) -> Iterator[Item]:
        names = target.elts
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(names):
            written: frozenset[str] = frozenset()
            for name, part in zip(names, value.elts, strict=True):
                if written & _reads(part):
                    raise Refused("The values of a tuple assignment use each other's targets.")
                yield self._store(name, self._value(part), _reads(part), notes)
                notes = ()
                written |= _keys(name)
            return
        if not all(isinstance(name, ast.Name) for name in names):
            raise Refused(f"`{render(self.source, target)}` is unpacked into something else than names.")
        refuse_hazards(self.source, value, self.changes)
        new = [self.fresh(f"new_{name.id}") for name in names if isinstance(name, ast.Name)]
        yield Item(_reads(value), frozenset(new), (f"{', '.join(new)} = {render(self.source, value)}",), comments=notes)
        for name, text in zip(names, new, strict=True):
            yield self._store(name, Made(text), frozenset({text}), ())

    def _augmented(self, one: ast.AugAssign, notes: tuple[str, ...]) -> Item:
        target = one.target
        key = render(self.source, target)
        refuse_hazards(self.source, one.value, self.changes)
        if isinstance(target, ast.Name) and not is_fresh(self.source, target.id, self.root):
            raise Refused(
                f"`{key}` may be known by another name, and `{_first_line(self.source, one)}` changes it in place; "
                f"write `{key} = {key} {_OPERATORS.get(type(one.op), '+')} ...`."
            )
        if isinstance(target, ast.Attribute) or type(one.op) not in _OPERATORS:
            raise Refused(f"`{_first_line(self.source, one)}` changes `{key}` in place.")
        value = Made(f"{key} {_OPERATORS[type(one.op)]} ", one.value, divides=isinstance(one.op, ast.Div))
        load = frozenset({key.split("[")[0]})
        return self._store(target, value, _reads(one.value) | load, notes)

    def _returned(self, one: ast.Return, notes: tuple[str, ...]) -> Item:
        if one.value is None:
            raise Refused("One side returns nothing.")
        parts = one.value.elts if isinstance(one.value, ast.Tuple) else [one.value]
        values = tuple(self._value(part) for part in parts)
        return Item(
            _reads(one.value), values=values, returns=True, comments=notes,
            key="," if isinstance(one.value, ast.Tuple) else "",
        )  # fmt: skip

    def _nested(self, one: ast.If, notes: tuple[str, ...]) -> Iterator[Item]:
        if lines := self._memo(one):
            yield Item(_reads(one), assigned(one) | _stored_attributes(one), lines, comments=notes)
            return
        if self.kinds.of(one.test) != "tensor":
            raise Refused(f"A branch contains a Python test, `{render(self.source, one.test)}`; test it outside first.")
        test = self.conditions.take(one.test)
        if test.static:
            raise Refused(f"The inner condition has a Python part, `{test.static}`; test it outside first.")
        self.tests.append(test)
        items = merge(self, test, self.block(one.body), self.block(one.orelse))
        yield from items

    def _memo(self, one: ast.If) -> tuple[str, ...]:
        """The lines of ``if not hasattr(self, "x"): self.x = ...``: what is made once may be made earlier."""
        test = one.test.operand if isinstance(one.test, ast.UnaryOp) and isinstance(one.test.op, ast.Not) else one.test
        name = ""
        if (
            isinstance(test, ast.Call)
            and isinstance(test.func, ast.Name)
            and test.func.id == "hasattr"
            and test is not one.test
        ):
            if len(test.args) == 2 and isinstance(test.args[1], ast.Constant) and _is_self(test.args[0]):
                name = str(test.args[1].value)
        elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is) and isinstance(test.left, ast.Attribute):
            constant = test.comparators[0]
            if _is_self(test.left.value) and isinstance(constant, ast.Constant) and constant.value is None:
                name = test.left.attr
        if not name or one.orelse or len(one.body) != 1 or not isinstance(one.body[0], ast.Assign):
            return ()
        store = one.body[0]
        if _stored_attributes(store) != {f"self.{name}"}:
            return ()
        throwaway = assigned(store)
        if any(other not in ("_", "__") and not self._is_local(other, one.body) for other in throwaway):
            return ()
        refuse_hazards(self.source, store.value, [])
        self.changes.append(f"`self.{name}` is made in the first call, also when its side is not taken.")
        return verbatim(self.source, one)

    def _moved(self, target: ast.expr, value: ast.expr) -> str:
        """``self.a`` of ``self.a = self.a.to(device)``: the same values on another device."""
        if not (isinstance(target, ast.Attribute) and _is_self(target.value) and isinstance(value, ast.Call)):
            return ""
        same = isinstance(value.func, ast.Attribute) and ast.unparse(value.func.value) == ast.unparse(target)
        if not (same and isinstance(value.func, ast.Attribute) and value.func.attr in ("to", "cuda", "cpu")):
            return ""
        device = [*value.args, *(keyword.value for keyword in value.keywords if keyword.arg == "device")]
        if len(device) > 1 or len(device) != len(value.args) + len(value.keywords):
            return ""
        if any("dtype" in ast.unparse(one) or self.kinds.of(one) == "tensor" for one in device):
            return ""
        return render(self.source, target)

    def _called(self, call: ast.Call, notes: tuple[str, ...]) -> Item:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr.endswith("_") and not function.attr.endswith("__"):
            return self._in_place(call, function, notes)
        return Item(_reads(call), _called_writes(call), call=call, comments=notes)

    def _in_place(self, call: ast.Call, function: ast.Attribute, notes: tuple[str, ...]) -> Item:
        """``y.add_(1)`` stores ``y.add(1)`` in ``y`` when nothing else is known to hold the same tensor."""
        name, method = function.value, function.attr.rstrip("_")
        if not isinstance(name, ast.Name) or method not in TENSOR_METHODS:
            raise Refused(f"`{render(self.source, call)}` changes a tensor in place.")
        if not is_fresh(self.source, name.id, self.root):
            raise Refused(
                f"`{name.id}` may be known by another name, and `{render(self.source, call)}` changes it in place."
            )
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            refuse_hazards(self.source, argument, self.changes)
        text = render(self.source, call, {function: f"{name.id}.{method}"})
        return Item(_reads(call), frozenset({name.id}), key=name.id, values=(Made(text),), comments=notes)

    def _is_local(self, name: str, block: Sequence[ast.stmt]) -> bool:
        """Whether a name is used in this branch alone."""
        function = self.source.function(self.root)
        inside = {id(node) for statement in block for node in ast.walk(statement)}
        return (
            function is not None
            and not any(
                isinstance(node, ast.Name) and node.id == name and id(node) not in inside for node in ast.walk(function)
            )
            and name not in parameters(function)
        )


def merge(lowering: Lowering, test: Test, then: Sequence[Item], other: Sequence[Item]) -> list[Item]:
    """Both sides as one list of items.

    Raises:
        Refused: when the sides do not fit together.
    """
    for first, second in ((then, other), (other, then)):
        for item in first:
            _refuse_none(lowering, item, test)
            touched = [one.reads | one.writes for one in second]
            if item.lines and any(
                keys & item.writes if item.moved else _depends(keys, item.writes) for keys in touched
            ):
                raise Refused(f"`{item.lines[0]}` would change what the other side uses.")
    for order in ((then, other), (other, then)):
        merged = _interleaved(lowering, test, order[0], order[1], swapped=order[0] is other and order[0] is not then)
        if merged is not None:
            head = [Item(frozenset(test.reads), lines=test.setup)] if test.setup else []
            return [*head, Item(frozenset(test.reads), test=test), *merged]
    raise Refused("The two sides assign the same names in orders that depend on each other.")


def _interleaved(
    lowering: Lowering, test: Test, first: Sequence[Item], second: Sequence[Item], swapped: bool
) -> list[Item] | None:
    """The items of `first` in their order, each with its partner of `second`; None when one would see a wrong value."""
    rest = list(second)
    merged: list[Item] = []
    places: dict[Item, int] = {}

    def emit(one: Item | None, partner: Item | None) -> None:
        then, other = (partner, one) if swapped else (one, partner)
        for item in (one, partner):
            if item is not None:
                places[item] = len(merged)
        merged.append(_joined(lowering, test, then, other))

    for item in first:
        partner = next((one for one in rest if _partners(item, one)), None)
        if partner is not None:
            while rest[0] is not partner:
                emit(None, rest.pop(0))
            rest.pop(0)
        emit(item, partner)
    while rest:
        emit(None, rest.pop(0))
    for branch in (first, second):
        for index, item in enumerate(branch):
            for at, definer in enumerate(branch):
                if _depends(item.reads, definer.writes):
                    wrong = (at < index and places[definer] > places[item]) or (
                        at > index and places[definer] < places[item]
                    )
                    if wrong:
                        return None
    return merged


def _depends(reads: frozenset[str], writes: frozenset[str]) -> bool:
    if reads & writes:
        return True
    own = any(key.startswith("self.") for key in writes)
    return ("self.*" in reads and own) or ("self.*" in writes and any(key.startswith("self.") for key in reads))


def _partners(one: Item, other: Item) -> bool:
    if one.returns or other.returns:
        return one.returns and other.returns
    if one.call is not None or other.call is not None:
        return one.call is not None and other.call is not None
    return bool(one.key) and one.key == other.key


def _joined(lowering: Lowering, test: Test, then: Item | None, other: Item | None) -> Item:
    one = then or other
    assert one is not None
    comments = (*(then.comments if then else ()), *(other.comments if other else ()))
    if one.lines or one.test is not None:
        return one
    if one.returns:
        if then is None or other is None:
            raise Refused("Only one side returns here.")
        if len(then.values) != len(other.values) or then.key != other.key:
            raise Refused("The two sides return different numbers of values.")
        values = tuple(_choice(lowering, test, a, b, None) for a, b in zip(then.values, other.values, strict=True))
        return Item(then.reads | other.reads, values=values, returns=True, key=one.key, comments=comments)
    if one.call is not None:
        return _joined_calls(lowering, test, then, other, comments)
    reads = frozenset(test.reads).union(*(item.reads for item in (then, other) if item), {one.key})
    if then is None or other is None:
        _refuse_unbound(lowering, one, test)
    _refuse_later_change(lowering, one.key, [item.values[0] if item else Old(one.key) for item in (then, other)])
    a = then.values[0] if then else Old(one.key)
    b = other.values[0] if other else Old(one.key)
    return Item(reads, one.writes, key=one.key, values=(_choice(lowering, test, a, b, one.key),), comments=comments)


def _joined_calls(
    lowering: Lowering, test: Test, then: Item | None, other: Item | None, comments: tuple[str, ...]
) -> Item:
    call = (then or other or Item()).call
    assert call is not None
    text = render(lowering.source, call)
    if then is None or other is None or then.call is None or other.call is None:
        raise Refused(f"`{text}` runs on one side only.")
    pairs = differing_arguments(then.call, other.call)
    if pairs is None:
        raise Refused(f"`{text}` and `{render(lowering.source, other.call)}` differ in more than tensors.")
    for node in (node for pair in pairs for node in pair):
        refuse_value(lowering.source, lowering.kinds, node, lowering.changes)
    reads = then.reads | other.reads | test.reads
    return Item(reads, then.writes, call=then.call, pairs=tuple(pairs), chosen=test, comments=comments)


def _choice(lowering: Lowering, test: Test, then: Value, other: Value, key: str | None) -> Value:
    numbers = [_literal(lowering, value) for value in (then, other)]
    if numbers[0] is not None and numbers[1] is not None:
        if key is None:
            raise Refused("Both sides return a Python number; `torch.where` would return a tensor.")
        if type(numbers[0]) is not type(numbers[1]):
            raise Refused("One side gives an int and the other a float; write both as floats.")
        _refuse_number_uses(lowering, key)
    if isinstance(then, Leaf) and isinstance(other, Leaf):
        refuse_conversion(lowering.source, lowering.kinds, then.node, other.node)
    return Choice(test, then, other)


def _literal(lowering: Lowering, value: Value) -> object | None:
    """The number that a value is, or an Old's nearest assignment gives; None when it is no plain number."""
    node = value.node if isinstance(value, Leaf) else None
    if isinstance(value, Old) and value.key.isidentifier():
        node = _last_value(lowering.source, value.key, lowering.root)
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) else None


def _refuse_number_uses(lowering: Lowering, key: str) -> None:
    """A chosen number is a tensor: it may only be used in arithmetic and as torch's argument."""
    function = lowering.source.function(lowering.root)
    inside = {id(node) for node in ast.walk(lowering.root)}
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Name) and node.id == key and isinstance(node.ctx, ast.Load) and id(node) not in inside:
            parent = lowering.source.parents.get(node)
            if not isinstance(parent, ast.BinOp) or lowering.kinds.of(parent) == "python":
                raise Refused(f"`{key}` is a Python number that is used outside tensor arithmetic.")
    if not key.isidentifier():
        raise Refused(f"`{key}` holds a Python number; `torch.where` would store a tensor in it.")


def _refuse_unbound(lowering: Lowering, item: Item, test: Test) -> None:
    """The other side keeps the old value, so there must be one that `torch.where` can choose."""
    source, key = lowering.source, item.key
    if key.startswith("self."):
        if _own_is_none(source, key[5:], lowering.root):
            raise Refused(f"`{key}` may not exist or be None when its side is not taken.")
        return
    if not key.isidentifier():
        return
    if not is_bound(source, key, lowering.root):
        raise Refused(f"`{key}` may have no value when its side is not taken; give it one before the `if`.")
    last = _last_value(source, key, lowering.root)
    if isinstance(last, ast.Constant) and not (
        isinstance(last.value, (int, float)) and not isinstance(last.value, bool)
    ):
        raise Refused(f"`{key}` is `{last.value!r}` when its side is not taken, which `torch.where` cannot choose.")
    if isinstance(last, (ast.List, ast.Dict, ast.Set, ast.Tuple)):
        raise Refused(f"`{key}` is a container when its side is not taken; `torch.where` chooses between tensors only.")
    if last is None and _defaults_to_none(source, key, lowering.root) and f"{key} is not None" not in test.static:
        raise Refused(f"`{key}` may be None when its side is not taken; test `{key} is not None` first.")


def _refuse_none(lowering: Lowering, item: Item, test: Test) -> None:
    """A parameter that may be None is used by a side that now always runs, so its use must not fail."""
    for name in sorted(item.reads - test.reads):
        checked = f"{name} is not None" in test.static or _last_value(lowering.source, name, lowering.root) is not None
        if not checked and _defaults_to_none(lowering.source, name, lowering.root):
            raise Refused(f"`{name}` may be None when its side is not taken; test `{name} is not None` first.")


def _refuse_later_change(lowering: Lowering, key: str, values: Sequence[Value]) -> None:
    """A chosen tensor is a new one: what changes it in place later would no longer reach the tensor it was before."""
    source, root = lowering.source, lowering.root
    shared = [
        (isinstance(value, Old) and not is_fresh(source, key, root))
        or (isinstance(value, Leaf) and isinstance(value.node, (ast.Name, ast.Attribute, ast.Subscript)))
        for value in values
    ]
    where = source.owner(root) if key.startswith("self.") else source.function(root)
    if not any(shared) or where is None or "[" in key:
        return
    inside = {id(node) for node in ast.walk(root)}
    for node in ast.walk(where):
        if id(node) in inside:
            continue
        changed: ast.AST | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            changed = node.func.value if not node.func.attr.endswith("__") else None
        elif isinstance(node, ast.AugAssign):
            changed = node.target
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            changed = node.value
        if changed is not None and ast.unparse(changed) == key:
            line = _first_line(source, node)
            raise Refused(f"`{line}` changes `{key}` in place, and it may be known by another name.")


def is_bound(source: Source, name: str, before: ast.stmt) -> bool:
    """Whether a name surely has a value when `before` starts: a parameter, or assigned on the way there."""
    function = source.function(before)
    if function is None:
        return False
    if name in parameters(function):
        return True
    one: ast.AST = before
    while one is not function:
        if isinstance(one, ast.stmt):
            block = source.block(one)
            for statement in block[: block.index(one)]:
                if not isinstance(statement, (ast.For, ast.While, ast.Try)) and name in _surely_assigned(statement):
                    return True
        one = source.parents[one]
        if isinstance(one, (ast.For, ast.With)) and name in assigned(
            one.target
            if isinstance(one, ast.For)
            else ast.Module(
                body=[ast.Expr(item.optional_vars) for item in one.items if item.optional_vars], type_ignores=[]
            )
        ):
            return True
    return False


def is_fresh(source: Source, name: str, before: ast.stmt) -> bool:
    """Whether a name surely holds a tensor that nothing else holds: an operation made it, and it gets no other name."""
    function = source.function(before)
    last = _last_value(source, name, before)
    if function is None or name in parameters(function) or last is None:
        return False
    made = isinstance(last, ast.BinOp) or (
        isinstance(last, ast.Call) and isinstance(last.func, ast.Attribute) and last.func.attr in _NEW_TENSOR
    )
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            parent = source.parents.get(node)
            if isinstance(parent, (ast.Assign, ast.Tuple, ast.List, ast.Dict, ast.Lambda, ast.AnnAssign)):
                return False  # it gets another name
            if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
                return False  # a view of it does
            if isinstance(parent, ast.Attribute) and parent.attr in _VIEWS:
                return False
            if isinstance(parent, ast.Call) and getattr(parent.func, "attr", "") in _KEEPERS:
                return False
    return made


_VIEWS = frozenset((
    "view", "reshape", "transpose", "permute", "T", "mT", "expand", "squeeze", "unsqueeze", "detach", "data", "flatten",
    "chunk", "split", "unbind", "narrow", "select", "diagonal", "t", "swapaxes", "movedim", "view_as",
    "expand_as", "real",
))  # fmt: skip
_KEEPERS = frozenset(("append", "extend", "add", "insert", "setdefault", "update", "register_buffer", "setattr"))
_NEW_TENSOR = frozenset((
    "clone", "sin", "cos", "exp", "abs", "sqrt", "relu", "sigmoid", "tanh", "softmax", "matmul", "sum", "mean",
    "zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "add", "sub", "mul", "div", "neg",
    "log", "clamp", "cumsum", "cat", "stack", "repeat", "where", "masked_fill", "new_zeros", "new_ones",
    "new_full",
))  # fmt: skip


def verbatim(source: Source, statement: ast.stmt) -> tuple[str, ...]:
    """The lines of a statement as written, without its own indentation.

    Raises:
        Refused: when a string goes over lines, whose white space must not move.
    """
    if any(
        node.lineno != node.end_lineno
        for node in ast.walk(statement)
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ):  # fmt: skip
        raise Refused("A string over several lines stands in a part that would move.")
    indent = source.indentation(statement)
    first, *rest = source.code(statement).replace("\r\n", "\n").split("\n")
    return (first, *(line.removeprefix(indent) for line in rest))


def _reads(node: ast.AST) -> frozenset[str]:
    found = set(loaded(node))
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load) and isinstance(one.value, ast.Name):
            found.add(f"{one.value.id}.{one.attr}")
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and _is_self(one.func.value):
            found |= set() if one.func.attr == "register_buffer" else {"self.*"}
    return frozenset(found)


def _called_writes(call: ast.Call) -> frozenset[str]:
    """What a call made for its effect may store in ``self``: anything, or the buffer that it registers."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "register_buffer" and call.args:
        name = call.args[0]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return frozenset({f"self.{name.value}"})
    return frozenset({"self.*"})


def _keys(target: ast.expr) -> frozenset[str]:
    return frozenset(
        one.id if isinstance(one, ast.Name) else ast.unparse(one)
        for one in ast.walk(target)
        if isinstance(one, (ast.Name, ast.Attribute)) and isinstance(one.ctx, ast.Store)
    )


def _stored_attributes(node: ast.AST) -> frozenset[str]:
    return frozenset(
        ast.unparse(one) for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
    )


def _surely_assigned(statement: ast.stmt) -> frozenset[str]:
    if isinstance(statement, ast.If):
        sides = [
            frozenset(name for one in block for name in _surely_assigned(one))
            for block in (statement.body, statement.orelse)
            if not (block and isinstance(block[-1], (ast.Return, ast.Raise)))
        ]
        return frozenset.intersection(*sides) if sides else frozenset()
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return frozenset(name for one in statement.body for name in _surely_assigned(one))
    return assigned(statement)


def _last_value(source: Source, name: str, before: ast.stmt) -> ast.expr | None:
    """The value of the nearest plain assignment of a name on the way to `before`; None when something else sets it."""
    one: ast.AST = before
    while not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
        if isinstance(one, ast.stmt):
            block = source.block(one)
            for statement in reversed(block[: block.index(one)]):
                if name in assigned(statement):
                    plain = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
                    return statement.value if plain and isinstance(statement, ast.Assign) else None
        one = source.parents[one]
    return None


def _defaults_to_none(source: Source, name: str, before: ast.stmt) -> bool:
    function = source.function(before)
    if function is None:
        return False
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    pairs = [*zip(positional[len(positional) - len(a.defaults) :], a.defaults, strict=True)]
    pairs += [(arg, default) for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True) if default is not None]
    for one in source.ancestors(before):
        if isinstance(one, ast.If) and f"{name} is not None" in ast.unparse(one.test):
            return False
    return any(
        arg.arg == name and isinstance(default, ast.Constant) and default.value is None for arg, default in pairs
    )


def _own_is_none(source: Source, name: str, at: ast.stmt) -> bool:
    """Whether the class gives ``self.name`` no value at all or None."""
    owner = source.owner(at)
    values: list[ast.expr | None] = []
    for node in ast.walk(owner) if owner is not None else ():
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == f"self.{name}" for target in node.targets):
            inside = source.statement(node) is at or at in source.ancestors(node)
            values += [] if inside else [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) > 1:
            first = node.args[0]
            if node.func.attr.startswith("register_") and isinstance(first, ast.Constant) and first.value == name:
                values.append(node.args[1])
    return not values or any(isinstance(value, ast.Constant) and value.value is None for value in values)


def _constant_index(index: ast.AST) -> bool:
    return not any(isinstance(node, (ast.Name, ast.Call, ast.Attribute)) for node in ast.walk(index))


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _first_line(source: Source, node: ast.AST) -> str:
    lines = source.code(node).splitlines()
    return lines[0] + (" ..." if len(lines) > 1 else "")
