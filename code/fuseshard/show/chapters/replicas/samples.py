"""Which rank is dealt which samples, epoch by epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fuseshard.show.records import Table
from fuseshard.show.tables import MISSING, TableBuilder
from fuseshard.show.words import Text, plain, word

Epoch = Sequence[Sequence[int]]
"""indices of samples, a row a rank"""

_TOLD = {True: word("called"), False: word("not called")}


def deal_table(dealt: Mapping[bool, Sequence[Epoch]]) -> Table:
    """Show each rank's samples, and which ones came up twice.

    Args:
        dealt: whether `set_epoch` was called -> epochs, all with the same ranks.
    """
    rows = [(told, number) for told, epochs in dealt.items() for number in range(len(epochs))]
    epochs = [dealt[told][number] for told, number in rows]
    table = TableBuilder(
        "dealt-samples",
        word(
            "Indices of the samples that each rank is dealt; {count} of {total} places go to "
            "samples that already have one.",
            count=len(_twice(epochs[0])),
            total=sum(len(samples) for samples in epochs[0]),
        ),
    )
    table.texts(plain("set_epoch"), [_TOLD[told] for told, _ in rows])
    table.counts(word("Epoch"), [number for _, number in rows])
    for rank in range(len(epochs[0])):
        title = word("Rank {rank}", rank=rank)
        table.texts(title, [_listed(epoch[rank]) for epoch in epochs])
    table.texts(word("Seen twice"), [_listed(_twice(epoch)) for epoch in epochs])
    return table.build()


def _twice(epoch: Epoch) -> list[int]:
    """Samples dealt more than once in an epoch, ascending."""
    counts = Counter(index for samples in epoch for index in samples)
    return sorted(index for index, count in counts.items() if count > 1)


def _listed(indices: Sequence[int]) -> Text:
    return plain(", ".join(map(str, indices))) if indices else MISSING
