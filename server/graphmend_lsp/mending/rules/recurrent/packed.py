"""Packed sequences around the call of a recurrent layer: packed right in front, and padded right behind. Pure reading."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned
from graphmend_lsp.mending.syntax.walk import walk

PACK = "torch.nn.utils.rnn.pack_padded_sequence"
PAD = "torch.nn.utils.rnn.pad_packed_sequence"
_TAKES = {PACK: ("input", "lengths", "batch_first", "enforce_sorted"), PAD: ("sequence", "batch_first")}


@dataclass(frozen=True)
class Packed:
    """The call that packs what a layer takes, and that which pads what it gives; None where nothing reads that."""

    pack: ast.Call
    pad: ast.Call | None


def layer_beside(source: Source, node: ast.AST) -> ast.Call | None:
    """The call of a layer beside a call that packs or pads; None for anything else."""
    if not isinstance(node, ast.Call) or (name := dotted(source, node.func)) not in _TAKES:
        return None
    parent = source.parents.get(node)
    if name == PACK and isinstance(parent, ast.Call) and node in parent.args[:1]:
        return parent
    statement = source.statement(node)
    if statement is None:
        return None
    block = source.block(statement)
    at = block.index(statement) + (1 if name == PACK else -1)
    return _called(block[at]) if 0 <= at < len(block) else None


def packed_by(source: Source, function: Function, call: ast.Call) -> Packed | None:
    """What packs the input of a layer and pads its result; None where the input is not packed right in front.

    Raises:
        Refused: for a packed sequence that the function uses for more.
    """
    statement = source.statement(call)
    assert statement is not None
    block = source.block(statement)
    at = block.index(statement)
    given = call.args[0]
    before = block[at - 1] if at > 0 else None
    if isinstance(given, ast.Name) and isinstance(before, ast.Assign) and assigned(before) == {given.id}:
        pack = before.value
    else:
        pack, before = given, None
    if not isinstance(pack, ast.Call) or dotted(source, pack.func) != PACK:
        return None
    behind = block[at + 1] if at + 1 < len(block) else None
    result = _first_result(statement, call)
    plain = (
        behind if isinstance(behind, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)) else None
    )  # it runs as a whole
    pad = None if plain is None else next((one for one in walk(plain) if _pads(source, one, result)), None)
    following = [statement, *([behind] if behind is not None else [])]
    if isinstance(given, ast.Name) and before is not None:
        _refuse_more(source, function, given, before, following)
    if pad is None:
        end = source.range(statement)[1]
        loads = _loads(function, result)
        behind_it = [one for one in loads if source.range(one)[0] >= end or _is_read_later(source, function, one)]
        if result != "_" and (behind_it or _is_in_loop(source, statement)):
            raise Refused(
                f"`{result}` holds a packed sequence that no `pad_packed_sequence` reads in the next statement."
            )
    elif isinstance(pad, ast.Call) and isinstance(pad.args[0], ast.Name):
        _refuse_more(source, function, pad.args[0], statement, following[1:])
    for one in (pack, pad):
        if isinstance(one, ast.Call):
            _refuse_arguments(source, one)
    return Packed(pack, pad if isinstance(pad, ast.Call) else None)


def _called(statement: ast.stmt) -> ast.Call | None:
    """The call whose value a statement binds to several names."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return value if isinstance(value, ast.Call) and value.args else None


def _first_result(statement: ast.stmt, call: ast.Call) -> str:
    """The name to which a statement binds the output of a layer."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if (
        isinstance(target, ast.Tuple)
        and isinstance(target.elts[0], ast.Name)
        and getattr(statement, "value", None) is call
    ):
        return target.elts[0].id
    raise Refused(
        "The output of the layer, a packed sequence, has no name; unpack it as in `y, state = self.lstm(packed)`."
    )


def _pads(source: Source, node: ast.AST, name: str) -> bool:
    """Whether a node is the call that pads the output of that name."""
    if not isinstance(node, ast.Call) or dotted(source, node.func) != PAD or not node.args:
        return False
    return isinstance(node.args[0], ast.Name) and node.args[0].id == name


def _refuse_more(
    source: Source, function: Function, used: ast.Name, made: ast.stmt, following: Sequence[ast.stmt]
) -> None:
    """Refuse a packed sequence that is read by more than `used`; `following` are the statements behind that which makes it.

    Raises:
        Refused: with the name.
    """
    seen = set(walk(made))  # what it reads by that name is another value
    for one in following:
        seen |= {each for each in walk(one) if each is not used and not isinstance(each, ast.Name)} | {used}
        if any(each not in seen for each in _loads(one, used.id)):
            raise Refused(f"`{used.id}` holds a packed sequence and is used for more than the layer.")
        if isinstance(one, ast.Assign) and used.id in assigned(one):
            return
    others = [one for one in _loads(function, used.id) if one not in seen]
    late = [
        one for one in others if source.range(one)[0] >= source.range(made)[1] or _is_read_later(source, function, one)
    ]
    if late or (others and _is_in_loop(source, made)):
        raise Refused(f"`{used.id}` holds a packed sequence and is used for more than the layer.")


def _loads(node: ast.AST, name: str) -> list[ast.Name]:
    return [one for one in walk(node) if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)]


def _is_read_later(source: Source, function: Function, name: ast.Name) -> bool:
    """Whether a name stands in a function inside of the function, which may be called at any time."""
    if source.function(name) is not function:
        return True
    return any(isinstance(one, ast.Lambda) for one in source.ancestors(name))


def _is_in_loop(source: Source, statement: ast.stmt) -> bool:
    return any(isinstance(one, (ast.For, ast.AsyncFor, ast.While)) for one in source.ancestors(statement))


def _refuse_arguments(source: Source, call: ast.Call) -> None:
    """Refuse what packs or pads in a way that the operator does not know.

    Raises:
        Refused: with the call.
    """
    takes = _TAKES[dotted(source, call.func) or ""]
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    if starred or len(call.args) > len(takes) or any(one.arg not in takes for one in call.keywords):
        raise Refused(f"`{render(source, call)}` packs or pads in a way that the operator does not know.")
