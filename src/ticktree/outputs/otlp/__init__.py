"""OpenTelemetry's metrics and spans as lines of OTLP/JSON: what its collector reads from files and takes over HTTP.

Metrics are a run's totals, and spans the calls of its timeline: neither is made up from the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.otlp.metrics import request
from ticktree.outputs.otlp.spans import requests
from ticktree.profile import Profile
from ticktree.profile.timeline import Timeline


def render(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return a request a line: one ExportMetricsServiceRequest, then the timeline's ExportTraceServiceRequests."""
    return "".join(f"{line}\n" for line in _lines(profile, options, timeline)).encode()


def _lines(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> Iterator[str]:
    if options.only != "calls":
        yield json.dumps(request(profile), separators=(",", ":"), allow_nan=False)
    if timeline is not None:
        yield from requests(profile, timeline)


__all__ = ["render"]
