from __future__ import annotations

import pytest

from support.findings import findings
from support.sampled_runs import run_sampled
from ticktree.analysis.rules.torch import AnomalyDetectionRule

pytest.importorskip("torch")

PROGRAM = """
import torch
from torch import nn

net = nn.Linear(4, 4)

def step():
    net(torch.ones(2, 4)).sum().backward()

{switch}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("switch", "rules"),
    [
        ("torch.autograd.set_detect_anomaly(True); step()", ["anomaly-detection"]),
        ("with torch.autograd.detect_anomaly(): step()", []),
        ("for _ in range(10):\n    with torch.autograd.detect_anomaly(): step()", ["anomaly-detection"]),
        ("step()", []),
        (
            "for _ in range(10):\n"
            "    torch._dynamo.reset()\n"
            "    torch.compile(net, backend='aot_eager')(torch.ones(2, 4)).sum().backward()",
            [],
        ),
    ],
    ids=["on", "for one step", "for each step", "off", "by the compiler"],
)
def test_anomaly_detection_that_is_left_on_is_reported(tmp_path, switch, rules):
    profile, _ = run_sampled(tmp_path, PROGRAM.format(switch=switch), "--quiet", before="")
    all_findings = findings(profile, rules=[AnomalyDetectionRule()])
    assert [finding.rule for finding in all_findings] == rules
    assert all(finding.message.startswith("Switch anomaly detection off") for finding in all_findings)
