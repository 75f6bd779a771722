"""What the results of an operator look like, as text of tensors made of what it takes: from the shapes that a run saw.

A guess where shapes agree by chance; the verdict tries other shapes, and the operator compares what it gives.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rules.opaque.layouts import is_laid_out_anew
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.values import TensorFact, ValueFact

Size = tuple[str, int]
"""A tensor's name and one of its axes."""
ANY_SIZE = "any_size()"
"""The text of a size that values decide."""

_COUNTING = (
    "arange", "nonzero", "argwhere", "argmax", "argmin", "argsort", "bincount", "searchsorted", "randperm", "long", "tensor",
)  # fmt: skip
"""What makes a tensor of int64, whatever it is given."""
_FEW = 4  # beside a larger size that no tensor has, one up to this is a number of things side by side: coordinates, say


def like(
    source: Source,
    taken: Mapping[str, TensorFact],
    result: tuple[str, ValueFact | None],
    statements: Sequence[ast.stmt],
    *,
    is_open: bool,
) -> str:
    """The text of a tensor like a result, made of what the operator takes. `is_open`: values may decide its sizes.

    Raises:
        Refused: when no run shows what the result is like.
    """
    text, fact = result
    if fact is None or not fact.is_tensor or fact.tensor is None:
        raise Refused(f"No run shows which shape `{text}` has.")
    tensor = fact.tensor
    if len(tensor.dtypes) != 1 or len(tensor.ranks) != 1 or len(tensor.devices) != 1 or tensor.layouts != ("strided",):
        raise Refused(f"`{text}` is not the same kind of tensor in every call.")
    Seen(source).believe(_shown(source, statements, text), f"a tensor of {tensor.ranks[0]} dimensions")
    here = {name: one for name, one in taken.items() if one.devices == tensor.devices}
    counted = _counted(source, statements)
    found = _made_like(text, tensor, here, is_open, _is_said(statements, tensor.dtypes[0]), counted)
    if found in here and tensor.ranks[0] > 1 and is_laid_out_anew(source, statements, text):
        return f"{found}.new_empty({found}.shape)"
    return found


def rows_as(source: Source, statements: Sequence[ast.stmt], name: str, tensors: Collection[str]) -> str | None:
    """The text of a tensor like the numbers of chosen elements, ``name = torch.where(c)[0]``; None for anything else.

    They have one dimension and are int64 whatever the condition is. `tensors` are the names that the statements take: the
    condition reads one of them and nothing else, so that its device is theirs.
    """
    made = [one for one in statements if isinstance(one, ast.Assign) and name in assigned(one)]
    others = {each for one in statements if one not in made for each in assigned(one)}
    if len(made) != 1 or name in others or not isinstance(made[0].targets[0], ast.Name) or len(made[0].targets) != 1:
        return None
    match made[0].value:
        case ast.Subscript(value=ast.Call(func=called, args=[condition], keywords=[]), slice=ast.Constant()):
            names = [one for one in walk(condition) if isinstance(one, ast.Name)]
            read = {one.id for one in names if not (dotted(source, one) or "").startswith("torch")}
            if dotted(source, called) == "torch.where" and len(read) == 1 and read <= {*tensors} - others:
                return f"{read.pop()}.new_empty(({ANY_SIZE},), dtype=torch.int64)"
    return None


def _is_said(statements: Sequence[ast.stmt], dtype: str) -> bool:
    """Whether statements make tensors of that integer dtype, whatever they take: they name it, or count."""
    saying = {dtype, *_COUNTING} if dtype == "int64" else {dtype} if dtype.startswith("int") else set()
    nodes = (node for statement in statements for node in walk(statement))
    return any(isinstance(one, ast.Attribute) and one.attr in saying for one in nodes)


def _counted(source: Source, statements: Sequence[ast.stmt]) -> frozenset[Size]:
    """The sizes that statements ask for, or have a turn of a loop for each of: where two agree, a result follows from these."""
    found: list[tuple[ast.expr, object]] = []
    for one in (node for statement in statements for node in walk(statement)):
        match one:
            case ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[ast.Constant(value=axis)]):
                found.append((tensor, axis))
            case ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"), slice=ast.Constant(value=axis)):
                found.append((tensor, axis))
            case ast.Call(func=called, args=[tensor]) if is_builtin(source, called, "len"):
                found.append((tensor, 0))
            case ast.For(iter=ast.Name() as tensor) | ast.comprehension(iter=ast.Name() as tensor):
                found.append((tensor, 0))
    return frozenset((one.id, axis) for one, axis in found if isinstance(one, ast.Name) and isinstance(axis, int))


def _shown(source: Source, statements: Sequence[ast.stmt], text: str) -> ast.AST:
    found = [one for part in statements for one in walk(part) if isinstance(one, ast.expr) and source.code(one) == text]
    return found[-1] if found else statements[-1]


def _made_like(
    text: str,
    wanted: TensorFact,
    taken: Mapping[str, TensorFact],
    is_open: bool,
    is_said: bool,
    counted: Collection[Size],
) -> str:
    order = sorted(taken, key=lambda name: (name != text, taken[name].dtypes != wanted.dtypes))
    dtype = f"torch.{wanted.dtypes[0]}"
    for name in order:
        one = taken[name]
        own_name = name == text and one.shape == wanted.shape
        alike = not is_open and one.ranks == wanted.ranks and (own_name or _is_alike(wanted, one))
        if alike and (own_name or not _follows_another(name, wanted, taken, counted)):
            plain = one.dtypes == wanted.dtypes and not is_said
            return name if plain else f"torch.empty_like({name}, dtype={dtype})"
    if not order:
        raise Refused(f"The statements take no tensor on the device of `{text}`.")
    source_of = next((name for name in order if taken[name].dtypes == wanted.dtypes), None)
    maker = source_of or order[0]
    more = "" if source_of is not None and not is_said else f", dtype={dtype}"
    if wanted.ranks == (0,):
        return f"{maker}.new_empty((){more})"
    shape = wanted.shape or (None,) * wanted.ranks[0]
    own = [size for size in shape if size is not None and not any(size in (taken[name].shape or ()) for name in order)]
    few = _FEW if None in shape or any(size > _FEW for size in own) else 0
    sizes: list[str] = []
    for at, size in enumerate(shape):
        same = [
            (name, axis)
            for name in order
            for axis in range(len(taken[name].shape or ()))
            if _is_same_size(wanted, at, taken[name], axis)
        ]
        best = min(same, key=lambda one: (one[1] != at, one not in counted, order.index(one[0])), default=None)
        if best is not None and is_open and size is not None and size <= few and best[1] != at:
            best = None  # as many by chance
        if best is None and size is None and not is_open:
            raise Refused(f"No run shows what the shape of `{text}` follows from.")
        if best is None and (size is None or (is_open and size > few)):
            sizes.append(ANY_SIZE)
        else:
            sizes.append(f"{best[0]}.shape[{best[1]}]" if best is not None else str(size))
    if is_open and ANY_SIZE not in sizes:  # each is that of something else by chance
        sizes = [ANY_SIZE] * len(sizes)
    return f"{maker}.new_empty(({', '.join(sizes)}{',' if len(sizes) == 1 else ''}){more})"


def _follows_another(name: str, wanted: TensorFact, taken: Mapping[str, TensorFact], counted: Collection[Size]) -> bool:
    """Whether the first size is that of another tensor, for whose rows the statements count."""
    if wanted.ranks == (0,):
        return False
    others = [one for one, axis in counted if axis == 0 and one in taken and taken[one].ranks != (0,)]
    same = [one for one in others if _is_same_size(wanted, 0, taken[one], 0)]
    return bool(same) and name not in same


def _is_alike(wanted: TensorFact, one: TensorFact) -> bool:
    """Whether a tensor had the shape of another one in every call."""
    axes = range(len(wanted.shape or ()))
    return wanted.shape is not None and one.shape is not None and all(_is_same_size(wanted, at, one, at) for at in axes)


def _is_same_size(wanted: TensorFact, at: int, one: TensorFact, axis: int) -> bool:
    """Whether a size of one tensor was that of another in every call; where it differed, calls with two sizes must show it."""
    size, known = (None if one is None else one[where] for one, where in ((wanted.shape, at), (one.shape, axis)))
    if size is not None or known is not None:
        return size == known
    mine, its = dict(wanted.samples), dict(one.samples)
    pairs = {(mine[call][at], its[call][axis]) for call in mine.keys() & its.keys()}
    return len(pairs) > 1 and all(first == second for first, second in pairs)
