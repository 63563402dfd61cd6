"""The message classes that graph authors import: whichever are installed, and nothing imported before they are."""

from __future__ import annotations

import subprocess
import sys

import pytest
from lithograph.eventlog.messages import message_classes
from lithograph.graph import messages

_FRESH = """
import sys
if "without" in sys.argv:
    sys.modules["langchain_core"] = None
from lithograph.graph import messages
assert not any(name.startswith("langchain_core.") for name in sys.modules)
from lithograph.graph.messages import AIMessage, RemoveMessage
message = messages.add_messages([AIMessage("hi", id="1")], [])[0]
assert type(message) is AIMessage
assert messages.add_messages([message], [RemoveMessage(id="1")]) == []
print(AIMessage.__module__.partition(".")[0])
"""


def test_every_class_has_its_name() -> None:
    """Each kind of message that is stored can be imported by its class's name; any other name is an error."""
    assert {cls.__name__ for cls in message_classes().values()} <= set(messages.__all__)
    for cls in message_classes().values():
        assert getattr(messages, cls.__name__) is cls
    with pytest.raises(AttributeError, match="NoMessage"):
        _ = messages.NoMessage


@pytest.mark.parametrize(("given", "whose"), [("without", "lithograph"), ("with", "langchain_core")])
def test_the_classes_are_those_that_are_installed(given: str, whose: str) -> None:
    """langchain-core's where it is, ours where it is not; either way they work, and only asking imports them."""
    if given == "with":
        pytest.importorskip("langchain_core")
    child = subprocess.run([sys.executable, "-c", _FRESH, given], capture_output=True, text=True, check=False)

    assert (child.returncode, child.stdout.strip()) == (0, whose), child.stderr
