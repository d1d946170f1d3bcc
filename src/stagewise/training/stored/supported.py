"""Which fits can be trained from rows in a store; the others need the rows in memory."""

from __future__ import annotations

from stagewise.boosting import responses
from stagewise.boosting.steps import step_for
from stagewise.boosting.stored_sampling import can_draw_stored_rows
from stagewise.losses import Loss
from stagewise.training.adapters.tree_adapter import TreeAdapter
from stagewise.training.specs import BoostingSpec

__all__ = ["unsupported_part"]


def unsupported_part(spec: BoostingSpec, loss: Loss) -> str | None:
    """Return the first part of a specification that needs rows in memory; None: there is none."""
    recipe, learner = spec.recipe, spec.learner
    if not isinstance(learner, TreeAdapter):
        return "a learner other than trees"
    unsupported = {
        f"the method ({recipe.step_name})": recipe.response is not responses.newton
        or recipe.step is not step_for,
        f"loss={loss.name!r}": loss.kernel is None or loss.leaf_quantile is not None,
        "split other than 'histogram'": learner.split != "histogram",
        "leaves='linear'": learner.linear_l2 is not None,
        "leaves='vector'": learner.vector_leaves,
        "grow_policy='symmetric'": any(t.grow_policy == "symmetric" for t in learner.trees),
        f"sampling, {recipe.sampling.description}": not can_draw_stored_rows(recipe.sampling),
        "dropout": recipe.dropout.rate > 0,
        "oob_score=True": recipe.out_of_bag,
    }
    return next((what for what, is_used in unsupported.items() if is_used), None)
