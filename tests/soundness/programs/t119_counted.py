import torch


class Counted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        if not (x < 10).all():
            raise ValueError("too large")
        self.calls += 1
        return x * 2


def graphmend_entry():
    return Counted(), [(torch.ones(6),), (torch.rand(6),)]
