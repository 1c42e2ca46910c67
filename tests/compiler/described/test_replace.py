"""Putting things in place and back. Oracle: the owner's own dictionary before the block."""

import pytest

from fuseshard.compiler.described import replace


class Base:
    inherited = "base"


class Owner(Base):
    own = "owner"

    @staticmethod
    def static() -> str:
        return "static"


@pytest.mark.parametrize("name", ["inherited", "own", "static", "absent"])
def test_an_owner_holds_afterwards_what_it_held(name: str) -> None:
    before = dict(vars(Owner))
    with replace.attributes(Owner, **{name: "new"}):
        assert getattr(Owner, name) == "new"
    assert dict(vars(Owner)) == before


@pytest.mark.parametrize("name", ["inherited", "static"])
def test_a_careless_restore_would_leave_something_behind(name: str) -> None:
    """Must-fail twin: what getattr finds isn't what the owner holds."""
    copied = type("Copied", (Base,), {"static": vars(Owner)["static"]})
    before = dict(vars(copied))
    setattr(copied, name, getattr(copied, name))
    assert dict(vars(copied)) != before


def test_an_error_puts_back_too() -> None:
    with pytest.raises(KeyError), replace.attributes(Owner, own="new", absent="new"):
        raise KeyError
    assert (Owner.own, hasattr(Owner, "absent")) == ("owner", False)


def test_what_the_block_itself_deleted_comes_back() -> None:
    with replace.attributes(Owner, own="new", absent="new"):
        del Owner.own
        del Owner.absent  # type: ignore[attr-defined]
    assert (Owner.own, hasattr(Owner, "absent")) == ("owner", False)


def test_entries_come_back_or_go() -> None:
    table = {"a": 1}
    with replace.entry(table, "a", 2), replace.entry(table, "b", 3):
        assert table == {"a": 2, "b": 3}
    assert table == {"a": 1}
