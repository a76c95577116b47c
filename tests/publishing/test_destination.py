"""Where to send: the command line, and OpenTelemetry's variables."""

from __future__ import annotations

import pytest

from ticktree.errors import TicktreeError
from ticktree.publishing.otlp_destination import Destination, pairs

OTLP = "OTEL_EXPORTER_OTLP_"


def of(url: str, **variables: str) -> Destination:
    return Destination.of(url, {f"{OTLP}{name}": value for name, value in variables.items()})


@pytest.mark.parametrize(
    ("url", "door"),
    [
        ("http://collector:4318", "http://collector:4318/v1/metrics"),
        ("http://collector:4318/", "http://collector:4318/v1/metrics"),
        ("http://collector:4318/v1/metrics", "http://collector:4318/v1/metrics"),
        ("https://prometheus/api/v1/otlp", "https://prometheus/api/v1/otlp/v1/metrics"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/metrics"),
        ("http://collector/x?tenant=a", "http://collector/x/v1/metrics?tenant=a"),
    ],
)
def test_a_url_leads_to_the_door_of_metrics(url: str, door: str) -> None:
    assert of(url).url == door
    assert of("env", ENDPOINT=url).url == door


def test_the_variable_of_metrics_alone_goes_first_and_names_the_door_itself() -> None:
    assert of("env", ENDPOINT="http://a", METRICS_ENDPOINT="http://b:1/take").url == "http://b:1/take"
    assert of("env", METRICS_ENDPOINT="http://b:1").url == "http://b:1/"
    assert of("env").url == "http://localhost:4318/v1/metrics"
    assert of("http://c", ENDPOINT="http://a").url == "http://c/v1/metrics"


def test_headers_are_read_as_opentelemetry_writes_them() -> None:
    assert of("http://a", HEADERS="api-key=s%20e=t, X-Tenant = b,").headers == {
        "api-key": "s e=t",
        "x-tenant": "b",
    }
    assert of("http://a", HEADERS="a=1", METRICS_HEADERS="b=2").headers == {"b": "2"}


def test_a_user_in_the_url_is_a_header_and_in_no_message() -> None:
    found = of("https://me:p%40ss@collector")
    assert found.url == "https://collector/v1/metrics"
    assert found.headers == {"Authorization": "Basic bWU6cEBzcw=="}
    assert found.context is not None


def test_how_long_to_wait_and_whether_to_compress() -> None:
    assert (of("http://a").timeout_s, of("http://a").compressed) == (10.0, False)
    assert of("http://a", TIMEOUT="2500").timeout_s == 2.5
    assert of("http://a", COMPRESSION="gzip").compressed
    assert not of("http://a", METRICS_COMPRESSION="none", COMPRESSION="gzip").compressed


@pytest.mark.parametrize(
    ("url", "variables", "words"),
    [
        ("collector:4318", {}, "http://HOST:PORT"),
        ("http://", {}, "http://HOST:PORT"),
        ("http://a:99999", {}, "http://HOST:PORT"),
        ("http://a:b", {}, "http://HOST:PORT"),
        ("ftp://a", {}, "http://HOST:PORT"),
        ("http://a\n", {}, "http://HOST:PORT"),
        ("env", {"ENDPOINT": "collector"}, "OTEL_EXPORTER_OTLP_ENDPOINT=collector"),
        ("env", {"PROTOCOL": "grpc"}, "http/protobuf"),
        ("http://a", {"TIMEOUT": "10s"}, "milliseconds"),
        ("http://a", {"COMPRESSION": "zstd"}, "gzip"),
        ("https://a", {"CERTIFICATE": "/nowhere.pem"}, "OTEL_EXPORTER_OTLP_CERTIFICATE"),
    ],
)
def test_what_cannot_be_meant_is_one_clear_line(url: str, variables: dict[str, str], words: str) -> None:
    with pytest.raises(TicktreeError, match=words) as caught:
        of(url, **variables)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["secret", "=secret", "a=secret\x00", "a=1,secret"])
def test_a_header_that_is_none_is_not_repeated(text: str) -> None:
    with pytest.raises(TicktreeError, match="KEY=VALUE") as caught:
        pairs(text, "HEADERS")
    assert "secret" not in str(caught.value)
