"""Examples of the opaque rule: tensors of others are filled, what Python knows is handed over, and a call is the operator."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_PENALISE = """\
import torch


def penalise(scores, ids, by, rows):
    for i in range(rows):
        for token in set(⟦ids[i].tolist()⟧):
            if scores[i, token] < 0:
                scores[i, token] *= by
            else:
                scores[i, token] /= by
    return scores.softmax(-1)
"""
_OPTIONS = (
    _PENALISE.replace("by, rows):", "options):")
    .replace("range(rows)", "range(options.size.rows)")
    .replace("= by", "= options.by")
)
_SEEN_OPTIONS = (
    ("scores", "float32 2 8"), ("ids", "int64 2 5"), ("options.by", "float"), ("options.size.rows", "int"),
    ("options", "other"), ("options.size", "other"),
)  # fmt: skip
_SEEN = (("scores", "float32 2 8"), ("ids", "int64 2 5"), ("by", "float"), ("rows", "int"))
_BANNED = """\
import torch


def banned(ids):
    seen = [{} for _ in range(len(ids))]
    for row in range(len(ids)):
        tokens = ⟦ids[row].tolist()⟧
        known = seen[row]
        for one, other in zip(tokens, tokens[1:]):
            known[one] = known.get(one, []) + [other]

    def after(row):
        return seen[row].get(int(ids[row, -1]), [])

    return [after(row) for row in range(len(ids))]


def fn(scores, ids, bias):
    scores = scores * 2
    if bias != 1:
        for row, tokens in enumerate(banned(ids)):
            scores[row, tokens] = bias[0] if bias is not None else -1e9
    return scores.softmax(-1)
"""
_LOOP = """\
        for row, tokens in enumerate(banned(ids)):
            scores[row, tokens] = bias[0] if bias is not None else -1e9
"""
_IMPORT = "from graphmend_support import operator\n"
_OPERATOR = '''

@operator(like=lambda scores: scores)
def _fn_operator(bias: object, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Runs uncompiled, as one operator of the graph."""
    scores = scores.clone()
    for row, tokens in enumerate(banned(ids)):
        scores[row, tokens] = bias[0] if bias is not None else -1e9
    return scores
'''

EXAMPLES = (
    Example(
        "one of several new tensors",
        before="""\
import torch


def settled(x):
    best, at = x.max(1)
    while ⟦best.sum() > 4⟧:
        best *= 0.5
    return best


def fn(x):
    return settled(x.exp()) + 1
""",
        after="""\
import torch

from graphmend_support import operator


# One operator of the graph: TorchDynamo does not look inside.
@operator(like=lambda x: x.new_empty((x.shape[0],)))
def settled(x):
    best, at = x.max(1)
    while best.sum() > 4:
        best *= 0.5
    return best


def fn(x):
    return settled(x.exp()) + 1
""",
        run="import torch\n\ncalls = [(torch.ones(3, 2) * n,) for n in (1.0, 2.0, 0.1)]\n",
        gb_id="GB0170",
        assumes=("result-shapes", "dtype"),
        seen=(("x", "float32 3 2"), ("best", "float32 3"), ("at", "int64 3"), ("best.sum()", "float32")),
    ),
    Example(
        "elements of the caller's tensor",
        before=_PENALISE,
        after='''\
import torch

from graphmend_support import operator


def penalise(scores, ids, by, rows):
    _penalise_operator(by, ids.detach(), rows, scores)
    return scores.softmax(-1)


@operator("scores", like=lambda: ())
def _penalise_operator(by: float, ids, rows: int, scores) -> None:
    """Runs uncompiled, as one operator of the graph."""
    for i in range(rows):
        for token in set(ids[i].tolist()):
            if scores[i, token] < 0:
                scores[i, token] *= by
            else:
                scores[i, token] /= by
''',
        run="""\
fn = penalise
import torch
ids = torch.tensor([[3, 4, 5, 3, 4], [1, 2, 3, 4, 7]])
calls = [(torch.linspace(-3, 3, 16).reshape(2, 8), ids, 1.5, 2), (torch.ones(2, 8, requires_grad=True) * 2, ids, 0.5, 1)]
""",
        gb_id="GB0033",
        seen=_SEEN,
    ),
    Example(
        "attributes of an argument",
        before=_OPTIONS,
        after='''\
import torch

from graphmend_support import operator


def penalise(scores, ids, options):
    _penalise_operator(ids.detach(), scores, options.size.rows, options.by)
    return scores.softmax(-1)


@operator("scores", like=lambda: ())
def _penalise_operator(ids, scores, rows: int, by: float) -> None:
    """Runs uncompiled, as one operator of the graph."""
    for i in range(rows):
        for token in set(ids[i].tolist()):
            if scores[i, token] < 0:
                scores[i, token] *= by
            else:
                scores[i, token] /= by
''',
        run="""\
fn = penalise
import torch
from types import SimpleNamespace
ids = torch.tensor([[3, 4, 5, 3, 4], [1, 2, 3, 4, 7]])
options, other = (SimpleNamespace(by=by, size=SimpleNamespace(rows=rows)) for by, rows in ((1.5, 2), (0.5, 1)))
calls = [(torch.linspace(-3, 3, 16).reshape(2, 8), ids, options), (torch.ones(2, 8, requires_grad=True) * 2, ids, other)]
""",
        gb_id="GB0033",
        seen=_SEEN_OPTIONS,
    ),
    Example(
        "a call that gives lists, with what uses them",
        before=_BANNED,
        after=_BANNED.replace("⟦", "")
        .replace("⟧", "")
        .replace("import torch\n", "import torch\n\n" + _IMPORT, 1)
        .replace("\n\ndef banned", _OPERATOR + "\n\ndef banned")
        .replace(_LOOP, "        scores = _fn_operator(bias, ids, scores)\n"),
        run="""\
import torch
ids = torch.tensor([[3, 4, 5, 3, 4], [1, 2, 3, 4, 7]])
calls = [(torch.linspace(-3, 3, 16).reshape(2, 8), ids, None), (torch.ones(2, 8, requires_grad=True), ids, (-3.0, 2))]
""",
        outermost="fn",
        gb_id="GB0033",
        seen=(("scores", "float32 2 8"), ("ids", "int64 2 5"), ("bias", "None")),
    ),
)

REFUSALS = (
    Refusal(
        "an argument that may be None",
        _OPTIONS.replace("    for i", "    if options is None:\n        return scores\n    for i"),
        "`options` is not known to be a tensor or a number",
        gb_id="GB0033",
        seen=_SEEN_OPTIONS,
    ),
    Refusal(
        "an argument whose attribute may be None",
        _OPTIONS.replace("range(options.size.rows)", "range(options.size.rows if options.size else 1)"),
        "`options` is not known to be a tensor or a number",
        gb_id="GB0033",
        seen=_SEEN_OPTIONS,
    ),
    Refusal(
        "an attribute that is read on one side only",
        _OPTIONS.replace("/= options.by", "/= 2"),
        "`options` is not known to be a tensor or a number",
        gb_id="GB0033",
        seen=_SEEN_OPTIONS,
    ),
    Refusal(
        "an attribute of the module's options that is read on one side only",
        _OPTIONS.replace("def penalise(scores, ids, options)", "def penalise(self, scores, ids)")
        .replace("range(options.size.rows)", "range(len(ids))")
        .replace("*= options.by", "*= self.options.by")
        .replace("/= options.by", "/= 2"),
        "`self.options.by` is read only under a condition",
        gb_id="GB0033",
        seen=(
            *_SEEN_OPTIONS[:1],
            ("ids", "int64 2 5"),
            ("self.options.by", "float"),
            ("self.options", "other"),
            ("self", "other"),
        ),
    ),
    Refusal(
        "a method of an argument",
        _OPTIONS.replace("range(options.size.rows)", "range(options.rows())"),
        "`options` is not known to be a tensor or a number",
        gb_id="GB0033",
        seen=_SEEN_OPTIONS,
    ),
    Refusal(
        "what is read is a part of what is filled",
        _PENALISE.replace("    for i in range(rows):\n", "    ids = scores[:, 1:]\n    for i in range(rows):\n"),
        "may be a part of `scores`, which the statements change",
        gb_id="GB0059",
        seen=(*_SEEN[:1], ("ids", "float32 2 7"), *_SEEN[2:]),
    ),
)
