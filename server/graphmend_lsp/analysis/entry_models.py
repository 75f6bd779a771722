"""Which models of a file written for transformers can be run from their configuration alone: those worth running, by name.

Reads declarations only (`outline`); whether a model can be built is found out by the worker.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from graphmend_lsp.analysis.outline import Chunk, Class, outline

MOST = 3
_BASE = "PreTrainedModel"
# heads by how much of the file's code they run and how plain their inputs are
_HEADS = (
    "ForConditionalGeneration",
    "ForCausalLM",
    "LMHeadModel",
    "ForMaskedLM",
    "ForPreTraining",
    "ForCTC",
    "ForImageClassification",
    "ForObjectDetection",
    "ForUniversalSegmentation",
    "ForSemanticSegmentation",
    "ForDepthEstimation",
    "ForSequenceClassification",
    "ForVideoClassification",
    "ForAudioClassification",
    "ForMaskedImageModeling",
    "ForPrediction",
    "ForTokenClassification",
)
_PART = re.compile(
    r"(Text|Vision|Audio|Speech|Encoder|Decoder|Image|Video|Language|Prompt|Thinker|Talker|Semantic|Coarse|Fine|Wav)"
)


def pick(source: str, most: int = MOST) -> list[str]:
    """The model without a head and a model with one, where the file has them; at most `most` names."""
    return pick_models([chunk for _, chunk in outline(source)], most)


def pick_models(chunks: Iterable[Chunk], most: int = MOST) -> list[str]:
    """As `pick`, of a file's outline."""
    classes: dict[str, Class] = {}
    imports: dict[str, str] = {}
    for chunk in chunks:
        classes.update(chunk.classes)
        imports.update(chunk.imports)
    models = [name for name in classes if _is_runnable(name, classes, imports)]
    bare = [name for name in models if name.endswith("Model") and not name.endswith(("HeadModel", "HeadsModel"))]
    whole = sorted(
        (name for name in bare if not _PART.search(name[1:])), key=lambda name: (len(name), models.index(name))
    )
    heads = sorted((name for name in models if name.endswith(tuple(_HEADS))), key=lambda name: (_head(name), len(name)))
    chosen = [*whole[:1], *heads[:1]]
    used = used_by_others(classes)
    models = [name for name in models if name not in used] + [name for name in models if name in used]
    others = [*(name for name in bare if name not in chosen), *(name for name in models if name not in chosen)]
    if len(chosen) < 2:
        chosen += list(dict.fromkeys(others))[: 2 - len(chosen)]
    return chosen[:most]


def used_by_others(classes: Mapping[str, Class]) -> frozenset[str]:
    """The classes that another class of the file names in its methods: parts, that run when the whole does."""
    found: set[str] = set()
    for name, known in classes.items():
        for method in known.methods.values():
            words = {node.id for node in ast.walk(method.node) if isinstance(node, ast.Name)}
            found |= {word for word in words if word in classes and word != name}
    return frozenset(found)


def _head(name: str) -> int:
    return next(number for number, head in enumerate(_HEADS) if name.endswith(head))


def _is_runnable(name: str, classes: Mapping[str, Class], imports: Mapping[str, str]) -> bool:
    """Whether it is a concrete model: built from a configuration, and with a `forward` of its own or of a base."""
    if name.endswith(_BASE) or "." in name:
        return False
    family = _family(name, classes)
    if not any(_is_base(base, classes, imports) for known in family for base in known.bases):
        return False
    inherited = any(_is_model_elsewhere(base, classes, imports) for known in family for base in known.bases)
    if not inherited and not any("forward" in known.methods for known in family):
        return False
    init = next((known.methods["__init__"].node for known in family if "__init__" in known.methods), None)
    return init is None or _takes_a_configuration(init)


def _family(name: str, classes: Mapping[str, Class]) -> list[Class]:
    """The class and its bases in the file, nearest first."""
    found: list[Class] = []
    waiting = [name]
    while waiting and len(found) < 20:
        known = classes.get(waiting.pop(0))
        if known is None or known in found:
            continue
        found.append(known)
        waiting += [word for base in known.bases if (word := _last(base)) is not None]
    return found


def _is_base(base: ast.expr, classes: Mapping[str, Class], imports: Mapping[str, str]) -> bool:
    word = _last(base)
    if word is None or word in classes:
        return False
    return word.endswith(_BASE) or word.startswith("PreTrained") or _is_model_elsewhere(base, classes, imports)


def _is_model_elsewhere(base: ast.expr, classes: Mapping[str, Class], imports: Mapping[str, str]) -> bool:
    """Whether a base is a concrete model that is imported from transformers."""
    word = _last(base)
    if word is None or word in classes or word.endswith(_BASE):
        return False
    written = ast.unparse(base)
    first = written.split(".")[0]
    origin = imports.get(first, "") + written[len(first) :]
    return origin.startswith("transformers.") and (word.endswith("Model") or re.search(r"For[A-Z]", word) is not None)


def _last(base: ast.expr) -> str | None:
    if isinstance(base, ast.Attribute):
        return base.attr
    return base.id if isinstance(base, ast.Name) else None


def _takes_a_configuration(init: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = [argument.arg for argument in (*init.args.posonlyargs, *init.args.args)][1:]
    needed = names[: len(names) - len(init.args.defaults)] if init.args.defaults else names
    keywords = [
        one.arg for one, default in zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True) if default is None
    ]
    return len(needed) <= 1 and not keywords
