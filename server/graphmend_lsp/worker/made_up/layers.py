"""What a module's first layers take: shape and kind of an input, found from the layer that its `forward` gives it to."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

from .names import LENGTH, ROWS, SIDE
from .values import Drawn

_DEPTH = 4


def taken_by_layers(module: Any, name: str, function: Any = None, depth: int = 0) -> Drawn | None:
    """What the layers of `module` say of the argument `name` of its `forward` (or of another `function` of it)."""
    if depth > _DEPTH:
        return None
    if function is None and (told := taken_by(module)) is not None:
        return told
    method = function if function is not None else getattr(type(module), "forward", None)
    for part, keyword, position in _given_to(method, name, module):
        told = taken_by(part)
        if told is not None:
            return told
        inner = _parameter(part, keyword, position)
        if inner is not None and (told := taken_by_layers(part, inner, None, depth + 1)) is not None:
            return told
    return None


def first_layer(module: Any) -> Drawn | None:
    """What the first layer takes that says anything, in the order in which the layers were made."""
    return next((told for part in module.modules() if (told := taken_by(part)) is not None), None)


def taken_by(layer: Any) -> Drawn | None:
    """What one of torch's own layers takes; None for others, and for those that take anything."""
    import torch

    nn = torch.nn
    if isinstance(layer, (nn.Linear, nn.Bilinear)):
        return Drawn("normal", (ROWS, layer.in_features if isinstance(layer, nn.Linear) else layer.in1_features))
    if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
        return Drawn("ids", (ROWS, LENGTH), layer.num_embeddings)
    for rank, kinds in enumerate(
        ((nn.Conv1d, nn.ConvTranspose1d), (nn.Conv2d, nn.ConvTranspose2d), (nn.Conv3d, nn.ConvTranspose3d))
    ):
        if isinstance(layer, kinds):
            side = max(SIDE if rank < 2 else 8, *(int(size) for size in layer.kernel_size))
            return Drawn("normal", (ROWS, layer.in_channels, *([side] * (rank + 1))))
    if isinstance(layer, nn.RNNBase):
        return Drawn("normal", (ROWS, LENGTH, layer.input_size))
    if isinstance(layer, nn.RNNCellBase):
        return Drawn("normal", (ROWS, layer.input_size))
    if isinstance(layer, (nn.MultiheadAttention,)):
        return Drawn("normal", (ROWS, LENGTH, layer.embed_dim))
    if isinstance(layer, (nn.LayerNorm, nn.RMSNorm)):
        return Drawn("normal", (ROWS, LENGTH, *layer.normalized_shape))
    for rank, kind in enumerate((nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
        if isinstance(layer, kind):
            return Drawn("normal", (ROWS, layer.num_features, *([LENGTH] * rank)))
    if isinstance(layer, nn.GroupNorm):
        return Drawn("normal", (ROWS, layer.num_channels, LENGTH, LENGTH))
    return None


def _given_to(method: Any, name: str, module: Any) -> Iterator[tuple[Any, str | None, int]]:
    """The parts of the module that the method calls with the argument, each with the keyword or position it goes to.

    What the argument is first put through elementwise (``x = x.view(...)``) is not followed: the error will tell.
    """
    tree = _tree(method)
    if tree is None:
        return
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for node in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        part = _part(node.func, module)
        if part is None:
            continue
        for position, argument in enumerate(node.args):
            if _is_named(argument, name):
                yield part, None, position
        for keyword in node.keywords:
            if keyword.arg is not None and _is_named(keyword.value, name):
                yield part, keyword.arg, -1


def _is_named(node: ast.expr, name: str) -> bool:
    """``name``, or an item of a dictionary under that key."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return bool(node.slice.value == name)
    return isinstance(node, ast.Name) and node.id == name


def _part(node: ast.expr, module: Any) -> Any:
    """The layer that ``self.a.b`` or ``self.a[0]`` is; the first of a container."""
    import torch

    if isinstance(node, ast.Subscript):
        found = _part(node.value, module)
        if isinstance(found, torch.nn.ModuleDict) and isinstance(node.slice, ast.Constant):
            return dict(found.items()).get(str(node.slice.value))
        return found
    if not isinstance(node, ast.Attribute):
        return None
    owner = module if isinstance(node.value, ast.Name) and node.value.id == "self" else _part(node.value, module)
    found = getattr(owner, node.attr, None) if owner is not None else None
    if isinstance(found, (torch.nn.ModuleList, torch.nn.Sequential)):
        return found[0] if len(found) else None
    return found if isinstance(found, torch.nn.Module) else None


def _parameter(part: Any, keyword: str | None, position: int) -> str | None:
    if keyword is not None:
        return keyword
    names = [one for one in inspect.signature(type(part).forward).parameters if one != "self"]
    return names[position] if 0 <= position < len(names) else None


def _tree(method: Any) -> ast.AST | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(method))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
