import torch


LOG = []


def note(x):
    LOG.append(float(x.mean()))
    if len(LOG) > 2:
        LOG.clear()
    return x + len(LOG)


def graphmend_entry():
    return note, (torch.ones(2),)
