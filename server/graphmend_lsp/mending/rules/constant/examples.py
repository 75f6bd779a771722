"""What the constant rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = """\
calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),)]
"""
_NAMED = """\
def fn(x, text):
    net = Net(text)
    return net(x)


calls = [(torch.ones(4), text) for text in ("a", "bc", "a", "d")]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a checksum",
        before="""\
import zlib

import torch


def fn(x):
    y = x.sin()
    return y + ⟦zlib.crc32(b"a")⟧ % 7
""",
        after="""\
import zlib

import torch

_CRC32 = zlib.crc32(b"a")


def fn(x):
    y = x.sin()
    return y + _CRC32 % 7
""",
        run=_X,
        gb_id="GB0007",
    ),
    Example(
        "a text of options",
        before="""\
import json

import torch

SCALE = 2


def fn(x):
    y = x.sin()
    text = ⟦json.dumps({"scale": SCALE, "names": ["a", "b"]})⟧
    return y + len(text)
""",
        after="""\
import json

import torch

SCALE = 2
_TEXT = json.dumps({"scale": SCALE, "names": ["a", "b"]})


def fn(x):
    y = x.sin()
    text = _TEXT
    return y + len(text)
""",
        run=_X,
        gb_id="GB0156",
    ),
    Example(
        "an object that is read by a method of its own",
        before="""\
import hashlib

import torch


def fn(x):
    name = "attention"
    y = x.sin()
    return y + int(⟦hashlib.md5(name.encode())⟧.hexdigest()[:4], 16)
""",
        after="""\
import hashlib

import torch

_MD5 = hashlib.md5("attention".encode()).hexdigest()


def fn(x):
    name = "attention"
    y = x.sin()
    return y + int(_MD5[:4], 16)
""",
        run=_X,
        gb_id="GB0007",
    ),
    Example(
        "a builtin that Dynamo does not trace",
        before="""\
import torch


def fn(x):
    y = x.sin()
    return y + len(⟦bytes(3)⟧)
""",
        after="""\
import torch

_BYTES = bytes(3)


def fn(x):
    y = x.sin()
    return y + len(_BYTES)
""",
        run=_X,
        gb_id="GB0059",
    ),
    Example(
        "a question about dtypes",
        before="""\
import torch


def fn(x):
    y = x.sin()
    return y + 1 if ⟦torch.can_cast(torch.float16, torch.int8)⟧ else y - 1
""",
        after="""\
import torch

_CAN_CAST = torch.can_cast(torch.float16, torch.int8)


def fn(x):
    y = x.sin()
    return y + 1 if _CAN_CAST else y - 1
""",
        run=_X,
        gb_id="GB0208",
    ),
    Example(
        "the name of a module",
        before="""\
import zlib

import torch


class Net(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        y = x.sin()
        return y + ⟦zlib.crc32(self.name.encode())⟧ % 7
""",
        after="""\
import zlib

import torch

from graphmend_support import while_tracing

# Called while TorchDynamo traces, not in the graph.
_crc32 = while_tracing(lambda text: zlib.crc32(text))


class Net(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        y = x.sin()
        return y + _crc32(self.name.encode()) % 7
""",
        run=_NAMED,
        outermost="forward",
        gb_id="GB0007",
    ),
    Example(
        "a text that a call brings",
        before="""\
import hashlib

import torch


def fn(x, text):
    y = x.sin()
    digest = ⟦hashlib.sha256(text.encode())⟧.hexdigest()
    return y + int(digest[:4], 16)
""",
        after="""\
import hashlib

import torch

from graphmend_support import while_tracing

# Called while TorchDynamo traces, not in the graph.
_digest = while_tracing(lambda text: hashlib.sha256(text).hexdigest())


def fn(x, text):
    y = x.sin()
    digest = _digest(text.encode())
    return y + int(digest[:4], 16)
""",
        run="""\
calls = [(torch.ones(4), text) for text in ("a", "bc", "a", "d")]
""",
        gb_id="GB0007",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a size",
        """\
import json

import torch


def fn(x):
    return x + len(⟦json.dumps(list(x.shape))⟧)
""",
        "`x.shape` is not known to be the same",
        gb_id="GB0156",
    ),
    Refusal(
        "a name that is set again",
        """\
import json

import torch

SCALE = 2


def grow():
    global SCALE
    SCALE += 1


def fn(x):
    return x + len(⟦json.dumps({"scale": SCALE})⟧)
""",
        "`SCALE` may hold something else in another call",
        gb_id="GB0156",
    ),
    Refusal(
        "a name that another module sets",
        """\
import json

import torch

SCALE = 2


def use(module):
    module.SCALE = 3


def fn(x):
    return x + len(⟦json.dumps({"scale": SCALE})⟧)
""",
        "`SCALE` may hold something else in another call",
        gb_id="GB0156",
    ),
    Refusal(
        "a list of the file",
        """\
import json

import torch

SIZES = [1, 2]


def fn(x):
    return x + len(⟦json.dumps(SIZES)⟧)
""",
        "`SIZES` may be changed in place",
        gb_id="GB0156",
    ),
    Refusal(
        "a result that may be changed",
        """\
import json

import torch


def fn(x):
    options = ⟦json.loads('{"scale": 2}')⟧
    return x * options["scale"]
""",
        "can be changed in place",
        gb_id="GB0156",
    ),
    Refusal(
        "an import inside of the function",
        """\
import torch


def fn(x):
    import zlib

    return x + ⟦zlib.crc32(b"a")⟧
""",
        "is imported inside a function",
        gb_id="GB0007",
    ),
    Refusal(
        "a function of the user's",
        """\
import json

import torch


def fn(x, encode):
    return x + len(⟦json.dumps({"a": 1}, default=encode)⟧)
""",
        "`encode` may hold something else",
        gb_id="GB0156",
    ),
    Refusal(
        "a local name of two values",
        """\
import zlib

import torch


def fn(x):
    seed = 1
    for turn in range(2):
        x = x + ⟦zlib.crc32(b"a", seed)⟧
        seed = seed + 1
    return x
""",
        "`seed` may hold something else",
        gb_id="GB0007",
    ),
)
