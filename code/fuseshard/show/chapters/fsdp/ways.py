"""What the chapter on sharding calls its ways to train."""

from __future__ import annotations

from fuseshard.show.words import Text, plain, word


def way_name(variant: str) -> Text:
    """Name a way to train, or a mistake made in it.

    Args:
        variant: one of `distributed.zero.training.VARIANTS`, or a mistake of the page.

    Raises:
        ValueError: there is no name for it.
    """
    names: dict[str, Text] = {
        "ddp": plain("DDP"),
        "zero1": word("ZeRO-1 by hand"),
        "zero2": word("ZeRO-2 by hand"),
        "zero3": word("ZeRO-3 by hand"),
        "fully_shard": plain("fully_shard"),
        "no division": word("ZeRO-1, sum not divided"),
        "no reduction": word("ZeRO-1, gradients not reduced"),
    }
    if variant not in names:
        raise ValueError(
            f"way_name: got {variant!r}, must be one of {sorted(names)} (each edition has a name "
            "for these); rename it or add a name"
        )
    return names[variant]


def reshard_name(reshard: bool | None) -> Text:
    """Name what `reshard_after_forward` was set to.

    Args:
        reshard: as passed to torch.
    """
    return plain(str(reshard))
