"""What a call gives, by what is called and what it is given. Pure; no walking, no environment."""

from __future__ import annotations

from graphmend_lsp.analysis import names
from graphmend_lsp.analysis.kinds import (
    INTEGER,
    LAYER,
    LOGGER,
    MASK,
    PYTHON,
    TENSOR,
    TENSORS,
    UNKNOWN,
    Kind,
    element,
    is_tensor,
    join,
    join_all,
    sequence,
)

Keywords = dict[str, Kind]

# Modules whose functions give no tensors; NumPy's arrays are no tensors to a detector.
_NO_TENSORS = frozenset({"math", "os", "time", "re", "json", "random", "datetime", "numpy", "sys"})


def of_function(name: str, given: list[Kind], keywords: Keywords) -> Kind:
    """What a call of something imported or built in gives."""
    namespace, _, last = name.rpartition(".")
    if namespace == "builtins":
        return _of_builtin(last, given)
    if last in ("getLogger", "get_logger"):
        return LOGGER
    if name.startswith("torch."):
        return _of_torch(name, last, given, keywords)
    if name in names.EINOPS:
        return TENSOR
    if name in ("copy.copy", "copy.deepcopy") and given:
        return given[0]
    if last == "get_activation":
        return LAYER
    return PYTHON if namespace.partition(".")[0] in _NO_TENSORS else UNKNOWN


def of_method(method: str, receiver: Kind, given: list[Kind], keywords: Keywords) -> Kind:
    """What `receiver.method(...)` gives for a tensor."""
    if method in names.REDUCING:
        return _reduced(receiver, given, keywords)
    if method in ("to", "type"):
        kinds = [kind for kind in [*given, *keywords.values()] if kind.tag == "ref"]
        kept = receiver if method == "to" and not given else TENSOR
        if method == "type" and not given and not keywords:
            return PYTHON
        return next((dtype for kind in kinds if (dtype := names.of_dtype(kind.name))), kept)
    if method in ("nonzero", "unique") and _asks_for_many(keywords):
        return TENSORS
    return names.tensor_method(method, receiver)


def _of_builtin(name: str, given: list[Kind]) -> Kind:
    if name in ("max", "min"):
        kinds = [element(given[0])] if len(given) == 1 else given
        return TENSOR if any(map(is_tensor, kinds)) else join_all(kinds)
    if name == "sum" and given:
        return TENSOR if is_tensor(element(given[0])) else UNKNOWN
    if name in ("abs", "round", "pow") and given:
        return given[0]
    if name in ("list", "tuple", "reversed", "iter", "set", "sorted") and given:
        return Kind("seq", "", (element(given[0]),))
    if name == "zip":
        return Kind("seq", "", (sequence(*map(element, given)),))
    if name == "enumerate" and given:
        return Kind("seq", "", (sequence(PYTHON, element(given[0])),))
    if name == "range":
        return Kind("seq", "", (PYTHON,))
    return PYTHON if name in names.PYTHON_BUILTINS else UNKNOWN


def _of_torch(name: str, last: str, given: list[Kind], keywords: Keywords) -> Kind:
    if name.startswith("torch.nn.") and last in names.CONTAINERS:
        items = element(given[0]) if given else UNKNOWN
        return Kind("seq", "", (TENSOR if last == "ParameterList" else items,))
    if name == "torch.nn.Sequential":
        return LAYER if given and all(kind == LAYER for kind in given) else UNKNOWN
    if name in ("torch.jit.script", "torch.compile") and given:
        return given[0]
    if name in ("torch.func.vmap", "torch.vmap"):
        return UNKNOWN
    if name.startswith("torch.") and last in names.REDUCING and name.count(".") == 1:
        return _reduced(given[0], given[1:], keywords) if given else UNKNOWN
    if name == "torch.where" and len(given) == 1 and not keywords:
        return Kind("seq", "", (INTEGER,))
    if last in ("nonzero", "unique", "unique_consecutive") and _asks_for_many(keywords):
        return TENSORS
    result = names.torch_call(name)
    dtype = keywords.get("dtype")
    if is_tensor(result) and dtype is not None and dtype.tag == "ref":
        return names.of_dtype(dtype.name) or result
    if name in ("torch.where", "torch.cat", "torch.stack", "torch.concat", "torch.clone", "torch.flatten") and given:
        kinds = [element(given[0])] if given[0].tag == "seq" else given[-2:]
        return MASK if all(kind == MASK for kind in kinds) else TENSOR
    return result


def _reduced(receiver: Kind, given: list[Kind], keywords: Keywords) -> Kind:
    """max, min, median and mode: one tensor of all, element by element with another tensor, a pair with a dimension."""
    if not given and not keywords:
        return receiver if receiver != MASK else TENSOR
    if (given and is_tensor(given[0])) or "other" in keywords:
        return TENSOR
    if (given and given[0].tag == "python") or "dim" in keywords or "axis" in keywords:
        return sequence(receiver, INTEGER)
    return UNKNOWN


def _asks_for_many(keywords: Keywords) -> bool:
    return any(name.startswith("return_") or name == "as_tuple" for name in keywords)


def of_operator(operator: str, left: Kind, right: Kind) -> Kind:
    """What a binary operator gives; `operator` is the class name of the syntax node."""
    if left.tag == "tensor" or right.tag == "tensor":
        if "seq" in (left.tag, right.tag):
            return UNKNOWN
        if operator in ("BitAnd", "BitOr", "BitXor") and MASK in (left, right):
            return MASK
        return INTEGER if left == right == INTEGER and operator != "Div" else TENSOR
    if left.tag == right.tag == "seq" and operator == "Add":
        if not left.items or not right.items:
            return left if left.items else right
        return Kind("seq", "", (join(element(left), element(right)),))
    if left.tag == "seq" and operator == "Mult":
        return Kind("seq", "", (element(left),))
    return PYTHON if left.tag == right.tag == "python" else UNKNOWN
