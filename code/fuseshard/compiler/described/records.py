"""What leaving out one part of a described GPU does, as plain data. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """One replacement left out, and a program that shows it."""

    name: str
    """of the replacement"""
    purpose: str
    """what it does"""
    program: str
    """what was run"""
    with_it: str
    """what came of the program with every replacement in place"""
    without_it: str
    """what came of it with all the others in place: a result, or the error's last words"""
