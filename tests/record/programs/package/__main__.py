import time

import torch


@torch.compile(backend="eager")
def timed(x):
    y = x.cos()
    begun = time.time()  # a module run with -m, in a child process
    return y * begun


timed(torch.ones(2))
