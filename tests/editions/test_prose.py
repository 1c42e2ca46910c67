"""How the book talks. Oracle: sentences that break one rule each, and their twins that don't."""

from pathlib import Path

import pytest
from bookcheck import prose
from bookcheck.pages import Page

from tests.editions.conftest import toy_page


def complaints(text: str, language: str) -> list[str]:
    return prose.problems(toy_page(text), language)


def test_the_english_pages_keep_to_the_house_style(english: dict[Path, Page]) -> None:
    assert english
    found = [problem for page in english.values() for problem in prose.problems(page, "en")]
    assert not found, "\n".join(found)


def test_the_spanish_pages_keep_to_the_house_style(spanish: dict[Path, Page]) -> None:
    assert spanish
    found = [problem for page in spanish.values() for problem in prose.problems(page, "es")]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("language", "refused", "passes"),
    [
        ("en", "You simply call it.", "You call `simply`."),
        ("en", "It just works.", "It is adjusted."),
        ("en", "A powerful idea.", "Powers of two."),
        ("en", "It works!", "`x != y` holds."),
        ("en", "Faster 🚀 now.", "Faster now."),
        ("es", "Usted mide.", "Mides tú."),
        ("es", "Ejecute la celda.", "Ejecuta la celda."),
        ("es", "Primero esto. Mida después.", "Primero esto. Mide después."),
        ("es", "Simplemente funciona.", "Funciona."),
        ("es", "¡Funciona!", "Funciona."),
        ("es", "El tamaño del mundo es dos.", "El número de procesos (*world size*) es dos."),
        ("es", "Una tubería de dos etapas.", "Un *pipeline* de dos etapas."),
        ("es", "El planificador elige.", "El configurador elige."),
        ("es", "Cada micro-lote.", "Cada microlote."),
        ("es", "La ruptura del gráfico.", "La ruptura del grafo; el gráfico lo enseña."),
        ("es", "Cada shard pesa.", "Cada fragmento (*shard*, `shard`) pesa."),
    ],
)
def test_a_refused_word_is_named(language: str, refused: str, passes: str) -> None:
    assert complaints(passes, language) == []
    found = complaints(f"# T\n\n{refused}", language)
    assert found
    assert all(line.startswith("toy.md:3: ") for line in found)


@pytest.mark.parametrize(
    "typed",
    [
        "12 ms",
        "3.5 s",
        "3,5 s",
        "40 µs",
        "2.1×",
        "7 GB/s",
        "3 seconds",
        "4 segundos",
        "2 times faster",
    ],
)
@pytest.mark.parametrize("language", ["en", "es"])
def test_a_typed_measurement_is_refused(language: str, typed: str) -> None:
    assert "is typed; quote it" in complaints(f"A: {typed} B.", language)[0]


@pytest.mark.parametrize(
    "quoted",
    [
        "A: {glue:text}`t:.1f` ms.",
        "The flag `timeout=60 s` is there.",
        "A: $12\\,s$ and $12 s$.",
        "The paper says 12 ms, [table 3](https://example.org/paper).",
        "A 2 × 3 matrix, 12 steps, 4 ranks, 2 s-curves, torch 2.13.",
    ],
)
def test_a_quoted_or_cited_number_passes(quoted: str) -> None:
    assert complaints(quoted, "en") == []
