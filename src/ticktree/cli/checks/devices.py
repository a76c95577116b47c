"""Of which devices the time can be measured here, and how. Nothing is imported for that, and no device woken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata, util
from pathlib import Path

from ticktree.machine.ceilings import processor

_BUILT_FOR = re.compile(r"^(cuda|hip)\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)


def check(gpus: int | None = None) -> Iterator[str]:
    """Yield a sentence a kind of device.

    Args:
        gpus: how many NVIDIA GPUs there are; by default as many as the driver lists.
    """
    torch = _version("torch")
    yield f"cuda: {_cuda(torch, processor.gpus() if gpus is None else gpus)}"
    yield f"mps: {_mps(torch)}"
    yield "cpu: work is done when the call returns, so that the host's time is its time; there is no row of its own."
    yield f"jax: {_jax(_version('jax'))}"
    if _version("nvidia-ml-py") is None:
        yield "Counters of NVIDIA GPUs are not read: pip install 'ticktree[nvidia]'."
    else:
        yield "Counters of NVIDIA GPUs are read by `ticktree run`, where the driver has any."


def _cuda(torch: str | None, gpus: int) -> str:
    if torch is None:
        return "not measured: torch is not installed."
    built = built_for()
    if not built:
        return f"not measured: torch {torch} was built without it."
    listed = f"the driver lists {gpus} of NVIDIA's" if gpus else "the driver lists none of NVIDIA's"
    return (
        f"measured by events of torch {torch} ({', '.join(built)}), which are looked at later; nothing waits. "
        f"GPUs: {listed}."
    )


def _mps(torch: str | None) -> str:
    if torch is None:
        return "not measured: torch is not installed."
    if not processor.is_apple():
        return "not measured: this is no Mac of Apple's own processors."
    return "measured only with --device-sync: to read its clock is to wait for it."


def _jax(version: str | None) -> str:
    if version is None:
        return "not measured: jax is not installed."
    return (
        "measured only with --device-sync, from the section's beginning until its results are there "
        f"(jax {version})."
    )


def built_for() -> list[str]:
    """Return what the installed torch was built for, such as "cuda 12.8"."""
    with suppress(ImportError, OSError, ValueError):
        spec = util.find_spec("torch")
        for folder in (spec.submodule_search_locations or []) if spec is not None else []:
            text = Path(folder, "version.py").read_text(encoding="utf-8", errors="replace")
            return [f"{kind} {version}" for kind, version in _BUILT_FOR.findall(text)]
    return []


def _version(name: str) -> str | None:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    return None
