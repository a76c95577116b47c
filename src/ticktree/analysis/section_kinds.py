"""Kinds: what the rules of control loops look for by name, finer than categories. A name alone proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ticktree.analysis.categories import Categories
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView, SectionView
from ticktree.analysis.server_side import has_server_time
from ticktree.profile.short_names import does

INFERENCE = "inference"
PREPROCESSING = "preprocessing"
QUEUE_MERGE = "queue merge"
GUIDANCE = "guidance"
EVALUATION = "evaluation"
PREVIOUS_ACTIONS = "previous actions"
ROUND_TRIP = "round trip"

# What the instrument of torch calls a forward pass, before its module's name.
FORWARD = "forward "

# A section that sends actions or reads sensors acts on a robot or a simulated one: it is not a policy that acts.
_ON_A_ROBOT = ("get observation*", "read observation*", "send action*", "execute and wait*")

_STEPS = Categories(
    {
        QUEUE_MERGE: (
            # No "merger" of actions: it makes one action of several models', with no queue about.
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
        EVALUATION: ("evaluat* policy", "policy evaluation"),  # whole episodes, and no inference alone
        INFERENCE: (
            *("inference*", "infer", "predict*", "sample action*", "select action*", "denois*"),
            *("policy", "act", "forward*", "model"),
        ),
    }
)
_OPERATIONS = Categories(
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

# If a name matches no kind, its category may: a user may have defined it.
_CATEGORIES = {PREPROCESSING: ("preprocessing",), ROUND_TRIP: ("robot",)}


def kind_of(name: str) -> str | None:
    """Return the step of a control loop that a section called `name` is; None if its name matches none.

    In a dotted name, the last part that matches counts: `get_actions.preprocessing` preprocesses.
    """
    return _told(name, _STEPS.of)


def moves_data(name: str) -> bool:
    """Return whether a section called `name` is an operation over data: a copy, a conversion, a gather."""
    return _told(name, _OPERATIONS.of) == "copy"


def makes_an_array(name: str) -> bool:
    """Return whether a section called `name` is an operation that makes one array of many."""
    return _told(name, _STACKING.of) == "list to array"


def sections_of(
    view: LoopView, kind: str, context: Context, accept: Callable[[SectionView], bool] = bool
) -> list[SectionView]:
    """Return the outermost sections of `view` that are of `kind`, none of them within another.

    Sections of training are left out, because the forward pass of an update is not inference; so are sections that
    `accept` rejects.
    """
    return _outermost(
        [section for section in view.path_sections if _is(section, kind, context) and accept(section)]
    )


def inference(view: LoopView, context: Context) -> list[SectionView]:
    """Return the sections of `view` in which a model infers; those around other steps only where no other is."""
    every = [
        section
        for section in view.path_sections
        if _is(section, INFERENCE, context) and not _moves_a_robot(section)
    ]
    wide = [section for section in every if _holds(section, PREPROCESSING) or _holds(section, QUEUE_MERGE)]
    narrow = [section for section in every if section not in wide]
    return _outermost([section for section in every if section in narrow or not _any_below(section, narrow)])


def modules_in(section: SectionView) -> list[SectionView]:
    """Return the outermost forward passes of torch modules in a section, itself included; else the section."""
    forward = [each for each in (section, *section.all_below()) if each.name.startswith(FORWARD)]
    return _outermost(forward) or [section]


def per_tick_ns(sections: Sequence[SectionView]) -> float:
    """Return how long `sections` take per tick, all together."""
    return sum(section.total_ns for section in sections)


def _told(name: str, category: Callable[[str], str | None]) -> str | None:
    name = does(name)
    return category(name.rpartition(".")[2]) or category(name)


def _is(section: SectionView, kind: str, context: Context) -> bool:
    named = kind_of(section.name) == kind or _told(section.name, context.category) in _CATEGORIES.get(
        kind, ()
    )
    # A call that a server answered is a round trip, whatever its name.
    if not named and not (kind == ROUND_TRIP and has_server_time(section)):
        return False
    return not any(context.category(each.name) == "training" for each in (section, *section.above()))


def _moves_a_robot(section: SectionView) -> bool:
    return any(_told(each.name, _ROBOT.of) == "robot" for each in section.all_below())


def _holds(section: SectionView, kind: str) -> bool:
    return any(kind_of(each.name) == kind for each in section.all_below())


def _any_below(section: SectionView, among: Sequence[SectionView]) -> bool:
    return any(each in among for each in section.all_below())


def _outermost(sections: Sequence[SectionView]) -> list[SectionView]:
    chosen = set(map(id, sections))
    return [section for section in sections if not any(id(each) in chosen for each in section.above())]
