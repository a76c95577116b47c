"""Where to send, and how: what the command line says and what OpenTelemetry's environment variables say."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from ticktree.errors import TicktreeError

# What to write where the variables are to say it.
FROM_ENVIRONMENT = "env"
_DEFAULT = "http://localhost:4318"
_PATH = "/v1/metrics"
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Destination:
    """A collector's door.

    Attributes:
        url: the door itself, without a user's name and password.
        headers: what is sent with every request.
        timeout_s: how long an answer is waited for.
        compressed: whether to send gzip.
        context: the certificates to trust and to present; None for http.
    """

    url: str
    headers: Mapping[str, str]
    timeout_s: float
    compressed: bool
    context: ssl.SSLContext | None

    @classmethod
    def of(cls, url: str, environment: Mapping[str, str]) -> Destination:
        """Return the door that a URL leads to, or the variables where it is "env".

        Raises:
            TicktreeError: There is no such URL, or a variable says what cannot be meant.
        """
        variables = _Variables(environment)
        split = _split(*(_from(variables) if url == FROM_ENVIRONMENT else (url, url, False)))
        user = {"Authorization": f"Basic {_basic(split)}"} if split.username is not None else {}
        address = split._replace(netloc=split.netloc.rpartition("@")[2])
        return cls(
            url=urlunsplit(address),
            headers={**user, **_headers(variables)},
            timeout_s=_timeout_s(variables),
            compressed=_compressed(variables),
            context=_context(variables) if split.scheme == "https" else None,
        )


class _Variables:
    """Variables of OpenTelemetry's exporters: those for metrics override the general ones."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def named(self, name: str) -> tuple[str, str]:
        """Return the variable that is set, and what it says; "" where neither says anything."""
        for variable in (f"OTEL_EXPORTER_OTLP_METRICS_{name}", f"OTEL_EXPORTER_OTLP_{name}"):
            if value := self._environment.get(variable, "").strip():
                return variable, value
        return f"OTEL_EXPORTER_OTLP_{name}", ""


def _from(variables: _Variables) -> tuple[str, str, bool]:
    """Return a URL, where it stands, and whether it is a door's already."""
    protocol = variables.named("PROTOCOL")
    if protocol[1] == "grpc":
        raise TicktreeError(f"--otlp env: {protocol[0]}=grpc, and ticktree speaks http/protobuf alone")
    variable, url = variables.named("ENDPOINT")
    return url or _DEFAULT, f"{variable}={url}", variable == "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"


def _split(url: str, source: str, is_door: bool) -> SplitResult:
    try:
        split = urlsplit(url)
        is_good = split.scheme in ("http", "https") and bool(split.hostname) and split.port != 0
    except ValueError:
        is_good = False
    if not is_good or not url.isprintable() or " " in url:
        raise TicktreeError(f"--otlp {source!r}: use http://HOST:PORT or https://HOST:PORT, or env")
    path = split.path if is_door or split.path.endswith(_PATH) else split.path.rstrip("/") + _PATH
    return split._replace(path=path or "/", fragment="")


def _basic(split: SplitResult) -> str:
    return base64.b64encode(
        f"{unquote(split.username or '')}:{unquote(split.password or '')}".encode()
    ).decode()


def _headers(variables: _Variables) -> dict[str, str]:
    variable, text = variables.named("HEADERS")
    return {key.lower(): value for key, value in pairs(text, variable).items()}


def pairs(text: str, variable: str) -> dict[str, str]:
    """Read `key=value,key=value`, in which special characters are percent-encoded.

    Raises:
        TicktreeError: It is something else. What it says is not repeated: it may be a secret.
    """
    found = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = pair.partition("=")
        key, value = unquote(key.strip()), unquote(value.strip())
        if not equals or not key or not (key + value).isprintable():
            raise TicktreeError(f"{variable} is not KEY=VALUE,KEY=VALUE")
        found[key] = value
    return found


def _timeout_s(variables: _Variables) -> float:
    variable, text = variables.named("TIMEOUT")
    if not text:
        return _PATIENCE_S
    if not (text.isascii() and text.isdigit() and int(text)):
        raise TicktreeError(f"{variable}={text!r} is no number of milliseconds")
    return int(text) / 1000


def _compressed(variables: _Variables) -> bool:
    variable, text = variables.named("COMPRESSION")
    if text not in ("", "none", "gzip"):
        raise TicktreeError(f"{variable}={text!r}: only gzip and none are known")
    return text == "gzip"


def _context(variables: _Variables) -> ssl.SSLContext:
    variable, trusted = variables.named("CERTIFICATE")
    _, certificate = variables.named("CLIENT_CERTIFICATE")
    _, key = variables.named("CLIENT_KEY")
    try:
        context = ssl.create_default_context(cafile=trusted or None)
        if certificate:
            variable = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"
            context.load_cert_chain(certificate, key or None)
    except (OSError, ssl.SSLError) as error:
        raise TicktreeError(f"{variable}: {getattr(error, 'strerror', None) or error}") from None
    return context
