"""The data set of docstrings. Oracle: the text of this Python's own library."""

import ast
import inspect
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
import torch

from fuseshard.models import docstrings
from fuseshard.models.classifier import PADDING
from fuseshard.models.docstrings import MOST_TEXTS, DataSet, Text, encode


@pytest.fixture(scope="module")
def data() -> DataSet:
    return docstrings.load()


def words_of(text: str) -> list[str]:
    return docstrings._WORD.findall(text.lower())


def test_texts_are_in_the_files_that_they_name(data: DataSet) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    for text in data.training[::400]:
        words = " ".join(words_of((library / text.module).read_text(encoding="utf-8")))
        assert " ".join(text.words) in words
        # Positive control: the words in another order aren't.
        assert " ".join(reversed(text.words)) not in words


def test_nested_docstrings_are_found_and_comments_are_not() -> None:
    tree = ast.parse(
        inspect.cleandoc(
            """
        class Outer:
            'outer'
            def method(self):
                'method'
                def inner():
                    'inner'
            x = 1
            'a string that documents nothing'
        if x:
            async def late():
                'late'
        """
        )
    )
    assert list(docstrings._in_tree(tree)) == ["outer", "method", "inner", "late"]


def test_no_module_and_no_text_is_on_both_sides(data: DataSet) -> None:
    training, validation = data.training, data.validation
    assert not {text.module for text in training} & {text.module for text in validation}
    assert not {text.words for text in training} & {text.words for text in validation}


def test_every_class_is_on_both_sides_and_none_outweighs_the_others(data: DataSet) -> None:
    for side in (data.training, data.validation):
        assert min(docstrings.count_labels(side)) > 0
    both = Counter(text.label for text in (*data.training, *data.validation))
    assert max(both.values()) <= MOST_TEXTS


def test_the_majority_share_is_that_of_the_commonest_training_class() -> None:
    texts = [Text("a.py", ("word",) * 4, label) for label in (0, 1, 1, 2)]
    data = DataSet(tuple(texts), (texts[0], texts[1], texts[3], texts[3]))
    assert data.majority_share == 0.25  # class 1, although class 2 is commoner in validation


def test_texts_become_numbers_that_depend_on_words_alone() -> None:
    texts = [Text("a.py", ("one", "two", "one"), 0), Text("b.py", ("two",), 1)]
    tokens = encode(texts, vocabulary=50, context=4)
    assert tokens.shape == (2, 4)
    assert tokens[0, 0] == tokens[0, 2] != tokens[0, 1] == tokens[1, 0]
    assert tokens[0, 3] == PADDING and (tokens[1, 1:] == PADDING).all()
    assert PADDING not in tokens[0, :3]
    assert int(tokens.max()) < 50


def test_a_long_text_is_cut() -> None:
    (row,) = encode([Text("a.py", ("x", "y", "z"), 0)], vocabulary=50, context=2)
    assert len(row) == 2 and PADDING not in row


def test_reading_twice_gives_the_same_and_stops_when_there_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(docstrings, "FAMILIES", {"some": "no_such_module queue sched bisect"})
    everything = docstrings._family(7, "some")
    assert everything == docstrings._family(7, "some")
    assert {text.module for text in everything} == {"queue.py", "sched.py", "bisect.py"}
    monkeypatch.setattr(docstrings, "MOST_TEXTS", 5)
    assert docstrings._family(7, "some") == everything[:5]


def test_labels_are_a_tensor_of_classes() -> None:
    texts = [Text("a.py", ("x",), 3), Text("b.py", ("y",), 0)]
    assert torch.equal(docstrings.labels_of(texts), torch.tensor([3, 0]))
