"""What one page of the toy book imports, and the other doesn't."""

FACTOR = 2


def double(number: int) -> int:
    """Return twice the number."""
    return FACTOR * number
