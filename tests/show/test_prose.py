"""Quoted values: oracle is `myst_nb.glue` itself, in a real IPython shell."""

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from myst_nb import glue

from fuseshard.show.prose import GLUE_PREFIX, quote
from fuseshard.show.words import WORD_MIME, plain, word

VALUES = [3, 2.5, -1e-9, True, "aten::mm", "it's", "", word("{n} ranks", n=2), plain("x")]


@pytest.fixture(autouse=True)
def shell():
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def stored(call):
    with capture_output() as captured:
        call()
    return [(output.data, output.metadata) for output in captured.outputs]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_stored_as_myst_nb_stores_it(value):
    ours = stored(lambda: quote(the_name=value))
    assert ours == stored(lambda: glue("the_name", value, display=False))
    assert ours  # the shell did capture something


@pytest.mark.parametrize(
    "value", [np.float64(0.5), np.float32(0.5), np.array(0.5)], ids=lambda v: type(v).__name__
)
def test_scalars_of_arrays_are_stored_as_bare_numbers(value):
    (data, _), *_ = stored(lambda: quote(x=value))
    assert data[f"{GLUE_PREFIX}text/plain"] == "0.5"


def test_integers_of_arrays_stay_integers():
    (data, _), *_ = stored(lambda: quote(x=np.int64(7)))
    assert data[f"{GLUE_PREFIX}text/plain"] == "7"


def test_a_word_is_stored_for_each_edition_to_translate():
    (data, metadata), *_ = stored(lambda: quote(who=word("rank {r}", r=1)))
    assert data[GLUE_PREFIX + WORD_MIME]["word"] == {"msgid": "rank {r}", "values": {"r": 1}}
    assert metadata["scrapbook"] == {"name": "who", "mime_prefix": GLUE_PREFIX}


def test_several_values_are_stored_each_under_its_name():
    names = [metadata["scrapbook"]["name"] for _, metadata in stored(lambda: quote(a=1, b=2))]
    assert names == ["a", "b"]


@pytest.mark.parametrize("value", [[1], np.array([1.0]), None, {"a": 1}], ids=repr)
def test_what_is_not_one_value_is_refused(value):
    with pytest.raises(TypeError, match="quote: x is a"):
        quote(x=value)
