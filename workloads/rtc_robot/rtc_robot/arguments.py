"""Kinds of values on the command lines of both scripts."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch


def whole_number(least: int) -> Callable[[str], int]:
    """Return what reads a whole number that is not below `least`."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return convert


def positive(text: str) -> float:
    """Read a number above 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def yes_or_no(text: str) -> bool:
    """Read true or false, as lerobot's command lines say it."""
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in known:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return known[text.lower()]


def device(text: str) -> str:
    """Read a device of torch's that is here: cpu, cuda, mps."""
    try:
        found = torch.device(text)
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"no such device: {text}") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise argparse.ArgumentTypeError("no CUDA device here")
    if found.type == "mps" and not torch.backends.mps.is_available():
        raise argparse.ArgumentTypeError("no MPS device here")
    return text
