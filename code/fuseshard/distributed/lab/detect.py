"""Checks that find silent failures: call them on all ranks, they raise on all ranks or on none.

N = ranks of the group. Each one gathers a short text per rank, so it costs little; where its cost
matters, call it every so many steps.
"""

import difflib
import fnmatch
import hashlib
from collections.abc import Iterable, Mapping

import torch
import torch.distributed as dist
from torch import nn


class CheckError(RuntimeError):
    """Something that has to be equal on all ranks, or complete, isn't."""


def fingerprint(tensor: torch.Tensor) -> str:
    """Return 12 hexadecimal digits that depend on dtype, shape and every bit of a tensor.

    Args:
        tensor: on the CPU; any shape; not modified.
    """
    content = tensor.detach().contiguous().view(-1).view(torch.uint8)
    digest = hashlib.sha256(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
    digest.update(content.numpy().tobytes())
    return digest.hexdigest()[:12]


def require_same(what: object, group: dist.ProcessGroup, *, name: str) -> None:
    """Raise on all ranks unless they all hold the same thing.

    Args:
        what: plain data; compared by its text.
        group: ranks that take part.
        name: what it is, for the message.

    Raises:
        CheckError: two ranks differ; the message says what each of them holds.

    Communicates:
        one all-gather of an object.
    """
    held: list[object] = [None] * group.size()
    dist.all_gather_object(held, what, group=group)
    if len({str(one) for one in held}) == 1:
        return
    raise CheckError(
        f"{name} differs: "
        + ", ".join(f"rank {rank} has {one}" for rank, one in enumerate(held))
        + "; it has to be the same on all ranks"
    )


def require_same_tensors(
    tensors: Iterable[tuple[str, torch.Tensor]], group: dist.ProcessGroup
) -> None:
    """Raise on all ranks unless they hold the same tensors bit for bit; name the first that isn't.

    Args:
        tensors: (name, tensor) pairs, e.g. `model.named_parameters()`; same order on all ranks.
        group: ranks that take part.

    Raises:
        CheckError: a tensor differs on two ranks.

    Communicates:
        one all-gather of 12 characters and a name per tensor.
    """
    own = [(name, fingerprint(tensor)) for name, tensor in tensors]
    held: list[list[tuple[str, str]]] = [[] for _ in range(group.size())]
    dist.all_gather_object(held, own, group=group)
    for row in zip(*held, strict=True):
        if len(set(row)) > 1:
            marks = ", ".join(f"rank {rank} has {mark}" for rank, (_, mark) in enumerate(row))
            raise CheckError(f"{row[0][0]} differs: {marks}; replicas have to be equal")


def require_plan(model: nn.Module, plan: Mapping[str, object]) -> None:
    """Refuse a plan for tensor parallelism with a key that names no layer.

    Args:
        model: the model that is to be parallelised.
        plan: keys as for `parallelize_module`; `*` stands for any name.

    Raises:
        CheckError: a key fits no submodule; the message has the nearest name.
    """
    names = [name for name, _ in model.named_modules() if name]
    for key in plan:
        if key and not fnmatch.filter(names, key):
            nearest = difflib.get_close_matches(key, names, n=1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            raise CheckError(f"the plan's key {key!r} names no layer of {names}{hint}")


def require_whole_heads(num_heads: int, group: dist.ProcessGroup) -> None:
    """Refuse heads that can't be dealt out evenly.

    Args:
        num_heads: of an attention layer.
        group: ranks that share them.

    Raises:
        CheckError: the number isn't a multiple of N.
    """
    if num_heads % group.size():
        raise CheckError(
            f"num_heads is {num_heads}, has to be a multiple of the {group.size()} ranks "
            "(each holds whole heads)"
        )
