"""Messages and measurements in the middle of a computation: print, loggers, warnings, progress bars, clocks."""

import datetime
import io
import logging
import sys
import time
import warnings
from functools import lru_cache

import torch

logger = logging.getLogger("constructs")
logger.setLevel(logging.INFO)
logger.addHandler(logging.NullHandler())
logger.propagate = False
timings = {}


def print_text(x):
    hidden = x.sin()
    print("halfway")
    return hidden + 1


def print_tensor(x):
    hidden = x.sin()
    print(hidden)
    return hidden + 1


def print_tensor_in_text(x):
    hidden = x.sin()
    print(f"hidden is {hidden}")
    return hidden + 1


def print_number_in_text(x):
    hidden = x.sin()
    print(f"mean {hidden.mean().item():.3f}")
    return hidden + 1


def print_shape(x):
    hidden = x.sin()
    print("hidden", hidden.shape, hidden.dtype)
    return hidden + 1


def print_shape_in_text(x):
    hidden = x.sin()
    print(f"hidden has shape {hidden.shape}")
    return hidden + 1


def print_to_stderr(x):
    hidden = x.sin()
    print("halfway", file=sys.stderr)
    return hidden + 1


def print_in_loop(x):
    for step in range(3):
        x = x.sin()
        print("step", step, x.shape)
    return x


def print_under_tensor_condition(x):
    if x.sum() > 0:
        print("positive")
    return x + 1


def print_before_return(x):
    total = x.sum()
    print("total", total)
    return total


def write_to_stdout(x):
    hidden = x.sin()
    sys.stdout.write("halfway\n")
    return hidden + 1


def rich_print(x):
    import rich

    hidden = x.sin()
    rich.print("halfway")
    return hidden + 1


def progress_bar(x):
    from tqdm import tqdm

    for step in tqdm(range(3), file=io.StringIO()):
        x = x + step
    return x


def log_text(x):
    hidden = x.sin()
    logger.info("halfway")
    return hidden + 1


def log_tensor(x):
    hidden = x.sin()
    logger.info("hidden %s", hidden)
    return hidden + 1


def log_shape(x):
    hidden = x.sin()
    logger.info("hidden %s", hidden.shape)
    return hidden + 1


def log_number(x):
    hidden = x.sin()
    logger.info("mean %.3f", hidden.mean().item())
    return hidden + 1


def log_debug_that_is_off(x):
    hidden = x.sin()
    logger.debug("hidden %s", hidden.shape)
    return hidden + 1


def log_if_enabled(x):
    hidden = x.sin()
    if logger.isEnabledFor(logging.INFO):
        logger.info("halfway")
    return hidden + 1


def log_by_module_function(x):
    hidden = x.sin()
    logging.info("halfway")
    return hidden + 1


@lru_cache(None)
def warn_once(message):
    logger.warning(message)


def log_warning_once(x):
    hidden = x.sin()
    warn_once("halfway")
    return hidden + 1


def warn(x):
    hidden = x.sin()
    warnings.warn("the values are large")
    return hidden + 1


def warn_with_tensor(x):
    hidden = x.sin()
    warnings.warn(f"the largest value is {hidden.max()}")
    return hidden + 1


def warn_under_tensor_condition(x):
    if x.abs().max() > 1e4:
        warnings.warn("the values are large")
    return x + 1


def seconds(x):
    begun = time.time()
    hidden = x.sin()
    timings["sin"] = time.time() - begun
    return hidden + 1


def performance_counter(x):
    begun = time.perf_counter()
    hidden = x.sin()
    timings["sin"] = time.perf_counter() - begun
    return hidden + 1


def date_and_time(x):
    hidden = x.sin()
    timings["at"] = datetime.datetime.now()
    return hidden + 1


def synchronize_if_cuda(x):
    hidden = x.sin()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return hidden + 1
