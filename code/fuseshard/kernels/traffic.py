"""Elements that kernels move between the chip and its memory, for bandwidths and comparisons.

Fused kernels are counted at their best: what is read again by other programs comes from a cache.
R = rows, N = columns, S = R x N elements.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """Elements moved."""

    read: int
    written: int

    def num_bytes(self, element_size: int) -> int:
        """Convert to bytes.

        Args:
            element_size: bytes of an element.
        """
        return (self.read + self.written) * element_size


def copy(num_elements: int) -> Traffic:
    """Count for fuseshard.kernels.copy: each element is read and written."""
    return Traffic(num_elements, num_elements)


def softmax(num_rows: int, num_columns: int) -> Traffic:
    """Count for fuseshard.kernels.softmax: as much as a copy."""
    return copy(num_rows * num_columns)


def unfused_softmax(num_rows: int, num_columns: int) -> Traffic:
    """Count for fuseshard.kernels.reference.softmax."""
    size = num_rows * num_columns
    return Traffic(5 * size + 2 * num_rows, 3 * size + 2 * num_rows)


def rms_norm(num_rows: int, num_columns: int) -> Traffic:
    """Count for fuseshard.kernels.rms_norm, forward: a copy and the weights."""
    size = num_rows * num_columns
    return Traffic(size + num_columns, size)


def unfused_rms_norm(num_rows: int, num_columns: int) -> Traffic:
    """Count for fuseshard.kernels.reference.rms_norm."""
    size = num_rows * num_columns
    return Traffic(4 * size + 3 * num_rows + num_columns, 3 * size + 3 * num_rows)
