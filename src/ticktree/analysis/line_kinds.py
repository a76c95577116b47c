"""Lines of a program that are known from their source to be slow, or to wait for a lock.

A sample shows which line a thread is in, not what the line does: numpy, torch, pickle and locks are C code.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import UnionType
from typing import TypeVar

from ticktree.analysis.sampled_source import SourceOf, syntax_nodes
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

# Calls that copy an array to another type, layout or place.
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
# Calls in the condition of a loop that sleeps until a time, not until something is done.
_CLOCKS = frozenset(
    {"time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns", "now", "ok"}
)
# Attributes of a table that are subscripted for one row or one cell.
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
# They may take so long on large arrays that the cost of the loop around them is negligible.
_LONG = frozenset(
    {"dot", "matmul", "einsum", "tensordot", "solve", "inv", "svd", "eigh", "qr", "cholesky", "sort"}
)
# The last word of a model's name, as in `q_net` and `self.target_policy`; the first word of functions that are not
# models, as in `make_policy`; and the methods of a model that only infer.
_MODELS = frozenset({"model", "net", "network", "policy", "actor", "critic", "agent", "qnet"})
_VERBS = frozenset(
    {"get", "make", "create", "build", "load", "save", "set", "add", "del", "remove", "update", "train"}
)
_INFERS = frozenset(
    (
        *("act", "forward", "predict", "get_value"),
        *("get_action", "select_action", "choose_action", "sample_action"),
    )
)
# A loop over these has all its inputs at the same time, unlike a loop over the steps of an episode.
_AT_ONCE = frozenset({"envs", "obs", "observations", "states", "images", "robots", "workers"})
_ENV_CALLS = frozenset({"step", "reset"})
_OTHER_CODE = (
    ast.Await | ast.Yield | ast.YieldFrom | ast.With | ast.AsyncWith | ast.Try | ast.FunctionDef | ast.Lambda
)
_Lines = Iterator[tuple[int, str]]
_Node = TypeVar("_Node", bound=ast.AST)


def noted_lines(stacks: Iterable[SampledStack], source_of: SourceOf) -> NotedLines:
    """Return the sampled lines of a program whose source shows what their time is spent on."""
    sampled: dict[str, set[int]] = defaultdict(set)
    for stack in stacks:
        for line in stack.lines:
            sampled[line.file].add(line.line)
    noted: dict[tuple[str, int], frozenset[str]] = defaultdict(frozenset)
    for file, numbers in sampled.items():
        for node in syntax_nodes(source_of(file)):
            for finder in _FINDERS.get(type(node), ()):
                for number, kind in finder(node):
                    if number in numbers:
                        noted[file, number] |= {kind}
    return noted


def _locks_by_with(node: ast.With) -> _Lines:
    """Yield the lines of a `with` statement, unless its body calls something on the same line."""
    lines = {node.lineno, *(item.context_expr.lineno for item in node.items)}
    for number in lines - {call.lineno for call in _find(ast.Call, *node.body)}:
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
    if (name in _CONVERSIONS and owner != "copy") or (name in _MAKERS and _has_variable_first(node)):
        yield node.lineno, CONVERSION
    if name == "collect" and owner.endswith("gc"):
        yield node.lineno, COLLECT
    is_log = name in _LOGS and "log" in owner.lower()
    if is_log and any(isinstance(argument, ast.JoinedStr) for argument in node.args):
        yield node.lineno, EAGER_LOG
    if name == "choice" and owner.endswith("random") and any(map(_is_without_replacement, node.keywords)):
        yield node.lineno, PERMUTATION


def _has_variable_first(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Name | ast.Attribute)


def _is_without_replacement(keyword: ast.keyword) -> bool:
    is_false = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
    return keyword.arg == "replace" and is_false


def _permutations(node: ast.Subscript) -> _Lines:
    """Yield the line of `rng.permutation(n)[:k]`, which shuffles all items to take a few."""
    call, index = node.value, node.slice
    name = _name(call.func) if isinstance(call, ast.Call) else ""
    if name in ("permutation", "randperm") and isinstance(index, ast.Slice) and index.lower is None:
        yield call.lineno, PERMUTATION


def _rows_of_tables(node: ast.Subscript) -> _Lines:
    """Yield the line that reads a row, or a cell, of a table: `frame.iloc[i]`."""
    if isinstance(node.value, ast.Attribute) and node.value.attr in _ROWS:
        index = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        if not isinstance(index, ast.Slice):
            yield node.lineno, TABLE_ROW


def _arrays_of_lists(function: ast.FunctionDef | ast.Module) -> _Lines:
    """Yield the lines that make an array from a list that is made there or that the function appends to.

    If the list is an attribute, any method may append to it.
    """
    calls = _find(ast.Call, function)
    lists = {
        _dotted(call.func.value)
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append"
    }
    for call in calls:
        if call.args and makes_an_array(_name(call.func)):
            source = call.args[0]
            is_made_here = isinstance(source, ast.ListComp | ast.GeneratorExp) and _is_of_numbers(source)
            if isinstance(source, ast.Call):
                is_made_here = _name(source.func) in _LISTS
            if is_made_here or (isinstance(source, ast.Name | ast.Attribute) and _dotted(source) in lists):
                yield call.lineno, ARRAY_OF_LIST
                yield source.lineno, ARRAY_OF_LIST


def _draws_from_deques(module: ast.Module) -> _Lines:
    """Yield the lines that draw items of a deque at random: it reaches each item step by step from the nearer end."""
    deques = {
        _name(target)
        for node in _find(ast.Assign, module)
        if isinstance(node.value, ast.Call) and _name(node.value.func) == "deque"
        for target in node.targets
    }
    for call in _find(ast.Call, module):
        owner, _, name = _dotted(call.func).rpartition(".")
        is_draw = name in _DRAWS and owner.endswith(("random", "rng"))
        if is_draw and call.args and _name(call.args[0]) in deques:
            yield call.lineno, DEQUE


def _polls(node: ast.While) -> _Lines:
    """Yield the line of the sleep of a loop that only tests whether something is done, and sleeps."""
    functions = {_name(call.func) for call in _find(ast.Call, node.test)}
    is_timed = functions & _CLOCKS or _contains([node.test], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    if is_timed or len(node.body) > 1 or not _find(ast.Name, node.test):
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
        arrays = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
        if ast.unparse(node.targets[0]) in map(ast.unparse, arrays):
            yield call.lineno, GROWING_ARRAY


def _inferences_of_items(node: ast.ListComp | ast.DictComp) -> _Lines:
    """Yield the lines of `[policy(o) for o in obs]`, which infers for one input after the other."""
    generator = node.generators[0]
    if len(node.generators) == 1 and not generator.is_async and _words(generator.iter) & _AT_ONCE:
        value = node.elt if isinstance(node, ast.ListComp) else node.value
        yield from _inferences([value], _names(generator.target), set())


def _inferences_in_loops(node: ast.For) -> _Lines:
    """Yield the lines of a loop over environments that infer for one after the other.

    An inference that needs the result of the previous one, such as a hidden state, is excluded.
    """
    if not _words(node.iter) & _AT_ONCE:
        return
    items, carried_names = _names(node.target), _carried_names(node.body)
    for statement in node.body:
        yield from _inferences([statement], items, carried_names)
        if isinstance(statement, ast.Assign):
            sources = _names(statement.value)
            results = {name for target in statement.targets for name in _names(target, ast.Store)}
            items |= results if sources & items else set()
            carried_names |= results if sources & carried_names else set()


def _inferences(nodes: Iterable[ast.AST], items: set[str], carried_names: set[str]) -> _Lines:
    """Yield the lines that only call a model with one of `items`, and with no name in `carried_names`."""
    calls = _find(ast.Call, *nodes)
    env_lines = {call.lineno for call in calls if _name(call.func) in _ENV_CALLS}
    for call in calls:
        arguments = {name for argument in call.args for name in _names(argument)}
        is_model_call = _is_inference(call) and not _names(call.func) & items
        if (
            is_model_call
            and arguments & items
            and not arguments & carried_names
            and call.lineno not in env_lines
        ):
            yield call.lineno, ONE_BY_ONE


def _is_inference(call: ast.Call) -> bool:
    owner, _, name = _dotted(call.func).rpartition(".")
    model = owner.rpartition(".")[2] if name in _INFERS else name
    words = model.lower().strip("_").split("_")
    return words[-1].rstrip("0123456789") in _MODELS and words[0] not in _VERBS


def _carried_names(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that the next iteration of a loop reads before it sets them."""
    stored: set[str] = set()
    read_first: set[str] = set()
    for statement in body:
        read_first |= _names(statement, ast.Load) - stored
        stored |= _names(statement, ast.Store)
    return read_first & stored


def _words(node: ast.AST) -> set[str]:
    """Return the words of all names in an expression: those of `self.num_envs` are self, num and envs."""
    names = _names(node) | {attribute.attr for attribute in _find(ast.Attribute, node)}
    return {word for name in names for word in name.lower().split("_")}


def _element_loops(node: ast.For) -> _Lines:
    """Yield the lines of a loop that only computes with elements of arrays, or with pairs of them, one at a time."""
    _, *inner_loops = _find(ast.For, node)
    if any(_is_of_pairs(node, inner) for inner in inner_loops) or _is_of_elements(node):
        yield from _all_lines(node, ELEMENT_LOOP)


def _is_of_elements(node: ast.For) -> bool:
    """Return whether a loop over indices reads an element by its index, and only computes with numbers."""
    iterable = _dotted(node.iter.func) if isinstance(node.iter, ast.Call) else ""
    if iterable not in ("range", "reversed", "enumerate") or not _is_of_numbers(node):
        return False
    if _contains(node.body, ast.MatMult | ast.Slice):
        return False  # of rows, or of batches
    subscripts = _find(ast.Subscript, *node.body)
    return any(_names(node.target) & _names(subscript.slice) for subscript in subscripts)


def _is_of_pairs(outer: ast.For, inner: ast.For) -> bool:
    """Return whether two nested loops do one short computation for each pair of their items."""
    if _contains(outer.body, ast.MatMult | _OTHER_CODE):
        return False
    if not all(_is_short(call) for call in _find(ast.Call, *outer.body) if call is not inner.iter):
        return False
    kinds = (ast.BinOp, ast.Subscript, ast.Call)
    operations = [_names(operation) for kind in kinds for operation in _find(kind, *inner.body)]
    return any(_names(outer.target) & names and _names(inner.target) & names for names in operations)


def _is_short(call: ast.Call) -> bool:
    """Return whether a call is one of numpy, math or a number that does not take long on large arguments."""
    owner, _, name = _dotted(call.func).rpartition(".")
    return name in _OF_NUMBERS | _REDUCTIONS or (owner.partition(".")[0] in _MATHS and name not in _LONG)


def _is_of_numbers(node: ast.AST) -> bool:
    """Return whether code only computes with numbers and calls nothing else."""
    calls = _find(ast.Call, node)
    return not _contains([node], _OTHER_CODE) and all(_name(call.func) in _OF_NUMBERS for call in calls)


def _names(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """Return the names in code: all, or those that it reads or binds. To set an item of a name is to read the name."""
    return {name.id for name in _find(ast.Name, node) if isinstance(name.ctx, context)}


def _name(node: ast.expr) -> str:
    """Return the last name of a function or attribute: that of `np.stack` is `stack`."""
    return _dotted(node).rpartition(".")[2]


def _find(kind: type[_Node], *roots: ast.AST) -> list[_Node]:
    """Return the nodes of a kind in each of the roots, including the root."""
    return [node for root in roots for node in ast.walk(root) if isinstance(node, kind)]


def _contains(roots: Iterable[ast.AST], kinds: type | UnionType) -> bool:
    return any(isinstance(node, kinds) for root in roots for node in ast.walk(root))


def _all_lines(node: ast.Call | ast.For, kind: str) -> _Lines:
    yield from ((number, kind) for number in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _dotted(node: ast.expr) -> str:
    """Return the name of a function or attribute with those of its owners: `np.stack`; "?" stands for other owners."""
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
