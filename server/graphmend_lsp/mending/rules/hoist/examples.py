"""What the hoist rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = """\
import random

random.seed(0)
calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a random number in the middle",
        before="""\
import random

import torch


def fn(x):
    y = x.sin()
    keep = ⟦random.random()⟧ < 0.5
    if keep:
        y = y + 1
    return y * 2
""",
        after="""\
import random

import torch


def fn(x):
    drawn = random.random()
    y = x.sin()
    keep = drawn < 0.5
    if keep:
        y = y + 1
    return y * 2
""",
        run=_X,
        gb_id="GB0007",
    ),
    Example(
        "a name for the value",
        before='''\
import random

import torch


def fn(x):
    """Shift."""
    y = x.sin()
    shift = ⟦random.randint(0, 3)⟧  # at most three
    return y + shift
''',
        after='''\
import random

import torch


def fn(x):
    """Shift."""
    drawn = random.randint(0, 3)
    y = x.sin()
    shift = drawn  # at most three
    return y + shift
''',
        gb_id="GB0007",
    ),
    Example(
        "a seed",
        before="""\
import torch


def fn(x):
    y = x.sin()
    ⟦torch.manual_seed(0)⟧
    return y + torch.rand(4)
""",
        after="""\
import torch


def fn(x):
    torch.manual_seed(0)
    y = x.sin()
    return y + torch.rand(4)
""",
        run=_X,
        gb_id="GB0007",
    ),
    Example(
        "in a with",
        before="""\
import random

import torch


def fn(x):
    y = x.sin()
    with torch.no_grad():
        y = y * 2
        y = y + ⟦random.choice([1, 2, 3])⟧
    return y
""",
        after="""\
import random

import torch


def fn(x):
    chosen = random.choice([1, 2, 3])
    y = x.sin()
    with torch.no_grad():
        y = y * 2
        y = y + chosen
    return y
""",
        run=_X,
        gb_id="GB0007",
    ),
    Example(
        "NumPy's generator",
        before="""\
import numpy as np
import torch


def fn(x):
    y = x.sin()
    return y * ⟦np.random.rand()⟧
""",
        after="""\
import numpy as np
import torch


def fn(x):
    drawn = np.random.rand()
    y = x.sin()
    return y * drawn
""",
        gb_id="GB0033",
    ),
    Example(
        "the file system",
        before="""\
import os

import torch


def fn(x):
    y = x.sin()
    if ⟦os.path.exists("/nowhere")⟧:
        y = y + 1
    return y * 2
""",
        after="""\
import os

import torch


def fn(x):
    found = os.path.exists("/nowhere")
    y = x.sin()
    if found:
        y = y + 1
    return y * 2
""",
        run=_X,
        gb_id="GB0007",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a clock",
        """\
import time

import torch


def fn(x):
    y = x.sin()
    start = ⟦time.time()⟧
    return y, start
""",
        "reads a clock",
        gb_id="GB0007",
    ),
    Refusal(
        "at the start already",
        """\
import random

import torch


def fn(x):
    shift = ⟦random.random()⟧
    return x + shift
""",
        "already stands at the start",
        gb_id="GB0007",
    ),
    Refusal(
        "under a condition",
        """\
import random

import torch


def fn(x):
    y = x.sin()
    if x.shape[0] > 3:
        y = y + ⟦random.random()⟧
    return y
""",
        "does not always run",
        gb_id="GB0007",
    ),
    Refusal(
        "in a loop",
        """\
import random

import torch


def fn(x):
    for _ in range(3):
        x = x + ⟦random.random()⟧
    return x
""",
        "does not always run",
        gb_id="GB0007",
    ),
    Refusal(
        "another draw before it",
        """\
import random

import torch


def fn(x):
    y = x * random.random() + 1
    z = y + ⟦random.random()⟧
    return z
""",
        "may use the same generator",
        gb_id="GB0007",
    ),
    Refusal(
        "a seed behind random numbers",
        """\
import torch


def fn(x):
    y = x + torch.rand(4)
    ⟦torch.manual_seed(0)⟧
    return y + torch.rand(4)
""",
        "may use the same generator",
        gb_id="GB0007",
    ),
    Refusal(
        "what the function computed",
        """\
import random

import torch


def fn(x):
    y = x.sin()
    n = y.shape[0]
    return y + ⟦random.randint(0, n)⟧
""",
        "needs `n`",
        gb_id="GB0007",
    ),
    Refusal(
        "in an inlined function",
        """\
import random

import torch


def noise(x):
    y = x.sin()
    return y + ⟦random.random()⟧


def fn(x):
    return noise(x)
""",
        "is inlined",
        gb_id="GB0007",
        outermost="fn",
    ),
    Refusal(
        "the function may end before it",
        """\
import random

import torch


def fn(x):
    y = x.sin()
    if x.shape[0] > 3:
        return y
    return y + ⟦random.random()⟧
""",
        "may leave `fn`",
        gb_id="GB0007",
    ),
)
