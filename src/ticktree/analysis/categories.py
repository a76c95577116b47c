"""Categories: the sort of work that a section does, from the words of its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from ticktree.profile import Node
from ticktree.profile.measures import REMOTE
from ticktree.profile.short_names import does

WAITING = "waiting"

Patterns: TypeAlias = Iterable[tuple[str, tuple[str, ...]]]

# The first that matches wins, so what says more stands before what says less, and a category may come twice: the
# forward pass of a policy is the policy's, but its update is training; a batch is data, but training on one is not.
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

# What a request is called (remote/requests.py, instruments/grpc.py): the words of its path are not this program's for
# what it does. With a host it is sent; without, it may as well be served here.
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
        own: patterns by category, tried before the defaults. A pattern is a word, or several that follow one another:
            "env", "soft update". In a word `*` stands for any letters and `?` for one.

    Raises:
        ValueError: a pattern has no words.
    """

    def __init__(self, own: Mapping[str, tuple[str, ...]]) -> None:
        self._own = _compiled(own.items())
        self._known: dict[str, str | None] = {}

    def of(self, name: str) -> str | None:
        """Return the category of a node called `name`; None if no pattern matches."""
        if name not in self._known:
            text = f" {' '.join(words(does(name)))} "
            found = (category for category, pattern in self._own if pattern.search(text))
            self._known[name] = next(found, None) or self._default(name, text)
        return self._known[name]

    def _default(self, name: str, text: str) -> str | None:
        request = _REQUEST.fullmatch(name)
        if request is not None:
            return _NETWORK if request["host"] else None
        return next((category for category, pattern in _DEFAULTS if pattern.search(text)), None)


class Within(NamedTuple):
    """What a node inherits from its ancestors, and passes on.

    Attributes:
        category: its category; None for none.
        waits: whether it, or an ancestor, waits.
        is_remote: whether another program did it.
    """

    category: str | None = None
    waits: bool = False
    is_remote: bool = False


def within(
    node: Node, above: Within, categorize: Callable[[str], str | None], *, is_loop: bool = False
) -> Within:
    """Return a node's category: that of a wait, of its name, or else of its parent.

    The work of another program, for which this program waits, is not a wait of that program. A loop has its parent's
    category: its self time is what the program does between its sections, whatever the name of the loop.
    """
    is_remote = above.is_remote or node.clock == REMOTE
    waits = node.wait or (above.waits and above.is_remote == is_remote)
    own = None if is_loop else categorize(node.name)
    category = WAITING if waits else own or above.category
    return Within(category, waits, is_remote)


def is_sleep(name: str) -> bool:
    """Return whether a name is that of a sleep: "sleep", "precise_sleep", "asyncio.sleep", "rate.sleep"."""
    return any(word.startswith("sleep") for word in words(name))


def is_pacing(name: str) -> bool:
    """Return whether a name is that of a wait for the next tick."""
    return any(word in _PACING for word in words(name))


def words(name: str) -> list[str]:
    """Return the words of `name` in lower case: of "env_step2", "EnvStep2" and "env step 2" the same three."""
    return _words(name, _WORD)


def _words(text: str, word: re.Pattern[str]) -> list[str]:
    return [found.casefold() for hump in _HUMP.split(text) for found in word.findall(hump)]


def _compiled(patterns: Patterns) -> list[tuple[str, re.Pattern[str]]]:
    return [(category, re.compile("|".join(map(_expression, each)))) for category, each in patterns if each]


def _expression(pattern: str) -> str:
    """Return what finds `pattern` in words that have a space on each side."""
    found = _words(pattern, _PATTERN_WORD)
    if not found:
        raise ValueError(f"the pattern {pattern!r} has no words")
    return f" {' '.join(map(_letters, found))} "


def _letters(word: str) -> str:
    return "".join(_WILD.get(letter) or re.escape(letter) for letter in word)


_DEFAULTS = _compiled(DEFAULTS)
