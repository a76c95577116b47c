"""Where to send: the command line, and OpenTelemetry's variables."""

from __future__ import annotations

import pytest

from ticktree.errors import TicktreeError
from ticktree.publishing.otlp_destination import Destination, pairs

OTLP = "OTEL_EXPORTER_OTLP_"


def destination_of(url: str, **variables: str) -> Destination:
    return Destination.of(url, {f"{OTLP}{name}": value for name, value in variables.items()})


@pytest.mark.parametrize(
    ("url", "metrics_url"),
    [
        ("http://collector:4318", "http://collector:4318/v1/metrics"),
        ("http://collector:4318/", "http://collector:4318/v1/metrics"),
        ("http://collector:4318/v1/metrics", "http://collector:4318/v1/metrics"),
        ("https://prometheus/api/v1/otlp", "https://prometheus/api/v1/otlp/v1/metrics"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/metrics"),
        ("http://collector/x?tenant=a", "http://collector/x/v1/metrics?tenant=a"),
    ],
)
def test_a_url_is_completed_to_the_metrics_url(url: str, metrics_url: str) -> None:
    assert destination_of(url).url == metrics_url
    assert destination_of("env", ENDPOINT=url).url == metrics_url


def test_the_variable_of_metrics_alone_goes_first_and_names_the_door_itself() -> None:
    assert (
        destination_of("env", ENDPOINT="http://a", METRICS_ENDPOINT="http://b:1/take").url
        == "http://b:1/take"
    )
    assert destination_of("env", METRICS_ENDPOINT="http://b:1").url == "http://b:1/"
    assert destination_of("env").url == "http://localhost:4318/v1/metrics"
    assert destination_of("http://c", ENDPOINT="http://a").url == "http://c/v1/metrics"


def test_headers_are_read_as_opentelemetry_writes_them() -> None:
    assert destination_of("http://a", HEADERS="api-key=s%20e=t, X-Tenant = b,").headers == {
        "api-key": "s e=t",
        "x-tenant": "b",
    }
    assert destination_of("http://a", HEADERS="a=1", METRICS_HEADERS="b=2").headers == {"b": "2"}


def test_a_user_in_the_url_is_a_header_and_in_no_message() -> None:
    destination = destination_of("https://me:p%40ss@collector")
    assert destination.url == "https://collector/v1/metrics"
    assert destination.headers == {"Authorization": "Basic bWU6cEBzcw=="}
    assert destination.context is not None


def test_how_long_to_wait_and_whether_to_compress() -> None:
    assert (destination_of("http://a").timeout_s, destination_of("http://a").uses_gzip) == (10.0, False)
    assert destination_of("http://a", TIMEOUT="2500").timeout_s == 2.5
    assert destination_of("http://a", COMPRESSION="gzip").uses_gzip
    assert not destination_of("http://a", METRICS_COMPRESSION="none", COMPRESSION="gzip").uses_gzip


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
def test_an_invalid_setting_is_one_clear_line(url: str, variables: dict[str, str], words: str) -> None:
    with pytest.raises(TicktreeError, match=words) as error_info:
        destination_of(url, **variables)
    assert "\n" not in str(error_info.value)


@pytest.mark.parametrize("text", ["secret", "=secret", "a=secret\x00", "a=1,secret"])
def test_the_error_about_an_invalid_header_does_not_repeat_it(text: str) -> None:
    with pytest.raises(TicktreeError, match="KEY=VALUE") as error_info:
        pairs(text, "HEADERS")
    assert "secret" not in str(error_info.value)
