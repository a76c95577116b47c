"""Categories: the kind of work that a section does, derived from the words of its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from ticktree.profile import Node
from ticktree.profile.measures import REMOTE
from ticktree.profile.short_names import function_name

WAITING = "waiting"

Patterns: TypeAlias = Iterable[tuple[str, tuple[str, ...]]]

# The first match wins, so specific patterns precede general ones, and a category may occur twice: the forward pass of
# a policy is the policy's, but its update is training; a batch is data, but training on one is not.
DEFAULTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (WAITING, ("wait*", "sleep*", "idle", "synchroni?e")),
    ("environment", ("env", "envs", "environment*", "gym", "gymnasium", "mujoco", "physics", "simulate")),
    ("training", ("train batch", "training batch", "training step", "train step", "data collection")),
    ("rendering", ("render*", "draw*", "rasteri?e*", "pixels", "viewer")),
    ("robot", ("robot get observation", "robot send action", "teleoperator get action")),
    ("policy", ("sample action*", "action*", "select action*")),
    ("data", ("replay", "buffer*", "sample", "batch*", "minibatch*", "collat*", "dataset*", "data")),
    ("data", ("dataloader*", "prefetch*", "shuffle", "store", "trajector*")),
    ("data", ("copy to cpu", "copy to cuda", "copy to mps", "convert to float*", "convert to uint*")),
    ("training", ("train*", "updat*", "learn*", "optimi?er*", "backward*", "backprop*", "loss", "losses")),
    ("training", ("grad", "grads", "gradient*", "advantage*", "gae", "epoch*")),
    ("preprocessing", ("preprocess*", "resi?e*", "resizing", "crop*", "normali*", "gra?scale", "augment*")),
    ("preprocessing", ("transform", "transforms", "stack", "stacking", "decode", "tokeni*", "to tensor")),
    ("policy", ("policy", "act", "agent", "predict*", "inference", "plan*")),
    ("model", ("model*", "forward*", "convlstm", "conv", "convolution*", "lstm", "gru", "encoder*")),
    ("model", ("decoder*", "attention", "transformer*", "mlp", "backbone", "denois*", "neural network")),
    ("environment", ("observe", "observation*", "collect*", "rollout*", "simulator")),
    ("robot", ("robot*", "motor*", "servo*", "joint*", "gripper*", "camera*", "sensor*", "lidar", "teleop*")),
    ("network", ("network", "http*", "grpc", "rpc", "socket*", "request*", "response*", "send", "recv")),
    ("network", ("receive", "upload*", "download*", "round trip", "ping", "communicator")),
    ("logging", ("log", "logs", "logg*", "tensorboard", "wandb", "checkpoint*")),
    ("logging", ("save*", "metric*", "report")),
)

# The name of a request (remote/requests.py, instruments/grpc.py): the words of its path do not describe this program's
# work. A request with a host is sent; one without may also be served by this program.
_REQUEST = re.compile(
    r"(?:[A-Z]{3,16}|\(other method\)) (?P<host>[^/\s(]*)(?:/.*|\((?:other hosts|no URL)\))|/[\w.]+/\w+"
)
_NETWORK = "network"

_WORD = re.compile(r"[^\W\d_]+|\d+")
_PATTERN_WORD = re.compile(r"(?:[^\W\d_]|[*?])+|\d+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WILD = {"*": "[^ ]*", "?": "[^ ]"}

_PACING = frozenset({"pace", "pacing", "rate", "throttle", "wait", "idle"})


class Categories:
    """Returns the categories of names, and caches them.

    Args:
        own: patterns by category, tried before the defaults. A pattern is a word, or several successive ones: "env",
            "soft update". In a word, `*` matches any letters and `?` one letter.

    Raises:
        ValueError: a pattern has no words.
    """

    def __init__(self, own: Mapping[str, tuple[str, ...]]) -> None:
        self._own = _compile(own.items())
        self._cache: dict[str, str | None] = {}

    def of(self, name: str) -> str | None:
        """Return the category of a node called `name`; None if no pattern matches."""
        if name not in self._cache:
            text = f" {' '.join(words(function_name(name)))} "
            matches = (category for category, pattern in self._own if pattern.search(text))
            self._cache[name] = next(matches, None) or self._default(name, text)
        return self._cache[name]

    def _default(self, name: str, text: str) -> str | None:
        request = _REQUEST.fullmatch(name)
        if request is not None:
            return _NETWORK if request["host"] else None
        return next((category for category, pattern in _DEFAULTS if pattern.search(text)), None)


class Traits(NamedTuple):
    """The properties of a node that its descendants inherit.

    Attributes:
        category: its category; None for none.
        is_wait: whether it, or an ancestor, waits.
        is_remote: whether another program ran it.
    """

    category: str | None = None
    is_wait: bool = False
    is_remote: bool = False


def traits_of(
    node: Node, parent: Traits, categorize: Callable[[str], str | None], *, is_loop: bool = False
) -> Traits:
    """Return a node's traits: its category is that of a wait, that of its name, or else its parent's.

    The work of another program, for which this program waits, is not a wait of that program. A loop has its parent's
    category: its self time is the program's work between its sections, whatever the loop's name.
    """
    is_remote = parent.is_remote or node.clock == REMOTE
    is_wait = node.wait or (parent.is_wait and parent.is_remote == is_remote)
    name_category = None if is_loop else categorize(node.name)
    category = WAITING if is_wait else name_category or parent.category
    return Traits(category, is_wait, is_remote)


def is_sleep(name: str) -> bool:
    """Return whether a name is a sleep's: "sleep", "precise_sleep", "asyncio.sleep", "rate.sleep"."""
    return any(word.startswith("sleep") for word in words(name))


def is_pacing(name: str) -> bool:
    """Return whether a name is that of a wait for the next tick."""
    return any(word in _PACING for word in words(name))


def words(name: str) -> list[str]:
    """Return the words of `name` in lower case: the same three for "env_step2", "EnvStep2" and "env step 2"."""
    return _words(name, _WORD)


def _words(text: str, word: re.Pattern[str]) -> list[str]:
    return [match.casefold() for hump in _HUMP.split(text) for match in word.findall(hump)]


def _compile(patterns: Patterns) -> list[tuple[str, re.Pattern[str]]]:
    return [
        (category, re.compile("|".join(map(_expression, alternatives))))
        for category, alternatives in patterns
        if alternatives
    ]


def _expression(pattern: str) -> str:
    """Return a regular expression that matches `pattern` in words with a space on each side."""
    parts = _words(pattern, _PATTERN_WORD)
    if not parts:
        raise ValueError(f"the pattern {pattern!r} has no words")
    return "".join(_WILD.get(letter) or re.escape(letter) for letter in f" {' '.join(parts)} ")


_DEFAULTS = _compile(DEFAULTS)
