"""Orders of the schedules in which the model goes down the ranks and up again.

Rank r holds stages r and 2p - 1 - r, so the last stage sits with the first, on rank 0.
p = ranks, m = micro-batches. Checked against torch 2.13's tables, see the tests.
"""

from collections import defaultdict, deque

from fuseshard.distributed.scheduling.records import Action, Kind


class _Writer:
    """Writes a rank's order; counts micro-batches for each stage and kind."""

    def __init__(self, rank: int, num_ranks: int) -> None:
        self.down, self.up = rank, 2 * num_ranks - 1 - rank
        self.order: list[Action] = []
        self.counts: dict[tuple[Kind, int], int] = defaultdict(int)
        self.owed: deque[Action] = deque()

    def add(self, kind: Kind, stage: int) -> None:
        """Append the next micro-batch's action; an input half leaves its weight half owed."""
        counted: Kind = "I" if kind == "B" else kind
        index = self.counts[counted, stage]
        self.counts[counted, stage] += 1
        self.order.append(Action(kind, stage, index))
        if kind == "I":
            self.owed.append(Action("W", stage, index))

    def pay(self) -> None:
        """Append the oldest weight half that is owed, if there is one."""
        if self.owed:
            self.order.append(self.owed.popleft())

    def pay_for(self, stage: int) -> None:
        """Append the oldest weight half that is owed for one stage."""
        action = next(action for action in self.owed if action.stage == stage)
        self.owed.remove(action)
        self.order.append(action)


def zbv(rank: int, num_ranks: int, num_micro_batches: int) -> list[Action]:
    """Fill, run steadily and drain so that no rank waits if F, I and W take equally long.

    With fewer than 2p - 1 micro-batches, those that are missing are left out of the pattern.

    Args:
        rank: r, whose order is made.
        num_ranks: p.
        num_micro_batches: m.

    Source:
        Qi et al. 2023, section 6, arXiv:2401.10241.
    """
    to = _Writer(rank, num_ranks)
    num_full = max(num_micro_batches, 2 * num_ranks - 1)
    _fill_zbv(to, rank, num_ranks)
    while to.counts["F", to.up] < num_full:
        if to.counts["F", to.down] < num_full:
            to.add("F", to.down)
        to.add("I", to.down)
        to.pay()
        to.add("F", to.up)
        to.add("I", to.up)
        to.pay()
    for _ in range(rank):
        to.add("I", to.down)
        to.add("I", to.up)
    for _ in range(num_ranks - rank):
        to.add("I", to.down)
        to.pay_for(to.down)
    for stage in (to.up, to.down):
        while any(action.stage == stage for action in to.owed):
            to.pay_for(stage)
    return [action for action in to.order if action.micro_batch < num_micro_batches]


def _fill_zbv(to: _Writer, rank: int, num_ranks: int) -> None:
    """Forward passes down, then down and up by turns, then up with their backward passes."""
    for _ in range(2 * (num_ranks - rank) - 1):
        to.add("F", to.down)
    for _ in range(rank):
        to.add("F", to.up)
        to.add("F", to.down)
    for _ in range(num_ranks - rank):
        to.add("F", to.up)
        to.add("I", to.up)
        to.pay()


def dualpipev(rank: int, num_ranks: int, num_micro_batches: int) -> list[Action]:
    """Pair a forward with a backward of the other direction; cut few backwards in two.

    The pairs are made to overlap one's computation with the other's communication; here, as in
    torch's runtime, they follow each other.

    Args:
        rank: r, whose order is made.
        num_ranks: p.
        num_micro_batches: m, at least 2p.

    Source:
        DeepSeek-AI 2024, arXiv:2412.19437, cut in half as https://github.com/deepseek-ai/DualPipe
        says.
    """
    to = _Writer(rank, num_ranks)
    after = num_ranks - 1 - rank
    _fill_dualpipev(to, rank, after)
    for _ in range(num_micro_batches - 2 * num_ranks + rank + 1):
        to.add("F", to.down)
        to.add("B", to.up)
        to.add("F", to.up)
        to.add("B", to.down)
    for _ in range(after):
        to.add("B", to.up)
        to.add("F", to.up)
        to.add("B", to.down)
    # Of what is left, up and down by turns, the second half is cut in two.
    for i in range(2 * (rank + 1)):
        to.add("B" if i <= rank else "I", to.down if i % 2 else to.up)
    for _ in range(after):
        to.pay()
        to.add("I", to.down)
    while to.owed:
        to.pay()
    return to.order


def _fill_dualpipev(to: _Writer, rank: int, after: int) -> None:
    """Forward passes down, then down and up by turns, then up with cut backward passes."""
    for _ in range(2 * after):
        to.add("F", to.down)
    for _ in range(rank + 1):
        to.add("F", to.down)
        to.add("F", to.up)
    for _ in range(after):
        to.add("I", to.up)
        to.pay()
        to.add("F", to.up)
