"""Features of torch inside a compiled function: gradients, hooks, contexts, checkpoints, disabled functions."""

import torch
from torch.utils.checkpoint import checkpoint


def no_grad_with_print(x):
    with torch.no_grad():
        y = x + 1
        print("inside")
    return y


def no_grad_with_branch(x):
    with torch.no_grad():
        scale = x.abs().max()
        if scale > 3:
            x = x / scale
    return x * 2


def ask_for_gradient(x):
    y = x.clone()
    y.requires_grad_()
    return y + 1


def gradient_of_function(x):
    y = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad((y * y).sum(), y)
    return gradient + 1


def gradient_penalty(x):
    y = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
    return (gradient.norm() - 1) ** 2


def backward(x):
    y = x.detach().clone().requires_grad_()
    (y * y).sum().backward()
    return y.grad + 1


def gradient_by_func(x):
    return torch.func.grad(lambda y: (y * y).sum())(x)


def hook_of_tensor(x):
    y = x.detach().clone().requires_grad_()
    y.register_hook(lambda gradient: gradient * 2)
    return (y * 2).sum()


@torch.compiler.disable
def uncompiled(x):
    return x + 1


def disabled_function(x):
    return uncompiled(x.sin()) + 1


def explicit_break(x):
    hidden = x.sin()
    torch._dynamo.graph_break()
    return hidden + 1


def only_when_not_compiled(x):
    hidden = x.sin()
    if not torch.compiler.is_compiling():
        print(hidden)
    return hidden + 1


def profiled(x):
    with torch.profiler.record_function("add"):
        y = x + 1
    return y


def autocast(x):
    with torch.autocast("cpu"):
        y = x @ x
    return y


def inference_mode(x):
    with torch.inference_mode():
        y = x + 1
    return y


def gradients_switched_on(x):
    torch.set_grad_enabled(True)
    return x + 1


def vectorized(x):
    return torch.vmap(lambda value: value * 2)(x)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def own_autograd_function(x):
    return Double.apply(x.detach().clone().requires_grad_()) + 1


class LoudDouble(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print("forward")
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def own_autograd_function_with_print(x):
    return LoudDouble.apply(x.detach().clone().requires_grad_()) + 1


def part(x):
    print("part")
    return x.sin()


def checkpoint_with_print(x):
    return checkpoint(part, x.detach().clone().requires_grad_(), use_reentrant=False) + 1


def distributed_if_initialized(x):
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()
    return x + 1


def memory_if_cuda(x):
    return x + (torch.cuda.memory_allocated() if torch.cuda.is_available() else 0)


def dtype_default(x):
    return x + torch.ones(4, dtype=torch.get_default_dtype())


def threads(x):
    return x + torch.get_num_threads() * 0


def parameter_inside(x):
    weight = torch.nn.Parameter(torch.ones(4))
    return x * weight


def layer_inside(x):
    layer = torch.nn.Linear(4, 4)
    torch.nn.init.ones_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    return layer(x)


def optimizer_inside(x):
    weight = torch.ones(4, requires_grad=True)
    torch.optim.SGD([weight], lr=0.1)
    return x + 1


def packed_sequence(x):
    packed = torch.nn.utils.rnn.pack_sequence([x[:, None], x[:2, None]])
    return torch.nn.utils.rnn.pad_packed_sequence(packed)[0] + 1
