"""Modules that the statements of an operator call: those that only compute, and how an operator takes one. Pure reading.

An operator takes a module as its parameters and buffers, and runs it with them; the support module asks every module of a
call what the text does not show: hooks, dropout that is on, statistics that a normalization would change.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.values import ValueFact

MODULE = "torch.nn.Module"
"""The annotation of a module, as an operator takes it."""
_TORCH = "torch.nn.modules."
_RECURRENT = frozenset(f"{_TORCH}rnn.{one}" for one in ("RNN", "GRU", "LSTM"))
NEW = frozenset((
    "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Embedding", "GroupNorm",
    "GRUCell", "LayerNorm", "Linear", "LogSoftmax", "RMSNorm", "RNNCell", "Softmax", "GELU", "Sigmoid", "Tanh",
))  # fmt: skip
"""Of torch's modules those that surely give a new tensor."""
COMPUTING = NEW | frozenset((
    "Flatten", "Fold", "Identity", "LocalResponseNorm", "LSTMCell", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList",
    "PixelShuffle", "PixelUnshuffle", "Sequential", "Softmin", "Unflatten", "Unfold", "Upsample", "AvgPool1d", "AvgPool2d",
    "AvgPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "CELU", "ELU", "GLU", "Hardshrink", "Hardsigmoid",
    "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "Mish", "PReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Softplus",
    "Softshrink", "Softsign", "Tanhshrink", "Threshold", "CosineSimilarity", "PairwiseDistance", "ZeroPad1d", "ZeroPad2d",
    "ZeroPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "MultiheadAttention", "TransformerDecoder",
    "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer", "L1Loss", "MSELoss", "CrossEntropyLoss",
    "NLLLoss", "BCELoss", "BCEWithLogitsLoss", "SmoothL1Loss", "HuberLoss", "NonDynamicallyQuantizableLinear", "KLDivLoss",
    "GRU", "LSTM", "RNN",
))  # fmt: skip
"""torch's modules that draw no numbers and change nothing, or whose parts do not."""
CALM = frozenset((
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU", "BatchNorm1d",
    "BatchNorm2d", "BatchNorm3d",
))  # fmt: skip
"""Those that draw none and change nothing in evaluation."""


def annotation_of_module(source: Source, node: ast.expr, fact: ValueFact) -> str | None:
    """The annotation of a parameter for what was a module every time; None for anything else.

    What the statements do with it is calling it, going through what it holds, and choosing one of these.
    """
    return MODULE if fact.kinds == ("module",) and _is_called(source, node) else None


def classes_called(source: Source, called: ast.expr) -> tuple[str, ...]:
    """The classes, as ``package.module.Class``, of what was a module every time that it was called; empty for anything else.

    TorchDynamo ends its graph at a recurrent layer before an operator could take it (`recurrent`).
    """
    fact = Seen(source).of(called)
    if fact is None or fact.kinds != ("module",) or any(one in _RECURRENT for one in fact.classes):
        return ()
    return fact.classes


def is_torchs(path: str) -> bool:
    """Whether a class is one of torch's modules that only compute."""
    return path.startswith(_TORCH) and path.rpartition(".")[2] in COMPUTING | CALM


def class_of(source: Source, path: str) -> ast.ClassDef | None:
    """The class of the file that a class of a run surely is: a plain module, which torch calls by its `forward` alone."""
    module, _, name = path.rpartition(".")
    stem = source.path.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
    found = [one for one in source.tree.body if getattr(one, "name", "") == name or name in assigned(one)]
    made = found[0] if len(found) == 1 and module.rpartition(".")[2] == stem else None
    if not isinstance(made, ast.ClassDef) or made.decorator_list or made.keywords:
        return None
    if [dotted(source, one) for one in made.bases] != ["torch.nn.Module"]:
        return None
    special = [one.name for one in made.body if isinstance(one, ast.FunctionDef) and one.name.startswith("__")]
    return made if _PLAIN.issuperset(special) and forward_of(made) is not None else None


_PLAIN = frozenset(("__init__", "__repr__"))


def forward_of(made: ast.ClassDef) -> ast.FunctionDef | None:
    """The method that a call of a module of the class runs."""
    return method_of(made, "forward")


def method_of(made: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """The one method of that name, without decorators."""
    found = [one for one in made.body if getattr(one, "name", "") == name]
    one = found[0] if len(found) == 1 else None
    return one if isinstance(one, ast.FunctionDef) and not one.decorator_list else None


def parts_of(source: Source, made: ast.ClassDef) -> Mapping[str, frozenset[str]]:
    """The attributes to which a class gives nothing but modules that it makes, with the names of those that the file defines."""
    given: dict[str, list[ast.expr | None]] = {}
    for one in walk(made):
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and getattr(one.value, "id", "") == "self":
            parent = source.parents.get(one)
            plain = isinstance(parent, ast.Assign) and one in parent.targets
            given.setdefault(one.attr, []).append(parent.value if plain and isinstance(parent, ast.Assign) else None)
    found = {name: [_made(source, value) for value in values] for name, values in given.items()}
    return {
        name: frozenset[str]().union(*(one for one in each if one is not None))
        for name, each in found.items()
        if None not in each
    }


def is_set_once(source: Source, made: ast.ClassDef, name: str) -> bool:
    """Whether ``__init__`` alone sets an attribute of the class, in one assignment, to what may be a module."""
    stores = [
        one
        for one in walk(made)
        if isinstance(one, ast.Attribute) and one.attr == name and not isinstance(one.ctx, ast.Load)
    ]
    given = source.parents.get(stores[0]) if len(stores) == 1 else None
    if not isinstance(given, ast.Assign) or stores[0] not in given.targets or dotted(source, given.value) is not None:
        return False
    own = getattr(stores[0].value, "id", "") == "self"
    return own and getattr(source.function(stores[0]), "name", "") == "__init__"


def _made(source: Source, value: ast.expr | None) -> frozenset[str] | None:
    """The classes of the file among those of the modules that an expression makes; None where it may make something else."""
    if isinstance(value, ast.IfExp):
        sides = _made(source, value.body), _made(source, value.orelse)
        return None if None in sides else frozenset[str]().union(*(one for one in sides if one is not None))
    if not isinstance(value, ast.Call):
        return None
    name = dotted(source, value.func) or ""
    own = value.func.id if isinstance(value.func, ast.Name) else ""
    if name.startswith("torch.nn.") and not name.startswith("torch.nn.functional"):
        inner = (one for one in walk(value) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name))
        return frozenset(
            one.func.id for one in inner if isinstance(one.func, ast.Name) and _is_class(source, one.func.id)
        )
    return frozenset((own,)) if _is_class(source, own) else None


def _is_class(source: Source, name: str) -> bool:
    return any(isinstance(one, ast.ClassDef) and one.name == name for one in source.tree.body)


def gives_new(source: Source, called: ast.expr) -> bool:
    """Whether what is called was a module that surely gives a new tensor every time."""
    return bool(names := called_of(source, called)) and names <= NEW


def called_of(source: Source, called: ast.expr) -> frozenset[str]:
    """The names of torch's classes that what is called was of; empty where it was anything else."""
    classes = classes_called(source, called)
    own = all(one.startswith(_TORCH) for one in classes)
    return frozenset(one.rpartition(".")[2] for one in classes) if own else frozenset()


def _is_called(source: Source, node: ast.expr) -> bool:
    """Whether a module is called here, or one of those that it holds is taken."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Call):
        return parent.func is node or isinstance(parent.func, ast.Name)  # enumerate, zip, reversed
    if isinstance(parent, ast.Subscript):
        return parent.value is node and isinstance(parent.ctx, ast.Load)
    return isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node
