"""Both sides of a condition as one list of steps: what one side stores is paired with what the other stores.

What only one side stores keeps its old value on the other. The order of the merged items gives each side the values it had.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from graphmend_lsp.mending.facts.bindings import KEEPERS, defaults_to_none, is_bound, is_fresh, last_value, own_is_none
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.shared import aliased, changed_later
from graphmend_lsp.mending.facts.static_loops import is_in_range
from graphmend_lsp.mending.lowering.choice_values import (
    Choice,
    Leaf,
    Old,
    Same,
    Tree,
    Value,
    Writer,
    differing_arguments,
    refuse_conversion,
    refuse_value,
)
from graphmend_lsp.mending.lowering.conditions import Test
from graphmend_lsp.mending.lowering.numbers import Numbers, dtype_assumed, plain_numbers
from graphmend_lsp.mending.lowering.trees import held_item, leaves, opened, ordered_as, over_each, tree_of
from graphmend_lsp.mending.syntax.formatting import first_line, render
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One step of a branch. `reads` and `writes` are names and ``self.name``s.

    `lines` are statements that stand as they are (set-up), `call` is a call made for its effect, `values` are what is
    returned (`returns`) or stored in `key`; `test` marks where a condition gets its name if it needs one, `pairs` are the
    arguments of the call that are chosen, each with its value. `moved` says that the lines only move a tensor to a device,
    `in_place` that the value is written into the tensor that `key` holds, which others may hold too; `element` is the target
    when it is an item of a tensor or of a container.
    """

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    lines: tuple[str, ...] = ()
    key: str = ""
    values: tuple[Value, ...] = ()
    returns: bool = False
    call: ast.Call | None = None
    pairs: tuple[tuple[ast.expr, Value], ...] = ()
    test: Test | None = None
    comments: tuple[str, ...] = ()
    moved: bool = False
    in_place: bool = False
    element: ast.Subscript | None = None


class Spot(Protocol):
    """The file, and the statement that is mended."""

    source: Source
    kinds: Kinds
    root: ast.stmt
    changes: list[str]


class Setting(Spot, Protocol):
    """What merging must know of the place, and what it takes for granted."""

    assumes: list[Assumption]


def merge(setting: Setting, test: Test, then: Sequence[Item], other: Sequence[Item]) -> list[Item]:
    """Both sides as one list of items.

    Raises:
        Refused: when the sides do not fit together.
    """
    for first, second in ((then, other), (other, then)):
        for item in first:
            _refuse_none(setting, item, test)
            touched = [one.reads | one.writes for one in second]
            if item.lines and any(
                keys & item.writes if item.moved else _depends(keys, item.writes) for keys in touched
            ):
                raise Refused(f"`{item.lines[0]}` would change what the other side uses.")
    for order in ((then, other), (other, then)):
        merged = _interleaved(setting, test, order[0], order[1], swapped=order[0] is other and order[0] is not then)
        if merged is not None:
            head = [Item(frozenset(test.reads), lines=test.setup)] if test.setup else []
            return [*head, Item(frozenset(test.reads), test=test), *merged]
    raise Refused("The two sides assign the same names in orders that depend on each other.")


def _interleaved(
    setting: Setting, test: Test, first: Sequence[Item], second: Sequence[Item], swapped: bool
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
        merged.append(_joined(setting, test, then, other))

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


def _joined(setting: Setting, test: Test, then: Item | None, other: Item | None) -> Item:
    one = then or other
    assert one is not None
    comments = tuple(dict.fromkeys((*(then.comments if then else ()), *(other.comments if other else ()))))
    if one.lines or one.test is not None:
        return one
    if one.returns:
        if then is None or other is None:
            raise Refused("Only one side returns here.")
        if len(then.values) != len(other.values) or then.key != other.key:
            raise Refused("The two sides return different numbers of values.")
        values = tuple(choose(setting, test, a, b, None) for a, b in zip(then.values, other.values, strict=True))
        return Item(then.reads | other.reads, values=values, returns=True, key=one.key, comments=comments)
    if one.call is not None:
        return _joined_calls(setting, test, then, other, comments)
    reads = frozenset(test.reads).union(*(item.reads for item in (then, other) if item), {one.key})
    if then is None or other is None:
        refuse_unbound(setting, one, test)
    in_place = one.in_place
    if then is not None and other is not None and then.in_place != other.in_place:
        raise Refused(f"One side changes `{one.key}` in place and the other puts another tensor in it.")
    if not in_place and not (one.element is not None and setting.kinds.of(one.element.value) == "tensor"):
        refuse_later_change(setting, one.key, [item.values[0] if item else Old(one.key) for item in (then, other)])
    if not in_place and (then is None or other is None):
        setting.assumes += _kept(setting, one.key)
    a = then.values[0] if then else Old(one.key)
    b = other.values[0] if other else Old(one.key)
    value = choose(setting, test, a, b, one.key)
    if one.element is not None:
        refuse_mixed_element(setting, one.element, a, b)
    return Item(
        reads, one.writes, key=one.key, values=(value,), comments=comments, in_place=in_place, element=one.element
    )


def _kept(setting: Setting, key: str) -> list[Assumption]:
    """What is taken for granted where one side keeps what a target holds: a new tensor takes its place in every call."""
    places = ((setting.source.path, setting.source.span(setting.root)),)
    if key.startswith("self."):
        words = f"nothing else holds the tensor in `{key}`, which every call replaces"
        return [Assumption("shared-buffer", words, places)]
    if "[" in key or is_fresh(setting.source, key, setting.root):
        return []
    return [Assumption("identity", places=places)]


def _joined_calls(
    setting: Setting, test: Test, then: Item | None, other: Item | None, comments: tuple[str, ...]
) -> Item:
    call = (then or other or Item()).call
    assert call is not None
    text = render(setting.source, call)
    if then is None or other is None or then.call is None or other.call is None:
        raise Refused(f"`{text}` runs on one side only.")
    if differing_arguments(then.call, other.call) is None:
        raise Refused(f"`{text}` and `{render(setting.source, other.call)}` differ in more than tensors.")
    pairs: list[tuple[ast.expr, Value]] = []
    for one, two in zip(_arguments(then.call), _arguments(other.call), strict=True):
        a, b = dict(then.pairs).get(one), dict(other.pairs).get(two)
        if a is None and b is None and ast.dump(one) == ast.dump(two):
            continue
        a, b = a or _argument(setting, one), b or _argument(setting, two)
        if isinstance(call.func, ast.Attribute) and call.func.attr in KEEPERS:
            refuse_later_change(setting, ast.unparse(call.func.value), [a, b])
        pairs.append((one, choose(setting, test, a, b, None)))
    reads = then.reads | other.reads | test.reads
    return Item(reads, then.writes, call=then.call, pairs=tuple(pairs), comments=comments)


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _argument(setting: Setting, node: ast.expr) -> Value:
    """An argument in which two calls differ: a tensor, or a container of tensors."""
    tree = tree_of(setting.source, node, lambda part: _argument(setting, part))
    if tree is not None:
        return tree
    refuse_value(setting.source, setting.kinds, node, setting.changes)
    return Leaf(node)


def choose(setting: Setting, test: Test, then: Value, other: Value, key: str | None) -> Value:
    """The value that the test chooses for `key` (None: it is not stored)."""
    if any(isinstance(value, (Tree, Same)) for value in (then, other)):
        return _choose_tree(setting, test, then, other)
    end = ""
    sides = [_numbers(setting, value) for value in (then, other)]
    if None not in sides:
        if key is None:
            raise Refused("Both sides return a Python number; `torch.where` would return a tensor.")
        chosen = [number for side in sides for number in side or ()]
        numbers = Numbers(setting.source, setting.kinds, chosen, rewrites=False)
        _refuse_number_uses(setting, numbers, key)
        setting.assumes += dtype_assumed(setting.source, numbers)
        end = "".join(dict.fromkeys(numbers.end(node) for node in test.nodes))
    if isinstance(then, Leaf) and isinstance(other, Leaf):
        refuse_conversion(setting.source, setting.kinds, then.node, other.node)
    return Choice(test, then, other, end)


def _choose_tree(setting: Setting, test: Test, then: Value, other: Value) -> Value:
    """Containers chosen leaf by leaf; what is no tensor must be the same on both sides."""
    if isinstance(then, Same) and isinstance(other, Same) and then.text == other.text:
        return then
    sides = (then, other)
    like = next((value for value in sides if isinstance(value, Tree)), None)
    words = " and ".join(f"`{_words(setting, value)}`" for value in sides)
    if like is None or any(isinstance(value, Same) for value in sides):
        raise Refused(f"The sides give {words}; `torch.where` would turn a Python value into a tensor.")
    first, second = (value if isinstance(value, Tree) else _opened(setting, value, like) for value in sides)
    partner = ordered_as(second, first.fields) if first is not None and second is not None else None
    if first is None or partner is None:
        raise Refused(f"The sides give {words}, which are not known to be containers of one structure.")
    if (each := over_each(first)) is not None and each[0] in test.reads:
        raise Refused(
            f"`{each[0]}` is the variable of a comprehension, and the condition reads it; rename one of them."
        )
    parts = tuple(choose(setting, test, a, b, None) for a, b in zip(first.parts, partner.parts, strict=True))
    return Tree(first.fields, first.pieces, parts)


def _opened(setting: Setting, value: Value, like: Tree) -> Tree | None:
    """A name's container as the tree that it holds."""
    if isinstance(value, Old):
        return opened(setting.source, value.key, like, setting.root)
    if isinstance(value, Leaf) and isinstance(value.node, ast.Name):
        return opened(setting.source, value.node.id, like, setting.root)
    return None


def _words(setting: Setting, value: Value) -> str:
    """A value as the user wrote it."""
    if isinstance(value, Leaf):
        return render(setting.source, value.node)
    if isinstance(value, Old):
        return value.key
    return Writer(setting.source, setting.kinds, "torch.where").text(value)


def refuse_mixed_element(setting: Setting, element: ast.Subscript, then: Value, other: Value) -> None:
    """An item of what may be a list or a dict must be a tensor on both sides, or it would become one.

    Raises:
        Refused: where one side surely stores a number.
    """
    if setting.kinds.of(element.value) == "tensor":
        return
    if any(isinstance(value, Leaf) and plain_numbers(value.node) is not None for value in (then, other)):
        raise Refused(f"`{render(setting.source, element)}` is a Python number on one side; it would become a tensor.")


def _refuse_unbound_element(setting: Setting, element: ast.Subscript) -> None:
    """What only one side stores in must hold a tensor already: an element of a tensor, or of a container made here."""
    source, text = setting.source, render(setting.source, element)
    if setting.kinds.of(element.value) == "tensor":
        constant = not any(isinstance(one, (ast.Name, ast.Call, ast.Attribute)) for one in walk(element.slice))
        if not (constant or is_in_range(source, element)):
            raise Refused(f"The index of `{text}` may be out of range when its side is not taken.")
        return
    held = held_item(source, element, setting.root)
    if held is None:
        raise Refused(f"`{text}` may not exist when its side is not taken: what holds it is no tensor that is known.")
    if setting.kinds.of(held) != "tensor" or setting.kinds.of(element) != "tensor":
        raise Refused(f"`{text}` is not known to be a tensor when its side is not taken.")


def _numbers(setting: Setting, value: Value) -> list[ast.expr] | None:
    """The numbers that a value is one of, or an Old's nearest assignment gives; None when it may be something else."""
    if isinstance(value, Choice):
        sides = [_numbers(setting, one) for one in (value.then, value.other)]
        return None if None in sides else [number for side in sides for number in side or ()]
    node = value.node if isinstance(value, Leaf) else None
    if isinstance(value, Old) and value.key.isidentifier():
        node = last_value(setting.source, value.key, setting.root)
    return plain_numbers(node) if node is not None else None


def _refuse_number_uses(setting: Setting, numbers: Numbers, key: str) -> None:
    """A chosen number is a tensor: it may only be used where that gives the same dtype and bits."""
    if not key.isidentifier():
        raise Refused(f"`{key}` holds a Python number; `torch.where` would store a tensor in it.")
    function = setting.source.function(setting.root)
    inside = {id(node) for node in walk(setting.root)}
    uses = [
        node
        for node in (walk(function) if function is not None else ())
        if isinstance(node, ast.Name) and node.id == key and isinstance(node.ctx, ast.Load) and id(node) not in inside
    ]
    for use, text in numbers.refuse_uses(uses).items():
        raise Refused(f"Line {use.lineno}: `{key}` must be `{text}`; write `{key} = ... if ... else ...`.")


def refuse_unbound(setting: Setting, item: Item, test: Test) -> None:
    """The other side keeps the old value, so there must be one that `torch.where` can choose."""
    source, key = setting.source, item.key
    if item.element is not None:
        _refuse_unbound_element(setting, item.element)
        return
    if key.startswith("self."):
        if own_is_none(source, key[5:], setting.root):
            raise Refused(f"`{key}` may not exist or be None when its side is not taken.")
        return
    if not key.isidentifier():
        return
    if not is_bound(source, key, setting.root):
        raise Refused(f"`{key}` may have no value when its side is not taken; give it one before the `if`.")
    last = last_value(source, key, setting.root)
    if isinstance(last, ast.Constant) and not (
        isinstance(last.value, (int, float)) and not isinstance(last.value, bool)
    ):
        raise Refused(f"`{key}` is `{last.value!r}` when its side is not taken, which `torch.where` cannot choose.")
    if isinstance(last, (ast.List, ast.Dict, ast.Set, ast.Tuple)) and not isinstance(item.values[0], Tree):
        raise Refused(f"`{key}` is a container when its side is not taken; `torch.where` chooses between tensors only.")
    if last is None and defaults_to_none(source, key, setting.root) and f"{key} is not None" not in test.static:
        raise Refused(f"`{key}` may be None when its side is not taken; test `{key} is not None` first.")


def _refuse_none(setting: Setting, item: Item, test: Test) -> None:
    """A parameter that may be None is used by a side that now always runs, so its use must not fail."""
    for name in sorted(item.reads - test.reads):
        checked = f"{name} is not None" in test.static or last_value(setting.source, name, setting.root) is not None
        if not checked and defaults_to_none(setting.source, name, setting.root):
            raise Refused(f"`{name}` may be None when its side is not taken; test `{name} is not None` first.")


def refuse_later_change(setting: Spot, key: str, values: Sequence[Value]) -> None:
    """A chosen tensor is a new one: what changes it in place later would no longer reach the tensor it was before."""
    source, root = setting.source, setting.root
    shared = [leaf for value in values for leaf in leaves(value) if _is_shared(source, key, leaf, root)]
    if not shared:
        return
    names = aliased(source, ast.parse(key, mode="eval").body) if key else set()
    for leaf in shared:
        names |= (
            aliased(source, leaf.node) if isinstance(leaf, Leaf) else {leaf.key} if isinstance(leaf, Old) else set()
        )
    changed = changed_later(source, frozenset(names), root, setting.kinds)
    if changed is not None:
        line, name = first_line(source, changed[0]), changed[1]
        raise Refused(f"`{line}` changes `{name}` in place, and it may have another name.")


def _is_shared(source: Source, key: str, value: Value, root: ast.stmt) -> bool:
    """Whether a leaf is a tensor that something else may hold too."""
    if isinstance(value, Old):
        return not (value.key == key and key.isidentifier() and is_fresh(source, key, root))
    return isinstance(value, Leaf) and bool(aliased(source, value.node))
