"""Streams: who sees what, in which shape, and which messages are shown."""

from __future__ import annotations

from .entry import Break

_STREAM, _OUTLET, _ASKED, _LISTENERS = "graph/stream.py", "graph/outlet.py", "graph/asked.py", "graph/listeners.py"
_SEES, _MESSAGES, _OPTIONS = (f"tests/graph/test_stream{name}.py" for name in ("", "_messages", "_options"))

STREAMS = (
    Break(
        "a graph inside is seen by those alone who asked for subgraphs",
        _STREAM,
        "(outlet for outlet in around if outlet.subgraphs)",
        "around",
        _SEES,
    ),
    Break(
        "each caller gets the modes that it asked for",
        _OUTLET,
        "        elif chunk[1] in self.modes:\n            self.chunks.append(chunk)\n\n",
        "        else:\n            self.chunks.append(chunk)\n\n",
        _SEES,
    ),
    Break(
        "what a graph inside tells wakes whoever waits for its task",
        _STREAM,
        "            outlet.put_live(chunk)\n",
        "            outlet.put(chunk)\n",
        _SEES,
    ),
    Break(
        "nothing is shown of a close that was refused",
        _STREAM,
        "self._stream.release(keep=kind is None)",
        "self._stream.release(keep=True)",
        _SEES,
    ),
    Break(
        "a model that is called without a config has its node's",
        "graph/ambient.py",
        "    return None if variable is None else (variable, variable.set(scope.config))\n",
        "    return None\n",
        _MESSAGES,
    ),
    Break(
        "a message is shown once",
        _OUTLET,
        " or (once and message.id in self.seen)",
        "",
        _MESSAGES,
    ),
    Break(
        "a message that a node was given is not its own",
        _STREAM,
        "                outlet.seen |= known\n",
        "                pass\n",
        _MESSAGES,
    ),
    Break(
        "a message is shown with the id that the state has, without a log too",
        "graph/outcomes.py",
        "            value = with_message_ids(channels.get(channel), value, origin)\n",
        "",
        _MESSAGES,
    ),
    Break(
        "`nostream` keeps tokens out",
        _LISTENERS,
        " or TAG_NOSTREAM in (tags or ())",
        "",
        _MESSAGES,
    ),
    Break(
        "the caller's callbacks stay as they were",
        _LISTENERS,
        "else given.copy()\n",
        "else given\n",
        _MESSAGES,
    ),
    Break(
        "langchain-core is not needed for messages",
        _STREAM,
        "        except ImportError:\n            # Without langchain-core there are no models of its kind to be heard.\n            return config\n",
        "        except KeyError:\n            return config\n",
        _MESSAGES,
    ),
    Break(
        "what is printed is not yielded",
        _ASKED,
        "            if mode not in self.modes:\n                continue\n",
        "",
        _OPTIONS,
    ),
    Break(
        "a key that is no channel is refused",
        _ASKED,
        "        if key not in spec.channels:\n",
        "        if False:\n",
        _OPTIONS,
    ),
    Break(
        "an output object gets its own keys",
        _ASKED,
        " if key in keys})",
        "})",
        _OPTIONS,
    ),
)
