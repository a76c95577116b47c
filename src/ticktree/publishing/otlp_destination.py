"""Where and how to send, from the command line and OpenTelemetry's environment variables."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from ticktree.errors import TicktreeError

_DEFAULT_URL = "http://localhost:4318"
_PATH = "/v1/metrics"
_DEFAULT_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Destination:
    """A collector's URL, and how to send to it."""

    url: str  # without a user's name and password
    headers: Mapping[str, str]
    timeout_s: float
    uses_gzip: bool
    context: ssl.SSLContext | None  # the certificates to trust and to present; None for http

    @classmethod
    def of(cls, url: str, environment: Mapping[str, str]) -> Destination:
        """Return the destination at a URL, or in the environment variables if it is "env".

        Raises:
            TicktreeError: The URL or a variable is invalid.
        """
        split = _split(*(_url_from_environment(environment) if url == "env" else (url, url, False)))
        address = split._replace(netloc=split.netloc.rpartition("@")[2])
        return cls(
            url=urlunsplit(address),
            headers=dict(_headers(split, environment)),
            timeout_s=_timeout_s(environment),
            uses_gzip=_uses_gzip(environment),
            context=_context(environment) if split.scheme == "https" else None,
        )


def _variable(environment: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the OpenTelemetry exporter's variable that is set, and its value; that for metrics takes precedence."""
    for variable in (f"OTEL_EXPORTER_OTLP_METRICS_{name}", f"OTEL_EXPORTER_OTLP_{name}"):
        if value := environment.get(variable, "").strip():
            return variable, value
    return f"OTEL_EXPORTER_OTLP_{name}", ""


def _url_from_environment(environment: Mapping[str, str]) -> tuple[str, str, bool]:
    """Return a URL, its source for messages, and whether it includes the path."""
    variable, protocol = _variable(environment, "PROTOCOL")
    if protocol == "grpc":
        raise TicktreeError(f"--otlp env: {variable}=grpc, and ticktree speaks http/protobuf alone")
    variable, url = _variable(environment, "ENDPOINT")
    return url or _DEFAULT_URL, f"{variable}={url}", variable == "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"


def _split(url: str, source: str, has_path: bool) -> SplitResult:
    try:
        split = urlsplit(url)
        is_valid = split.scheme in ("http", "https") and bool(split.hostname) and split.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or not url.isprintable() or " " in url:
        raise TicktreeError(f"--otlp {source!r}: use http://HOST:PORT or https://HOST:PORT, or env")
    path = split.path if has_path or split.path.endswith(_PATH) else split.path.rstrip("/") + _PATH
    return split._replace(path=path or "/", fragment="")


def _headers(split: SplitResult, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if split.username is not None:
        user = f"{unquote(split.username)}:{unquote(split.password or '')}"
        yield "Authorization", f"Basic {base64.b64encode(user.encode()).decode()}"
    variable, text = _variable(environment, "HEADERS")
    yield from ((key.lower(), value) for key, value in pairs(text, variable).items())


def pairs(text: str, variable: str) -> dict[str, str]:
    """Read `key=value,key=value`, in which special characters are percent-encoded.

    Raises:
        TicktreeError: It is something else. The message does not contain the text: it may be a secret.
    """
    values = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = pair.partition("=")
        key, value = unquote(key.strip()), unquote(value.strip())
        if not equals or not key or not (key + value).isprintable():
            raise TicktreeError(f"{variable} is not KEY=VALUE,KEY=VALUE")
        values[key] = value
    return values


def _timeout_s(environment: Mapping[str, str]) -> float:
    variable, text = _variable(environment, "TIMEOUT")
    if not text:
        return _DEFAULT_TIMEOUT_S
    if not (text.isascii() and text.isdigit() and int(text)):
        raise TicktreeError(f"{variable}={text!r} is no number of milliseconds")
    return int(text) / 1000


def _uses_gzip(environment: Mapping[str, str]) -> bool:
    variable, text = _variable(environment, "COMPRESSION")
    if text not in ("", "none", "gzip"):
        raise TicktreeError(f"{variable}={text!r}: only gzip and none are known")
    return text == "gzip"


def _context(environment: Mapping[str, str]) -> ssl.SSLContext:
    variable, trusted = _variable(environment, "CERTIFICATE")
    _, certificate = _variable(environment, "CLIENT_CERTIFICATE")
    _, key = _variable(environment, "CLIENT_KEY")
    try:
        context = ssl.create_default_context(cafile=trusted or None)
        if certificate:
            variable = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"
            context.load_cert_chain(certificate, key or None)
    except (OSError, ssl.SSLError) as error:
        raise TicktreeError(f"{variable}: {getattr(error, 'strerror', None) or error}") from None
    return context
