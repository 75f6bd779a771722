"""Modules whose forward does more than compute: counters, buffers, histories, hooks, parameters that change."""

import logging

import torch
from torch import nn

logger = logging.getLogger("constructs")


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(()))
        self.steps = 0
        self.history = []


class CountSteps(Base):
    def forward(self, x):
        self.steps += 1
        return self.layer(x)


class PrintEverySecondStep(Base):
    def forward(self, x):
        self.steps += 1
        hidden = self.layer(x)
        if self.steps % 2 == 1:
            print("step", self.steps)
        return hidden.relu()


class PrintShape(Base):
    def forward(self, x):
        hidden = self.layer(x)
        print("hidden", hidden.shape)
        return hidden.relu()


class LogShape(Base):
    def forward(self, x):
        hidden = self.layer(x)
        logger.info("hidden %s", hidden.shape)
        return hidden.relu()


class UpdateBuffer(Base):
    def forward(self, x):
        self.seen += x.mean().detach()
        return self.layer(x)


class BranchOnBuffer(Base):
    def forward(self, x):
        hidden = self.layer(x)
        if self.seen == 0:
            hidden = hidden + 1
        return hidden


class InitializeOnFirstCall(Base):
    def forward(self, x):
        if self.seen == 0:
            self.layer.bias.data.copy_(x.mean().expand(4))
            self.seen += 1
        return self.layer(x)


class BranchOnHidden(Base):
    def forward(self, x):
        hidden = self.layer(x)
        if hidden.abs().max() > 10:
            hidden = hidden.clamp(-10, 10)
        return hidden


class RegisterBufferLate(Base):
    def forward(self, x):
        self.register_buffer("ones", torch.ones(4))
        return self.layer(x) + self.ones


class KeepLastOutput(Base):
    def forward(self, x):
        self.last = self.layer(x)
        return self.last + 1


class KeepHistory(Base):
    def forward(self, x):
        hidden = self.layer(x)
        self.history.append(hidden.detach())
        return hidden + 1


class KeepNumbers(Base):
    def forward(self, x):
        hidden = self.layer(x)
        self.history.append(hidden.norm().item())
        return hidden + 1


class PenaltyOfParameters(Base):
    def forward(self, x):
        return x + sum(weight.pow(2).sum() for weight in self.parameters())


class DecayWeights(Base):
    def forward(self, x):
        with torch.no_grad():
            self.layer.weight.data.mul_(0.9)
        return self.layer(x)


class HookInForward(Base):
    def forward(self, x):
        handle = self.layer.register_forward_hook(lambda module, inputs, output: output * 2)
        y = self.layer(x)
        handle.remove()
        return y


class ZeroGradients(Base):
    def forward(self, x):
        self.zero_grad()
        return self.layer(x)


class CountOfState(Base):
    def forward(self, x):
        return self.layer(x) + len(self.state_dict())


class NamesOfModules(Base):
    def forward(self, x):
        for name, _ in self.named_modules():
            x = x + len(name)
        return self.layer(x)


class SwitchModes(Base):
    def forward(self, x):
        self.eval()
        y = self.layer(x)
        self.train()
        return y


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x):
        hidden, _ = self.cell(x.view(1, 1, 4).sin())
        return hidden + 1


class RecurrentCells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(1, 4)

    def forward(self, x):
        hidden = torch.zeros(1, 4)
        for value in x:
            hidden = self.cell(value.view(1, 1), hidden)
        return hidden


class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
            if x.max() < 0.1:
                break
        return x


class Routed(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.large = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        if x.norm() > 1:
            return self.large(x)
        return self.small(x)


class SpectralNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))

    def forward(self, x):
        return self.layer(x)


class QuantizeCodebook(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.randn(8, 4))
        self.register_buffer("is_ready", torch.tensor(False))

    def forward(self, x):
        if not self.is_ready:
            self.codes.copy_(x.expand(8, 4))
            self.is_ready.fill_(True)
        return self.codes[((self.codes - x) ** 2).sum(-1).argmin()]
