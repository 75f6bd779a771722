"""Spiking networks of snnTorch: neurons over a few steps of time."""

import snntorch as snn
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, neuron):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)
        self.hidden, self.output = neuron(), neuron()

    def forward(self, x):
        hidden, output = self.hidden.reset_mem(), self.output.reset_mem()
        hidden = hidden if isinstance(hidden, tuple) else (hidden,)
        output = output if isinstance(output, tuple) else (output,)
        spikes = []
        for step in x:
            spike, *hidden = self.hidden(self.first(step), *hidden)
            spike, *output = self.output(self.second(spike), *output)
            spikes.append(spike)
        return torch.stack(spikes)


def steps():
    return (torch.rand(3, 2, 8, generator=torch.Generator().manual_seed(1)),)


def graphmend_entry_leaky():
    return Net(lambda: snn.Leaky(beta=0.9)), steps()


def graphmend_entry_synaptic():
    return Net(lambda: snn.Synaptic(alpha=0.9, beta=0.8)), steps()


def graphmend_entry_alpha():
    return Net(lambda: snn.Alpha(alpha=0.9, beta=0.8)), steps()


def graphmend_entry_lapicque():
    return Net(lambda: snn.Lapicque(beta=0.5)), steps()


def graphmend_entry_inhibition():
    return Net(lambda: snn.Leaky(beta=0.9, inhibition=True)), steps()


def graphmend_entry_hidden_state():
    model = nn.Sequential(nn.Linear(8, 4), snn.Leaky(beta=0.9, init_hidden=True))
    return model, (torch.rand(2, 8, generator=torch.Generator().manual_seed(1)),)
