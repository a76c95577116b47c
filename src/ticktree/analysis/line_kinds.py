"""Lines of a program that are known to be slow, or to wait for a lock, by their source.

A sample says which line a thread is in, not what the line does there: numpy, torch, pickle and locks are C code.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from ticktree.analysis.sampled_source import SourceOf, nodes_of
from ticktree.analysis.section_kinds import makes_an_array
from ticktree.profile import SampledStack
from ticktree.profile.noted_lines import (
    ARRAY_OF_LIST,
    COLLECT,
    COMMIT,
    CONVERSION,
    DEEP_COPY,
    DEQUE,
    EAGER_LOG,
    ELEMENT_LOOP,
    GROWING_ARRAY,
    JSON,
    LOCK,
    ONE_BY_ONE,
    PARSED_JSON,
    PERMUTATION,
    PICKLE,
    POLL,
    POOL,
    PROGRAM,
    TABLE_ROW,
    NotedLines,
)

# Calls that make the array that they are given or called on again, in another type, layout or place.
_CONVERSIONS = frozenset({"astype", "ascontiguousarray", "contiguous", "clone", "double", "half", "copy"})
_MAKERS = frozenset({"array", "tensor", "as_tensor", "asarray"})
_LISTS = frozenset({"list", "sample", "choices"})
_LOGS = frozenset({"debug", "info", "warning", "error", "exception", "log"})
_DUMPS = frozenset({"dump", "dumps"})
_PARSES = frozenset({"load", "loads"})
_PICKLERS = frozenset({"pickle", "cloudpickle", "dill"})
_BY_NAME = {
    "deepcopy": DEEP_COPY,
    "commit": COMMIT,
    "iterrows": TABLE_ROW,
    **dict.fromkeys(("run", "call", "check_call", "check_output", "getoutput", "Popen"), PROGRAM),
    **dict.fromkeys(("Pool", "ThreadPool", "ProcessPoolExecutor", "ThreadPoolExecutor"), POOL),
}
_DRAWS = frozenset({"sample", "choice", "choices"})
# Calls in the condition of a loop that sleeps until it is time, and not until something is done.
_CLOCKS = frozenset(
    {"time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns", "now", "ok"}
)
# By these a table is subscripted for one row or one cell.
_ROWS = frozenset({"iloc", "iat", "at"})
_JOINS = frozenset({"append", "concatenate", "vstack", "hstack", "cat"})
# Calls that work on one number, so that a loop of them can be a few operations on arrays.
_OF_NUMBERS = frozenset(
    (
        *("range", "reversed", "enumerate", "zip", "len", "item", "append"),
        *("bool", "int", "float", "float16", "float32", "float64"),
        *("int8", "uint8", "int16", "int32", "int64"),
        *("abs", "max", "min", "round", "floor", "ceil", "sqrt", "exp", "log"),
        *("sin", "cos", "tan", "tanh", "atan2", "hypot"),
    )
)
_REDUCTIONS = frozenset({"mean", "std", "sum", "min", "max", "any", "all", "copy", "clip", "norm"})
_MATHS = frozenset({"np", "numpy", "math", "torch"})
# They may work for so long on large arrays that the loop around them costs nothing.
_LONG = frozenset(
    {"dot", "matmul", "einsum", "tensordot", "solve", "inv", "svd", "eigh", "qr", "cholesky", "sort"}
)
# The last word of a model's name, as of `q_net` and `self.target_policy`, the first of functions that are none, as
# `make_policy`, and the methods of a model that only infer.
_MODELS = frozenset({"model", "net", "network", "policy", "actor", "critic", "agent", "qnet"})
_VERBS = frozenset(
    {"get", "make", "create", "build", "load", "save", "set", "add", "del", "remove", "update", "train"}
)
_INFERS = frozenset(
    {
        "act",
        "forward",
        "predict",
        "select_action",
        "choose_action",
        "get_action",
        "sample_action",
        "get_value",
    }
)
# A loop over these has an input of each at once, as one over the steps of an episode has not.
_AT_ONCE = frozenset({"envs", "obs", "observations", "states", "images", "robots", "workers"})
_ENV_CALLS = frozenset({"step", "reset"})
_OTHER_CODE = (
    ast.Await | ast.Yield | ast.YieldFrom | ast.With | ast.AsyncWith | ast.Try | ast.FunctionDef | ast.Lambda
)
_Lines = Iterator[tuple[int, str]]


def noted_lines(stacks: Iterable[SampledStack], source_of: SourceOf) -> NotedLines:
    """Return the lines of a program, among those in samples, whose source says what their time is spent on."""
    sampled: dict[str, set[int]] = defaultdict(set)
    for stack in stacks:
        for line in stack.lines:
            sampled[line.file].add(line.line)
    noted: dict[tuple[str, int], frozenset[str]] = defaultdict(frozenset)
    for file, numbers in sampled.items():
        for node in nodes_of(source_of(file)):
            found = (each for find in _FINDERS.get(type(node), ()) for each in find(node))
            for number, kind in found:
                if number in numbers:
                    noted[file, number] |= {kind}
    return noted


def _locks_by_with(node: ast.With) -> _Lines:
    """Yield the lines of a `with` statement, unless its body calls something on the same line."""
    lines = {node.lineno, *(item.context_expr.lineno for item in node.items)}
    calls = (inner for inner in _inside(node.body) if isinstance(inner, ast.Call))
    for number in lines - {call.lineno for call in calls}:
        yield number, LOCK


def _calls(node: ast.Call) -> _Lines:
    owner, _, name = _dotted(node.func).rpartition(".")
    if name == "acquire" and owner:
        yield from _all_lines(node, LOCK)
    if name in _BY_NAME:
        yield node.lineno, _BY_NAME[name]
    if name in _DUMPS:
        yield node.lineno, PICKLE if owner in _PICKLERS else JSON
    if name in _PARSES and owner == "json":
        yield node.lineno, PARSED_JSON
    if (name in _CONVERSIONS and owner != "copy") or (name in _MAKERS and _is_of_name(node)):
        yield node.lineno, CONVERSION
    if name == "collect" and owner.endswith("gc"):
        yield node.lineno, COLLECT
    is_log = name in _LOGS and "log" in owner.lower()
    if is_log and any(isinstance(each, ast.JoinedStr) for each in node.args):
        yield node.lineno, EAGER_LOG
    if name == "choice" and owner.endswith("random") and any(map(_is_without_replacement, node.keywords)):
        yield node.lineno, PERMUTATION


def _is_of_name(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Name | ast.Attribute)


def _is_without_replacement(keyword: ast.keyword) -> bool:
    is_false = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
    return keyword.arg == "replace" and is_false


def _permutations(node: ast.Subscript) -> _Lines:
    """Yield the line of `rng.permutation(n)[:k]`, which shuffles all to take a few."""
    call, index = node.value, node.slice
    name = _name(call.func) if isinstance(call, ast.Call) else ""
    if name in ("permutation", "randperm") and isinstance(index, ast.Slice) and index.lower is None:
        yield call.lineno, PERMUTATION


def _rows_of_tables(node: ast.Subscript) -> _Lines:
    """Yield the line that takes a row, or a cell, out of a table: `frame.iloc[i]`."""
    if isinstance(node.value, ast.Attribute) and node.value.attr in _ROWS:
        index = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        if not isinstance(index, ast.Slice):
            yield node.lineno, TABLE_ROW


def _arrays_of_lists(function: ast.FunctionDef | ast.Module) -> _Lines:
    """Yield the lines that make an array of a list: one that is made there, or that the function appends to.

    Of a list that is an attribute, any method may append to it.
    """
    inner = list(ast.walk(function))
    lists = {
        _dotted(node.func.value)
        for node in inner
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append"
    }
    for node in inner:
        if isinstance(node, ast.Call) and node.args and makes_an_array(_name(node.func)):
            of = node.args[0]
            is_made_here = isinstance(of, ast.ListComp | ast.GeneratorExp) and _is_of_numbers(of)
            if isinstance(of, ast.Call):
                is_made_here = _name(of.func) in _LISTS
            if is_made_here or (isinstance(of, ast.Name | ast.Attribute) and _dotted(of) in lists):
                yield node.lineno, ARRAY_OF_LIST
                yield of.lineno, ARRAY_OF_LIST


def _draws_from_deques(module: ast.Module) -> _Lines:
    """Yield the lines that draw items of a deque at random: each is searched for from the nearer end."""
    inner = list(ast.walk(module))
    deques = {
        _name(target)
        for node in inner
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if _name(node.value.func) == "deque"
        for target in node.targets
    }
    for node in inner:
        if isinstance(node, ast.Call) and node.args:
            owner, _, name = _dotted(node.func).rpartition(".")
            is_drawn = name in _DRAWS and owner.endswith(("random", "rng"))
            if is_drawn and _name(node.args[0]) in deques:
                yield node.lineno, DEQUE


def _polls(node: ast.While) -> _Lines:
    """Yield the line of the sleep of a loop that does nothing but ask whether something is done, and sleep."""
    asked = list(ast.walk(node.test))
    called = {_name(each.func) for each in asked if isinstance(each, ast.Call)}
    is_timed = called & _CLOCKS or any(
        isinstance(each, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for each in asked
    )
    if is_timed or len(node.body) > 1 or not any(isinstance(each, ast.Name) for each in asked):
        return
    sleep = node.body[0].value if isinstance(node.body[0], ast.Expr) else None
    if isinstance(sleep, ast.Call) and _name(sleep.func) == "sleep":
        yield sleep.lineno, POLL


def _growing_arrays(node: ast.Assign) -> _Lines:
    """Yield the line of `a = np.append(a, ...)` or `a = np.concatenate([a, ...])`, which copies `a` each time."""
    call = node.value
    if not (len(node.targets) == 1 and isinstance(call, ast.Call) and call.args):
        return
    if _name(call.func) in _JOINS:
        first = call.args[0]
        joined = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
        if ast.unparse(node.targets[0]) in map(ast.unparse, joined):
            yield call.lineno, GROWING_ARRAY


def _inferences_of_items(node: ast.ListComp | ast.DictComp) -> _Lines:
    """Yield the lines of `[policy(o) for o in obs]`, which infers for one input after the other."""
    each = node.generators[0]
    if len(node.generators) == 1 and not each.is_async and _words(each.iter) & _AT_ONCE:
        values = [node.elt] if isinstance(node, ast.ListComp) else [node.value]
        yield from _inferences(values, _names(each.target), set())


def _inferences_in_loops(node: ast.For) -> _Lines:
    """Yield the lines of a loop over environments that infer for one after the other.

    An inference that needs what the one before gave, as a hidden state, is none of them.
    """
    if not _words(node.iter) & _AT_ONCE:
        return
    items, carried = _names(node.target), _carried(node.body)
    for statement in node.body:
        yield from _inferences([statement], items, carried)
        if isinstance(statement, ast.Assign):
            read = _names(statement.value)
            made = {name for target in statement.targets for name in _names(target, ast.Store)}
            items |= made if read & items else set()
            carried |= made if read & carried else set()


def _inferences(nodes: Iterable[ast.AST], items: set[str], carried: set[str]) -> _Lines:
    """Yield the lines that call a model with one of `items`, and with nothing in `carried`, and do nothing else."""
    calls = [each for node in nodes for each in ast.walk(node) if isinstance(each, ast.Call)]
    other = {each.lineno for each in calls if _dotted(each.func).rpartition(".")[2] in _ENV_CALLS}
    for call in calls:
        given = {name for argument in call.args for name in _names(argument)}
        of_model = _is_inference(call) and not _names(call.func) & items
        if of_model and given & items and not given & carried and call.lineno not in other:
            yield call.lineno, ONE_BY_ONE


def _is_inference(call: ast.Call) -> bool:
    owner, _, name = _dotted(call.func).rpartition(".")
    called = owner.rpartition(".")[2] if name in _INFERS else name
    words = called.lower().strip("_").split("_")
    return words[-1].rstrip("0123456789") in _MODELS and words[0] not in _VERBS


def _carried(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that the next turn of a loop reads before it sets them."""
    stored: set[str] = set()
    read_before: set[str] = set()
    for statement in body:
        read_before |= _names(statement, ast.Load) - stored
        stored |= _names(statement, ast.Store)
    return read_before & stored


def _words(node: ast.AST) -> set[str]:
    """Return the words of all names in an expression: those of `self.num_envs` are self, num and envs."""
    names = _names(node) | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    return {word for name in names for word in name.lower().split("_")}


def _element_loops(node: ast.For) -> _Lines:
    """Yield the lines of a loop that only computes with elements of arrays, or with pairs of them, one at a time."""
    within = [each for each in ast.walk(node) if isinstance(each, ast.For)]
    pairs = [each for each in within[1:] if _is_of_pairs(node, each)]
    if pairs or _is_of_elements(node):
        yield from _all_lines(node, ELEMENT_LOOP)


def _is_of_elements(node: ast.For) -> bool:
    """Return whether a loop over indices takes an element by its index, and computes with numbers alone."""
    over = _dotted(node.iter.func) if isinstance(node.iter, ast.Call) else ""
    if over not in ("range", "reversed", "enumerate") or not _is_of_numbers(node):
        return False
    inner = _inside(node.body)
    if any(isinstance(each, ast.MatMult | ast.Slice) for each in inner):
        return False  # of rows, or of batches
    return any(isinstance(each, ast.Subscript) and _names(node.target) & _names(each.slice) for each in inner)


def _is_of_pairs(outer: ast.For, inner: ast.For) -> bool:
    """Return whether two loops, one in the other, do one short computation for each pair of their items."""
    body = _inside(outer.body)
    if any(isinstance(each, ast.MatMult | _OTHER_CODE) for each in body):
        return False
    if not all(_is_short(each) for each in body if isinstance(each, ast.Call) and each is not inner.iter):
        return False
    both = [each for each in _inside(inner.body) if isinstance(each, ast.BinOp | ast.Subscript | ast.Call)]
    return any(_names(outer.target) & _names(each) and _names(inner.target) & _names(each) for each in both)


def _is_short(call: ast.Call) -> bool:
    """Return whether a call is numpy's, math's or a number's, and none that works for long on what it is given."""
    owner, _, name = _dotted(call.func).rpartition(".")
    return name in _OF_NUMBERS | _REDUCTIONS or (owner.partition(".")[0] in _MATHS and name not in _LONG)


def _is_of_numbers(node: ast.AST) -> bool:
    """Return whether code computes with numbers and calls nothing else."""
    return all(
        not isinstance(each, _OTHER_CODE)
        and not (isinstance(each, ast.Call) and _name(each.func) not in _OF_NUMBERS)
        for each in ast.walk(node)
    )


def _names(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """Return the names in code: all, or those that it reads or binds. To set an item of a name is to read the name."""
    return {
        each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context)
    }


def _name(node: ast.expr) -> str:
    """Return the name of what is called, without what it is an attribute of."""
    return _dotted(node).rpartition(".")[2]


def _inside(body: Iterable[ast.stmt]) -> list[ast.AST]:
    return [each for statement in body for each in ast.walk(statement)]


def _all_lines(node: ast.Call | ast.For, kind: str) -> _Lines:
    yield from ((number, kind) for number in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _dotted(node: ast.expr) -> str:
    """Return the name of what is called, with what it is an attribute of if that has a name: `np.stack`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return "?"


_FINDERS: Mapping[type[ast.AST], tuple[Callable[..., _Lines], ...]] = {
    ast.With: (_locks_by_with,),
    ast.Call: (_calls,),
    ast.Assign: (_growing_arrays,),
    ast.Subscript: (_permutations, _rows_of_tables),
    ast.For: (_element_loops, _inferences_in_loops),
    ast.ListComp: (_inferences_of_items,),
    ast.DictComp: (_inferences_of_items,),
    ast.While: (_polls,),
    ast.FunctionDef: (_arrays_of_lists,),
    ast.Module: (_arrays_of_lists, _draws_from_deques),
}
