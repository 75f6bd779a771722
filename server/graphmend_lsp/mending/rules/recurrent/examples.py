"""What the recurrent rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_BEFORE = """\
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 8, batch_first=True, bidirectional=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        y, (h, c) = ⟦self.lstm⟧(x.sin())
        return self.head(y.relu()) + h.mean()
"""
_RUN = """\
torch.manual_seed(0)
fn = Tagger()
calls = [(torch.randn(2, 5, 4),), (torch.randn(3, 2, 4),)]
"""

_PACKED = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 8, batch_first=True)

    def forward(self, x, lengths):
        packed = ⟦pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)⟧
        out, h = self.gru(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        return out.relu().sum(1) + h.mean()
"""

_TWO = """\
import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(4, 8)
        self.decoder = nn.GRU(4, 8)

    def forward(self, source, target):
        _, state = ⟦self.encoder⟧(source)
        y, _ = self.decoder(target, state)
        return y.tanh()
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a tagger of sequences",
        before=_BEFORE,
        after="""\
import torch
from torch import nn

from graphmend_support import recurrent


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 8, batch_first=True, bidirectional=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        y, (h, c) = recurrent(lambda: self.lstm, x.sin())
        return self.head(y.relu()) + h.mean()
""",
        run=_RUN,
        gb_id="GB0014",
    ),
    Example(
        "two layers, and a state",
        before=_TWO,
        after="""\
import torch
from torch import nn

from graphmend_support import recurrent


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(4, 8)
        self.decoder = nn.GRU(4, 8)

    def forward(self, source, target):
        _, state = recurrent(lambda: self.encoder, source)
        y, _ = recurrent(lambda: self.decoder, target, state)
        return y.tanh()
""",
        run="""\
torch.manual_seed(0)
fn = Translator()
calls = [(torch.randn(5, 2, 4), torch.randn(3, 2, 4))]
""",
        gb_id="GB0014",
        seen=(("self.encoder", "module torch.nn.modules.rnn.GRU"), ("self.decoder", "module torch.nn.modules.rnn.GRU")),
    ),
    Example(
        "weights that are put together in memory",
        before="""\
import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 8)

    def forward(self, x):
        ⟦self.gru⟧.flatten_parameters()
        y, _ = self.gru(x)
        return y.relu()
""",
        after="""\
import torch
from torch import nn

from graphmend_support import recurrent


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 8)

    def forward(self, x):
        if not torch.compiler.is_compiling():
            self.gru.flatten_parameters()
        y, _ = recurrent(lambda: self.gru, x)
        return y.relu()
""",
        run="""\
torch.manual_seed(0)
fn = Reader()
calls = [(torch.randn(5, 3, 4),)]
""",
        gb_id="GB0014",
    ),
    Example(
        "a packed sequence",
        before=_PACKED,
        after="""\
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from graphmend_support import pack_padded, pad_packed, recurrent


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 8, batch_first=True)

    def forward(self, x, lengths):
        packed = pack_padded(x, lengths, batch_first=True, enforce_sorted=False)
        out, h = recurrent(lambda: self.gru, packed)
        out, _ = pad_packed(out, batch_first=True)
        return out.relu().sum(1) + h.mean()
""",
        run="""\
torch.manual_seed(0)
fn = Tagger()
calls = [(torch.randn(3, 5, 4), torch.tensor([2, 5, 3])), (torch.randn(3, 5, 4), torch.tensor([4, 4, 1]))]
""",
        gb_id="GB0007",
    ),
    Example(
        "the last state of a packed sequence",
        before="""\
import torch
from torch import nn
from torch.nn.utils import rnn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 8)

    def forward(self, x, lengths):
        x = rnn.pack_padded_sequence(x, lengths)
        x, (h, c) = ⟦self.lstm⟧(x)
        return h[-1].tanh() * c.mean()
""",
        after="""\
import torch
from torch import nn
from torch.nn.utils import rnn

from graphmend_support import pack_padded, recurrent


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 8)

    def forward(self, x, lengths):
        x = pack_padded(x, lengths)
        x, (h, c) = recurrent(lambda: self.lstm, x)
        return h[-1].tanh() * c.mean()
""",
        run="""\
torch.manual_seed(0)
fn = Encoder()
calls = [(torch.randn(5, 3, 4), torch.tensor([5, 3, 2]))]
""",
        gb_id="GB0014",
    ),
    Example(
        "a stack of layers",
        before="""\
import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.RNN(4, 4) for _ in range(3)])

    def forward(self, x):
        for layer in self.layers:
            x = ⟦layer⟧(x)[0] + x
        return x
""",
        after="""\
import torch
from torch import nn

from graphmend_support import recurrent


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.RNN(4, 4) for _ in range(3)])

    def forward(self, x):
        for layer in self.layers:
            x = recurrent(lambda: layer, x)[0] + x
        return x
""",
        run="""\
torch.manual_seed(0)
fn = Stack()
calls = [(torch.randn(5, 2, 4),), (torch.randn(5, 4),)]
""",
        gb_id="GB0014",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "weights that are read",
        _BEFORE.replace("        y, (h", "        self.lstm.all_weights.clear()\n        y, (h"),
        "`self.lstm.all_weights` also uses the layer",
        gb_id="GB0014",
    ),
    Refusal(
        "an attribute of the layer",
        _BEFORE.replace("h.mean()", "h.mean() * self.lstm.hidden_size"),
        "`self.lstm.hidden_size` also uses the layer",
        gb_id="GB0014",
    ),
    Refusal(
        "a layer that a call gives",
        _BEFORE.replace("⟦self.lstm⟧(x.sin())", "⟦getattr(self, 'lstm')⟧(x.sin())"),
        "does more than find a layer",
        gb_id="GB0014",
    ),
    Refusal(
        "arguments in a tuple",
        _BEFORE.replace("(x.sin())", "(*x)"),
        "more than an input and a state",
        gb_id="GB0014",
    ),
    Refusal(
        "a packed sequence that is used for more",
        _PACKED.replace("h.mean()", "packed.data.sum()"),
        "`packed` holds a packed sequence and is used for more than the layer",
        gb_id="GB0007",
    ),
    Refusal(
        "a packed output that is read",
        _PACKED.replace("out, _ = pad_packed_sequence(out, batch_first=True)", "out = out.data"),
        "`out` holds a packed sequence that no `pad_packed_sequence` reads",
        gb_id="GB0007",
    ),
    Refusal(
        "a sequence that is padded on one side only",
        _PACKED.replace("        out, _ = pad", "        if self.training:\n            out, _ = pad").replace(
            "out.relu().sum(1) + h.mean()", "out, h"
        ),
        "`out` holds a packed sequence that no `pad_packed_sequence` reads",
        gb_id="GB0007",
    ),
    Refusal(
        "a packed sequence that a function inside reads",
        _PACKED.replace("        packed = ", "        read = lambda: packed.data\n        packed = ").replace(
            "h.mean()", "read().sum()"
        ),
        "`packed` holds a packed sequence and is used for more than the layer",
        gb_id="GB0007",
    ),
    Refusal(
        "a value that pads",
        _PACKED.replace("(out, batch_first=True)", "(out, batch_first=True, padding_value=1.0)"),
        "in a way that the operator does not know",
        gb_id="GB0007",
    ),
    Refusal(
        "both results in one name",
        _PACKED.replace("out, h = self", "out = h = self"),
        "has no name",
        gb_id="GB0007",
    ),
    Refusal(
        "a comment inside",
        _BEFORE.replace("(x.sin())", "(\n            x.sin(),  # between -1 and 1\n        )"),
        "comments",
        gb_id="GB0014",
    ),
)
