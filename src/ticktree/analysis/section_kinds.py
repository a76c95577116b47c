"""Kinds: the steps of control loops that rules recognize by name, finer than categories. A name proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ticktree.analysis.categories import Categories
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView, SectionView
from ticktree.analysis.server_side import has_server_time
from ticktree.profile.short_names import function_name

INFERENCE = "inference"
PREPROCESSING = "preprocessing"
QUEUE_MERGE = "queue merge"
GUIDANCE = "guidance"
EVALUATION = "evaluation"
PREVIOUS_ACTIONS = "previous actions"
ROUND_TRIP = "round trip"

# The instrument of torch names a forward pass with this prefix and the module's name.
FORWARD = "forward "

# A section that sends actions or reads sensors belongs to a robot or a simulated one, not to a policy.
_ON_A_ROBOT = ("get observation*", "read observation*", "send action*", "execute and wait*")

_LOOP_STEPS = Categories(
    {
        QUEUE_MERGE: (
            # Not a "merger" of actions, which combines the actions of several models without a queue.
            *("queue merg*", "merg* queue", "action* merge", "action* merging", "merg* action*"),
            *("chunk merg*", "merg* chunk*"),
            *("queue append*", "queue extend*", "queue replac*", "action queue", "actions queue"),
        ),
        GUIDANCE: ("guidance", "guided"),
        PREVIOUS_ACTIONS: (
            *("prev action*", "previous action*", "last action*", "prev chunk", "previous chunk"),
            *("left over", "leftover*", "action* history", "prev* left over"),
        ),
        "postprocessing": ("postprocess*", "post process*", "denormali*", "unnormali*"),
        PREPROCESSING: ("preprocess*", "pre process*", "image processing"),
        ROUND_TRIP: (
            *_ON_A_ROBOT,
            *("get obs*", "round trip*", "http*", "grpc", "rpc", "request*", "response*", "socket*", "ping"),
            *("serial read", "serial write"),
        ),
        EVALUATION: ("evaluat* policy", "policy evaluation"),  # episodes, not only inference
        INFERENCE: (
            *("inference*", "infer", "predict*", "sample action*", "select action*", "denois*"),
            *("policy", "act", "forward*", "model"),
        ),
    }
)
_DATA_OPERATIONS = Categories(
    {
        "copy": (
            *("copy*", "copies", "clone*", "deepcopy", "stack*", "vstack", "concat*", "cat", "contiguous"),
            *("np array", "numpy array", "array", "asarray", "as array", "float tensor", "tensor"),
            *("as tensor", "from numpy", "to numpy", "to tensor", "to device", "to gpu", "to cuda", "to cpu"),
            *("pin*", "float", "astype", "cast*", "convert*", "conversion*", "gather*", "scale*"),
            *("divide*", "transfer*"),
            *("serialize*", "serialise*", "pickle*"),
        )
    }
)
_STACKING = Categories(
    {
        "list to array": (
            *("np array", "numpy array", "array", "asarray", "as array", "np stack", "torch stack", "stack*"),
            *("vstack", "float tensor", "torch tensor", "tensor", "to tensor", "as tensor", "collat*"),
            *("convert*", "conversion*"),
        )
    }
)

_ROBOT = Categories({"robot": _ON_A_ROBOT})

# If a name matches no kind, its category may match: a user may have defined it.
_CATEGORIES = {PREPROCESSING: ("preprocessing",), ROUND_TRIP: ("robot",)}


def kind_of(name: str) -> str | None:
    """Return which step of a control loop a section called `name` is; None if its name matches none.

    In a dotted name, the last part that matches counts: `get_actions.preprocessing` preprocesses.
    """
    return _match_name(name, _LOOP_STEPS.of)


def moves_data(name: str) -> bool:
    """Return whether a section called `name` is an operation over data: a copy, a conversion, a gather."""
    return _match_name(name, _DATA_OPERATIONS.of) == "copy"


def makes_an_array(name: str) -> bool:
    """Return whether a section called `name` is an operation that makes one array from many."""
    return _match_name(name, _STACKING.of) == "list to array"


def sections_of_kind(
    view: LoopView, kind: str, context: Context, accept: Callable[[SectionView], bool] = bool
) -> list[SectionView]:
    """Return the outermost sections of `view` that are of `kind`.

    Sections of training are left out, because the forward pass of an update is not inference; so are sections that
    `accept` rejects.
    """
    return _outermost(
        [section for section in view.path_sections if _is_of_kind(section, kind, context) and accept(section)]
    )


def inference(view: LoopView, context: Context) -> list[SectionView]:
    """Return the sections of `view` in which a model infers; those around other steps only without inner ones."""
    candidates = [
        section
        for section in view.path_sections
        if _is_of_kind(section, INFERENCE, context) and not _moves_a_robot(section)
    ]
    wide = [section for section in candidates if _has_step_below(section, PREPROCESSING, QUEUE_MERGE)]
    narrow = [section for section in candidates if section not in wide]
    return _outermost(
        [section for section in candidates if section in narrow or not _any_below(section, narrow)]
    )


def modules_in(section: SectionView) -> list[SectionView]:
    """Return the outermost forward passes of torch modules in a section, including itself; else the section."""
    forward = [part for part in (section, *section.all_below()) if part.name.startswith(FORWARD)]
    return _outermost(forward) or [section]


def per_tick_ns(sections: Sequence[SectionView]) -> float:
    """Return the total time of `sections` per tick."""
    return sum(section.total_ns for section in sections)


def _match_name(name: str, category: Callable[[str], str | None]) -> str | None:
    name = function_name(name)
    return category(name.rpartition(".")[2]) or category(name)


def _is_of_kind(section: SectionView, kind: str, context: Context) -> bool:
    category = _match_name(section.name, context.category)
    # A call that a server answered is a round trip, whatever its name.
    is_answered = kind == ROUND_TRIP and has_server_time(section)
    if kind_of(section.name) != kind and category not in _CATEGORIES.get(kind, ()) and not is_answered:
        return False
    return not any(context.category(ancestor.name) == "training" for ancestor in (section, *section.above()))


def _moves_a_robot(section: SectionView) -> bool:
    return any(_match_name(below.name, _ROBOT.of) == "robot" for below in section.all_below())


def _has_step_below(section: SectionView, *kinds: str) -> bool:
    return any(kind_of(below.name) in kinds for below in section.all_below())


def _any_below(section: SectionView, sections: Sequence[SectionView]) -> bool:
    return any(below in sections for below in section.all_below())


def _outermost(sections: Sequence[SectionView]) -> list[SectionView]:
    ids = set(map(id, sections))
    return [section for section in sections if not any(id(ancestor) in ids for ancestor in section.above())]
