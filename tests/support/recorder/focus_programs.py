"""Random programs for focus: Python source in which the first argument of each call is unique."""

from __future__ import annotations

import random

# What a coroutine that awaits the outside gives to whoever drives it.
PAUSE = "pause"

_HEAD = """
import contextlib
import functools
import types

@types.coroutine
def hold():
    yield PAUSE

class Held:
    def __init__(self, site): self.site = site
    def __enter__(self): return self
    def __exit__(self, *_): return None

def drained(site, items):
    advance(site)
    for item in items:
        advance(3)

def passed_on(items):
    for item in items:
        yield item

def counting(n):
    try:
        for item in range(n):
            advance(2)
            yield item
    finally:
        advance(7)

def relayed(n):
    advance(1)
    found = yield from counting(n)
    advance(2)

def sulking(n):
    while True:
        try:
            advance(3)
            yield n
        except KeyError:
            advance(n)

@contextlib.contextmanager
def managed():
    advance(4)
    try:
        yield
    finally:
        advance(5)

async def spoken(n):
    try:
        for item in range(n):
            advance(2)
            await hold()
            yield item
    finally:
        advance(6)

class AsyncHeld:
    async def __aenter__(self):
        advance(3)
        await hold()

    async def __aexit__(self, *_):
        advance(1)

class Described:
    def __get__(self, instance, owner):
        advance(5)
        return 3

class Meta(type):
    def __call__(cls, *args):
        advance(2)
        return super().__call__(*args)

class Odd(metaclass=Meta):
    described = Described()

    def __init__(self, left=0):
        self.left = left

    @property
    def value(self):
        advance(4)
        return self.left and Odd(self.left - 1).value

    @functools.cached_property
    def kept(self):
        advance(6)
        return 1

    def __getattr__(self, name):
        advance(2)
        if len(name) > 3:
            return getattr(self, name[:-1])
        raise AttributeError(name)

    def __add__(self, other):
        advance(3)
        return NotImplemented

    def __radd__(self, other):
        advance(4)
        return self

    def __lt__(self, other):
        advance(2)
        return True

    def __iter__(self):
        advance(1)
        return self

    def __next__(self):
        advance(2)
        if self.left <= 0:
            raise StopIteration
        self.left -= 1
        return self.left

    def __call__(self, *_):
        advance(3)

    def __int__(self):
        advance(2)
        raise KeyError("no number")

    @classmethod
    def made(cls):
        advance(1)
        return cls()

    @staticmethod
    def apart():
        advance(1)

    @functools.lru_cache(maxsize=None)
    def cached(self):
        advance(8)

class Dying:
    def __del__(self):
        advance(6)

def deeper(n):
    advance(1)
    return n and deeper(n - 1)

"""

# What a function may do that is called by nobody's name, or left in an odd way; `{}` is a call.
_ODDITIES = (
    "g = counting(3); next(g); g.close()",
    "counting(3).__next__()",
    "g = relayed(3); next(g); next(g); {}; g.close()",
    "g = relayed(2); next(g); g.throw(KeyError)",
    "g = sulking(4); next(g); g.throw(KeyError); {}; g.close()",
    "g = sulking(4); g.close()",
    "for item in counting(3): break",
    "for item in relayed(3): {}; break",
    "a, *b = relayed(2)",
    "zip(counting(2), relayed(3)).__next__()",
    "[*zip(counting(2), relayed(3))]",
    "next(counting(0), None)",
    "with managed(): {}",
    "with contextlib.suppress(KeyError): {}",
    "with contextlib.ExitStack() as stack: stack.enter_context(managed()); {}",
    "Odd(2).value",
    "Odd().kept; Odd().described",
    "Odd().unknown",
    "hasattr(Odd(), 'missing')",
    "1 + Odd() + 2",
    "sorted([Odd(), Odd(), Odd()]); min(Odd(), Odd())",
    "[*Odd(2)]",
    "for item in Odd(3): {}",
    "list(map(Odd(), [1, 2]))",
    "int(Odd())",
    "max([3, 1], key=lambda one: int(Odd()))",
    "Odd.made().apart()",
    "odd = Odd(); odd.cached(); odd.cached()",
    "Dying(); {}",
    "[Dying(), Dying()]; {}",
    "functools.partial(deeper, 3)()",
    "functools.reduce(lambda a, b: deeper(b), [1, 2, 3])",
    "(lambda: [deeper(1) for one in counting(2)])()",
    "eval('deeper(2)')",
    "getattr(Odd, 'made')().__call__()",
    "sum(one for one in relayed(2) if {} or one)",
    "any(deeper(one) for one in counting(3))",
    "g = counting(3); next(g); {}; del g",
    "dying = [Dying(), Dying()]; del dying; {}",
)
_ASYNC_ODDITIES = (
    "[item async for item in spoken(2)]",
    "[deeper(item) async for item in spoken(2) if deeper(1)]",
    "s = spoken(3); await s.__anext__(); {}; await s.aclose()",
    "s = spoken(2); await anext(s); await anext(s)\ntry: await anext(s)\nexcept StopAsyncIteration: advance(2)",
    "s = spoken(2); await anext(s); await s.athrow(KeyError)",
    "async for item in spoken(2): {}",
    "async with AsyncHeld(): {}",
    "async with AsyncHeld(): await hold()",
)


class _Writer:
    """Writes functions that call those after them, and sometimes themselves."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.site = 0
        self.kinds: list[str] = []

    def program(self) -> str:
        count = self.random.randint(4, 9)
        self.kinds = [
            self.random.choice(["plain", "plain", "plain", "generator", "coroutine"]) for _ in range(count)
        ]
        self.kinds[0] = self.random.choice(["plain", "coroutine"])
        functions = [self.function(index) for index in range(count - 1, -1, -1)]
        return _HEAD + "\n\n".join(functions)

    def function(self, index: int) -> str:
        kind = self.kinds[index]
        lines = [
            f"{'async ' if kind == 'coroutine' else ''}def f{index}(site, n=2):",
            f"    advance({self.amount()})",
        ]
        for _ in range(self.random.randint(1, 5)):
            lines += ["    " + line for line in self.statement(index)]
        if kind == "generator":
            lines += ["    for item in range(n):", f"        advance({self.amount()})", "        yield item"]
        if kind == "coroutine" and self.random.random() < 0.6:
            lines += ["    await hold()", f"    advance({self.amount()})"]
        if self.random.random() < 0.15:
            lines += ["    raise KeyError(site)"]
        return "\n".join(lines)

    def statement(self, index: int) -> list[str]:
        kind = self.random.randrange(16)
        call = self.call(index)
        if call is None or kind == 0:
            return [f"advance({self.amount()})"]
        if kind == 1:
            alternative = self.call(index) or call
            return ["try:", f"    {call}; {alternative}", "except KeyError:", f"    advance({self.amount()})"]
        if kind == 2:
            return [f"for turn in range({self.random.randint(1, 3)}):", *self.guarded(call)]
        if kind == 3 and (plain := self.plain(index)):
            return [*self.guarded(f"list(map(lambda one: {plain}, [1, 2]))", "")]
        if kind == 4:
            self.site += 1
            return [f"with Held({self.site}):", *self.guarded(call)]
        if kind == 5 and (plain := self.plain(index)):
            return [*self.guarded(f"sorted([2, 1], key=lambda one: {plain} or one)", "")]
        if kind == 6:
            self.site += 1
            return ["if n > 0:", *self.guarded(self.again(index))]
        if kind > 12:
            return self.odd(index)
        if kind > 8 and (plain := self.plain(index)):
            return self.guarded(self.part(index, kind, plain), "")
        return self.guarded(call, "")

    def part(self, index: int, kind: int, plain: str) -> str:
        """A comprehension or generator expression that calls functions, run here or by another function."""
        self.site += 1
        plain_call = self.plain(index)
        if kind == 9 and self.kinds[index] == "coroutine" and "await" in (call := self.call(index) or ""):
            return f"[{call} for one in [1, 2]]"
        return self.random.choice(
            [
                f"[{plain} for one in [1, 2] if {plain_call} or one]",
                f"{{one: {plain} for one in [1, 2] for two in [{plain_call}]}}",
                f"sum({plain} or one for one in [1, 2])",
                f"any([{plain} for two in [1]] and {plain_call} for one in [1, 2])",
                f"drained({self.site}, ({plain} for one in [1, 2]))",
                f"drained({self.site}, passed_on(({plain} for one in [{plain_call}])))",
                f"list(map(lambda one: next({plain} for two in [1]), [1, 2]))",
            ]
        )

    def odd(self, index: int) -> list[str]:
        oddities = _ODDITIES + _ASYNC_ODDITIES * (self.kinds[index] == "coroutine")
        lines = self.random.choice(oddities).replace("{}", self.plain(index) or "advance(1)").split("\n")
        body = [f"    {line}" for line in lines]
        return [
            "try:",
            *body,
            "except (AttributeError, KeyError, TypeError):",
            f"    advance({self.amount()})",
        ]

    def guarded(self, call: str, indent: str = "    ") -> list[str]:
        lines = ["try:", f"    {call}", "except KeyError:", f"    advance({self.amount()})"]
        return [indent + line for line in lines]

    def again(self, index: int) -> str:
        self.site += 1
        if self.kinds[index] == "plain":
            return f"f{index}({self.site}, n - 1)"
        if self.kinds[index] == "generator":
            return f"for item in f{index}({self.site}, n - 1): pass"
        return f"await f{index}({self.site}, n - 1)"

    def call(self, index: int) -> str | None:
        """A statement that calls one of the functions after this one, in a way that is possible here."""
        kinds = (
            ("plain", "generator", "coroutine")
            if self.kinds[index] == "coroutine"
            else ("plain", "generator")
        )
        after = [target for target in range(index + 1, len(self.kinds)) if self.kinds[target] in kinds]
        if not after:
            return None
        target = self.random.choice(after)
        self.site += 1
        if self.kinds[target] == "plain":
            return f"f{target}({self.site})"
        if self.kinds[target] == "coroutine":
            return f"await f{target}({self.site})"
        return f"[item for item in f{target}({self.site})]"

    def plain(self, index: int) -> str | None:
        after = [target for target in range(index + 1, len(self.kinds)) if self.kinds[target] == "plain"]
        if not after:
            return None
        self.site += 1
        return f"f{self.random.choice(after)}({self.site})"

    def amount(self) -> int:
        return self.random.randint(1, 50)


def random_program(seed: int) -> str:
    """A program whose function `f0` is to be called: plain, or a coroutine to be driven."""
    return _Writer(seed).program()
