"""The two operators that torchvision's wheel brings only for CUDA builds of torch, declared to a CPU build."""

from __future__ import annotations

import torch

_DECLARED: list[torch.library.Library] = []  # a declaration lives as long as its library object
_SCHEMAS = {
    "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}


def declare_missing_operators() -> None:
    """Let `import torchvision` work with a CPU build of torch. Call it before anything imports torchvision.

    Its import registers fake versions of operators that its compiled library could not load here. Nothing in this
    program suppresses boxes: calling one of the two still fails.
    """
    if _DECLARED or torch.version.cuda is not None:
        return
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for name, schema in _SCHEMAS.items():
        if not hasattr(torch.ops.torchvision, name):
            library.define(schema)  # type: ignore[no-untyped-call]
    _DECLARED.append(library)
