"""Random programs for focus: Python source in which each call is told from all others by its first argument."""

from __future__ import annotations

import random

# What a coroutine that awaits the outside gives to whoever drives it.
PAUSE = "pause"

_HEAD = """
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

"""


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
        functions = [self.function(at) for at in range(count - 1, -1, -1)]
        return _HEAD + "\n\n".join(functions)

    def function(self, at: int) -> str:
        kind = self.kinds[at]
        lines = [
            f"{'async ' if kind == 'coroutine' else ''}def f{at}(site, n=2):",
            f"    advance({self.amount()})",
        ]
        for _ in range(self.random.randint(1, 5)):
            lines += ["    " + line for line in self.statement(at)]
        if kind == "generator":
            lines += ["    for item in range(n):", f"        advance({self.amount()})", "        yield item"]
        if kind == "coroutine" and self.random.random() < 0.6:
            lines += ["    await hold()", f"    advance({self.amount()})"]
        if self.random.random() < 0.15:
            lines += ["    raise KeyError(site)"]
        return "\n".join(lines)

    def statement(self, at: int) -> list[str]:
        kind = self.random.randrange(13)
        call = self.call(at)
        if call is None or kind == 0:
            return [f"advance({self.amount()})"]
        if kind == 1:
            other = self.call(at) or call
            return ["try:", f"    {call}; {other}", "except KeyError:", f"    advance({self.amount()})"]
        if kind == 2:
            return [f"for turn in range({self.random.randint(1, 3)}):", *self.guarded(call)]
        if kind == 3 and (plain := self.plain(at)):
            return [*self.guarded(f"list(map(lambda one: {plain}, [1, 2]))", "")]
        if kind == 4:
            self.site += 1
            return [f"with Held({self.site}):", *self.guarded(call)]
        if kind == 5 and (plain := self.plain(at)):
            return [*self.guarded(f"sorted([2, 1], key=lambda one: {plain} or one)", "")]
        if kind == 6:
            self.site += 1
            return ["if n > 0:", *self.guarded(self.again(at))]
        if kind > 8 and (plain := self.plain(at)):
            return self.guarded(self.part(at, kind, plain), "")
        return self.guarded(call, "")

    def part(self, at: int, kind: int, plain: str) -> str:
        """A comprehension or generator expression that calls functions, run here or by another function."""
        self.site += 1
        other = self.plain(at)
        if kind == 9 and self.kinds[at] == "coroutine" and "await" in (call := self.call(at) or ""):
            return f"[{call} for one in [1, 2]]"
        return self.random.choice(
            [
                f"[{plain} for one in [1, 2] if {other} or one]",
                f"{{one: {plain} for one in [1, 2] for two in [{other}]}}",
                f"sum({plain} or one for one in [1, 2])",
                f"any([{plain} for two in [1]] and {other} for one in [1, 2])",
                f"drained({self.site}, ({plain} for one in [1, 2]))",
                f"drained({self.site}, passed_on(({plain} for one in [{other}])))",
                f"list(map(lambda one: next({plain} for two in [1]), [1, 2]))",
            ]
        )

    def guarded(self, call: str, indent: str = "    ") -> list[str]:
        lines = ["try:", f"    {call}", "except KeyError:", f"    advance({self.amount()})"]
        return [indent + line for line in lines]

    def again(self, at: int) -> str:
        self.site += 1
        if self.kinds[at] == "plain":
            return f"f{at}({self.site}, n - 1)"
        if self.kinds[at] == "generator":
            return f"for item in f{at}({self.site}, n - 1): pass"
        return f"await f{at}({self.site}, n - 1)"

    def call(self, at: int) -> str | None:
        """A statement that calls one of the functions after this one, in a way that is possible here."""
        kinds = (
            ("plain", "generator", "coroutine") if self.kinds[at] == "coroutine" else ("plain", "generator")
        )
        after = [to for to in range(at + 1, len(self.kinds)) if self.kinds[to] in kinds]
        if not after:
            return None
        to = self.random.choice(after)
        self.site += 1
        if self.kinds[to] == "plain":
            return f"f{to}({self.site})"
        if self.kinds[to] == "coroutine":
            return f"await f{to}({self.site})"
        return f"[item for item in f{to}({self.site})]"

    def plain(self, at: int) -> str | None:
        after = [to for to in range(at + 1, len(self.kinds)) if self.kinds[to] == "plain"]
        if not after:
            return None
        self.site += 1
        return f"f{self.random.choice(after)}({self.site})"

    def amount(self) -> int:
        return self.random.randint(1, 50)


def random_program(seed: int) -> str:
    """A program whose function `f0` is to be called: plain, or a coroutine to be driven."""
    return _Writer(seed).program()
