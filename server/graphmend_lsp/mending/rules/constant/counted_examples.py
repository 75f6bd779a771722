"""Examples of the constant rule: arrays that follow from whole numbers."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_NODES = """\
import numpy as np
import torch


def integral(x, n: int):
    nodes, weights = ⟦np.polynomial.legendre.leggauss(n)⟧
    nodes = (nodes + 1) / 2
    return (torch.as_tensor(weights) * x[..., None] ** torch.as_tensor(nodes)).sum(-1)


def fn(x, n):
    return integral(x.exp(), n)
"""
_CALLS = "calls = [(torch.ones(3), n) for n in (2, 3, 2, 5)]\n"
_LIST = """\
import torch


def rules():
    # numpy only where it is used
    import numpy as np

    def weights(n: int):
        return (0.5 * ⟦np.polynomial.legendre.leggauss(n)⟧[1]).tolist()

    return weights


def fn(x, n):
    return x.exp() * sum(rules()(n))
"""
_ROUNDED = """\
import numpy as np


def most(x, n: int):
    kept = min(2 * ⟦np.ceil(np.log1p(n)).astype("int").item()⟧, n)
    return x[..., :kept].sum(-1)


def fn(x, n):
    return most(x.exp(), n)
"""

EXAMPLES = (
    Example(
        "the nodes of a quadrature",
        _NODES,
        _NODES.replace("⟦np.polynomial.legendre.leggauss(n)⟧", "map(np.array, _nodes(n))").replace(
            "import torch\n",
            '''\
import torch

from graphmend_support import of_numbers


@of_numbers
def _nodes(n):
    """Computed while TorchDynamo traces, and again for another number."""
    return tuple(tuple(one.tolist()) for one in np.polynomial.legendre.leggauss(n))
''',
        ),
        run=_CALLS,
        outermost="fn",
        gb_id="GB0007",
    ),
    Example(
        "a list of weights, with an import inside of a function",
        _LIST,
        _LIST.replace("(0.5 * ⟦np.polynomial.legendre.leggauss(n)⟧[1]).tolist()", "list(_weights(n))").replace(
            "import torch\n",
            '''\
import torch

from graphmend_support import of_numbers


@of_numbers
def _weights(n):
    """Computed while TorchDynamo traces, and again for another number."""
    import numpy as np

    return tuple((0.5 * np.polynomial.legendre.leggauss(n)[1]).tolist())
''',
        ),
        run=_CALLS,
        outermost="fn",
        gb_id="GB0007",
    ),
    Example(
        "a rounded logarithm",
        _ROUNDED,
        _ROUNDED.replace('⟦np.ceil(np.log1p(n)).astype("int").item()⟧', "_kept(n)").replace(
            "import numpy as np\n",
            '''\
import numpy as np

from graphmend_support import of_numbers


@of_numbers
def _kept(n):
    """Computed while TorchDynamo traces, and again for another number."""
    return np.ceil(np.log1p(n)).astype("int").item()
''',
        ),
        run="import torch\ncalls = [(torch.ones(3, 9), n) for n in (2, 3, 2, 9)]\n",
        outermost="fn",
        gb_id="GB0007",
    ),
)
REFUSALS = (
    Refusal(
        "a numpy number that stays one",
        _ROUNDED.replace('.astype("int").item()⟧', "⟧"),
        "is a numpy number",
        outermost="fn",
        gb_id="GB0007",
    ),
    Refusal(
        "a number that may be another thing",
        _NODES.replace("n: int", "n"),
        "not known to be a whole number",
        outermost="fn",
        gb_id="GB0007",
    ),
    Refusal(
        "one array that holds both",
        _NODES.replace("nodes, weights = ⟦", "weights = nodes = ⟦"),
        "gives two arrays",
        outermost="fn",
        gb_id="GB0007",
    ),
)
