"""How cheap a decorator can be: a wrapper in C that does nothing, one that reads the clock and adds, and `@timed`.

In the unit and by the method of `overhead.py`. What the wrapper that does nothing takes is the interpreter's: it runs
a call of a Python function from Python in the loop that it is in, and one from C in a new one. None can be cheaper.
The wrappers are `peers/wrapper_floor.c`, built here by the compiler that `cc` or `$CC` names.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from harness.race import Contender, Cost, race
from harness.report import Figure, Report, options, progress
from harness.scratch import recording
from harness.sections import calls
from ticktree import timed

SOURCE = Path(__file__).parent / "peers" / "wrapper_floor.c"


def built(folder: Path) -> ModuleType:
    """Compile the wrappers for this interpreter, and import them."""
    library = folder / f"wrapper_floor{sysconfig.get_config_var('EXT_SUFFIX')}"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include = f"-I{sysconfig.get_paths()['include']}"
    subprocess.run(
        [*compiler, "-O3", "-shared", "-fPIC", include, str(SOURCE), "-o", str(library)], check=True
    )
    spec = importlib.util.spec_from_file_location("wrapper_floor", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def do_nothing() -> None:
    """The function that is wrapped."""


def cost(wrap: Callable[[Callable[[], object]], Callable[[], object]]) -> Cost:
    """What a decorator adds to a call."""
    return Cost(block=calls(wrap(do_nothing)), bare=calls(do_nothing))


def measure(rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, recording():
        floor = built(Path(folder))
        progress("wrappers")
        contenders = [
            Contender("a wrapper in C that only calls", cost(floor.Through)),
            Contender("and reads the clock twice, and adds", cost(floor.Clocked)),
            Contender("@timed", cost(timed)),
        ]
        results = race(contenders, rounds)
    return [
        Figure.of_spread(
            name,
            result.ratio,
            "x",
            also={"cost ns": result.cost_ns.median, "by hand ns": result.yardstick_ns.median},
        )
        for name, result in results.items()
    ]


def main() -> None:
    parser = options(__doc__)
    arguments = parser.parse_args()
    title = "A decorator, in units of two hand-written time.perf_counter_ns() calls"
    lines = measure(9 if arguments.quick else 60)
    Report("wrapper_floor", title, lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
