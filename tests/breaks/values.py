"""Values: each type comes back equal and of its type, or is refused with its path; nothing is loaded unasked."""

from __future__ import annotations

from .entry import Break

_TRIP = "tests/eventlog/serde/test_roundtrip.py tests/eventlog/serde/test_stored_form.py"
_LIBRARY = f"tests/eventlog/serde/test_library.py {_TRIP}"
_ARRAYS = f"tests/eventlog/serde/test_arrays.py {_TRIP}"
_OWN = f"tests/eventlog/serde/test_user_types.py tests/eventlog/serde/test_registry.py {_TRIP}"
_REFUSED = "tests/eventlog/serde/test_refusals.py"
_PICKLE = "tests/eventlog/serde/test_jsonplus.py tests/projections/test_fallback.py tests/graph/test_pickled.py"
_SCALARS, _CONTAINERS = "eventlog/serde/scalars.py", "eventlog/serde/containers.py"

VALUES = (
    # Plain ones
    Break("a lone surrogate stays", _SCALARS, 'encode("utf-8", "surrogatepass")', 'encode("utf-8", "replace")', _TRIP),
    Break(
        "a bytearray stays one",
        "eventlog/serde/format.py",
        "_BUFFERS = frozenset({bytearray, ",
        "_BUFFERS = frozenset({",
        _TRIP,
    ),
    Break(
        "-0.0 and NaN of a complex stay",
        _SCALARS,
        "    return complex(*_COMPLEX.unpack(data))\n",
        "    real, imag = _COMPLEX.unpack(data)\n    return real + 1j * imag\n",
        _TRIP,
    ),
    Break(
        "a range keeps its stop",
        _SCALARS,
        "integer_bytes(value.start, value.stop, ",
        "integer_bytes(value.start, value.start + len(value) * value.step, ",
        _TRIP,
    ),
    Break(
        "a decimal keeps its zeros",
        _SCALARS,
        "    return str(value).encode()\n",
        "    return str(value.normalize()).encode()\n",
        _TRIP,
    ),
    Break("a UUID keeps whether it is safe", _SCALARS, "    if safe is SafeUUID.unknown:\n", "    if safe:\n", _TRIP),
    Break("a time keeps its fold", _SCALARS, "        value.fold,\n    )\n", "        0,\n    )\n", _TRIP),
    Break(
        "a zone keeps its name",
        _SCALARS,
        'text_bytes(cast(str, name[0])) if name else b"o" + count',
        'b"" if name else b"o" + count',
        _TRIP,
    ),
    Break(
        "an unknown zone is shown, not guessed",
        _SCALARS,
        '        raise NotHere(f"value in time zone {key}") from error\n',
        "        return dt.UTC\n",
        f"{_LIBRARY} tests/eventlog/serde/test_malformed.py",
    ),
    # Of the standard library
    Break(
        "a deque keeps its maxlen",
        _CONTAINERS,
        "    return deque(members, longest)\n",
        "    return deque(members)\n",
        _TRIP,
    ),
    Break(
        "a defaultdict keeps its factory",
        _CONTAINERS,
        "fill(defaultdict(None if name is None else FACTORIES[name]), flat)",
        "fill(defaultdict(), flat)",
        _TRIP,
    ),
    Break(
        "a factory of a user is refused",
        _CONTAINERS,
        "    if name is not None and FACTORIES.get(name) is not factory:\n",
        "    if name not in (None, *FACTORIES):\n",
        f"{_REFUSED} {_LIBRARY} {_OWN}",
    ),
    Break(
        "a Counter is no OrderedDict",
        _CONTAINERS,
        "    f.COUNTER: _with_attributes(Counter),\n",
        "    f.COUNTER: _with_attributes(OrderedDict),\n",
        _TRIP,
    ),
    Break(
        "a set has the same bytes in every process",
        _CONTAINERS,
        "        Codec(set, f.SET, list, steps=_member_steps, sort=True),\n",
        "        Codec(set, f.SET, list, steps=_member_steps),\n",
        _TRIP,
    ),
    Break(
        "a path keeps its class",
        "eventlog/serde/library.py",
        "bytes((_PATHS.index(cls.__name__),))",
        "bytes((0,))",
        _LIBRARY,
    ),
    Break(
        "a pattern keeps its flags",
        "eventlog/serde/library.py",
        'flags.to_bytes(2, "big") + data',
        '(0).to_bytes(2, "big") + data',
        _LIBRARY,
    ),
    Break(
        "an address keeps its class",
        "eventlog/serde/library.py",
        "bytes((_ADDRESSES.index(cls.__name__),))",
        "bytes((_ADDRESSES.index(cls.__name__) % 2,))",
        _LIBRARY,
    ),
    Break(
        "a fraction is in lowest terms",
        "eventlog/serde/library.py",
        "    if (value.numerator, value.denominator) != (numerator, denominator):\n",
        "    if not denominator:\n",
        f"{_LIBRARY} tests/eventlog/serde/test_malformed.py",
    ),
    # Of numpy
    Break(
        "an array keeps its memory order",
        "eventlog/serde/arrays.py",
        '    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"\n',
        '    order = "C"\n',
        _ARRAYS,
    ),
    Break(
        "an array of no dimension stays one",
        "eventlog/serde/arrays.py",
        "packb([spec, list(array.shape), ",
        "packb([spec, list(array.shape) or [1], ",
        _ARRAYS,
    ),
    Break(
        "an array that was read-only is read-only",
        "eventlog/serde/arrays.py",
        "    array.setflags(write=writeable)\n",
        "",
        _ARRAYS,
    ),
    Break(
        "a date of numpy's keeps its unit",
        "eventlog/serde/arrays.py",
        "    text = dtype.str\n",
        '    text = dtype.str.split("[")[0]\n',
        _ARRAYS,
    ),
    Break(
        "a structure keeps its offsets",
        "eventlog/serde/arrays.py",
        '        "offsets": [field[2] for field in fields],\n',
        "",
        _ARRAYS,
    ),
    Break(
        "a structure keeps its alignment",
        "eventlog/serde/arrays.py",
        "numpy.dtype(made, align=aligned)",
        "numpy.dtype(made)",
        _ARRAYS,
    ),
    Break(
        "pointers are refused",
        "eventlog/serde/arrays.py",
        "    if dtype.hasobject:\n",
        '    if dtype.kind == "T":\n',
        _ARRAYS,
    ),
    Break(
        "bytes of no field are zeros", "eventlog/serde/arrays.py", "    if 0 not in mask:\n", "    if data:\n", _ARRAYS
    ),
    # Of users
    Break(
        "a field in a slot comes back",
        "eventlog/serde/records.py",
        "            member.__set__(value, parts[place])\n",
        "            pass\n",
        _OWN,
    ),
    Break(
        "what is on an instance beside its fields comes back",
        "eventlog/serde/records.py",
        "        if len(parts) > count:\n            rest.put(value, parts[count])\n",
        "",
        _OWN,
    ),
    Break(
        "reading runs no `__post_init__`",
        "eventlog/serde/records.py",
        '    if hasattr(cls, "__post_init__"):\n',
        "    if not cls:\n",
        _OWN,
    ),
    Break(
        "a model keeps which fields were set",
        "eventlog/serde/records.py",
        "set(known) if was_set is None else set(was_set)",
        "set(known)",
        _OWN,
    ),
    Break(
        "a member whose value changed is shown, not guessed",
        "eventlog/serde/enums.py",
        "        return member if member is not None and _same(member._value_, parts[1]) else CHANGED\n",
        "        return CHANGED if member is None else member\n",
        _OWN,
    ),
    Break(
        "flags combine",
        "eventlog/serde/enums.py",
        "            member = _missing(cls, value) if member is None else member\n",
        "            member = member\n",
        _OWN,
    ),
    Break(
        "a subclass is no base",
        "eventlog/serde/bases.py",
        "            value = new(cls, parts[0])\n",
        "            value = parts[0]\n",
        _OWN,
    ),
    Break(
        "an alias is found",
        "eventlog/serde/registry.py",
        "        for each in (name or class_name(cls), *aliases):\n",
        "        for each in (name or class_name(cls),):\n",
        _OWN,
    ),
    Break(
        "a script's class is found by its name and shape",
        "eventlog/serde/registry.py",
        '        script = name.startswith("__main__:")\n',
        "        script = False\n",
        f"{_OWN} tests/graph/test_user_types.py",
    ),
    Break(
        "a graph registers what its schemas name",
        "graph/persistence.py",
        "            registry.collect(annotation)\n",
        "            pass\n",
        "tests/graph/test_user_types.py tests/graph/test_law_unregistered.py tests/laws/test_values.py",
    ),
    Break(
        "two classes of one name and shape are refused",
        "eventlog/serde/registry.py",
        "        if known is not None and known.cls is not cls:\n",
        "        if known is cls:\n",
        _OWN,
    ),
    # Refusals
    Break(
        "a refusal has the path",
        "eventlog/serde/walk.py",
        "            self._path.append(step)\n",
        "            self._path.append(0)\n",
        _REFUSED,
    ),
    Break(
        "a refusal has the line that registers the type",
        "eventlog/serde/tagged.py",
        '                f"`register({cls.__name__})` (from lithograph.eventlog.serde import register)"\n            )\n        base',
        '                f"`register`"\n            )\n        base',
        f"{_REFUSED} {_OWN}",
    ),
    Break(
        "a value that contains itself is refused",
        "eventlog/serde/walk.py",
        '        if id(value) in self._open:\n            raise self._refusal(value, "it contains itself")\n',
        "",
        _REFUSED,
    ),
    Break(
        "what is encoded can be decoded, however deep",
        "eventlog/serde/walk.py",
        "        if self._depth > f.DEPTH_BUDGET or self._tagged > f.TAGGED_DEPTH:\n",
        "        if self._tagged > 10_000:\n",
        _REFUSED,
    ),
    Break(
        "a value is refused in a graph before anything of it is stored",
        "graph/outcomes.py",
        "        task.writes, task.written, task.error = None, [], error\n",
        "        task.writes, task.written = None, []\n",
        "tests/graph/test_user_types.py tests/laws/test_values.py",
    ),
    # Pickle
    Break(
        "pickle is opt-in",
        "eventlog/serde/jsonplus.py",
        "            if not self.pickle_fallback:\n                raise\n",
        "",
        _PICKLE,
    ),
    Break(
        "a pickle is loaded by a saver that was told to, and no other",
        "eventlog/serde/jsonplus.py",
        '        if tag == "pickle" and self.pickle_fallback:\n',
        '        if tag == "pickle":\n',
        _PICKLE,
    ),
    Break(
        "any other reader gets Opaque",
        "eventlog/serde/tagged.py",
        '        return self._shown(_marked_name(tag), {"tag": tag, "data": data}, f.MARKED, payload)\n',
        "        import pickle\n\n        return pickle.loads(data)\n",
        _PICKLE,
    ),
    Break(
        "a pickle is loaded by whoever was told to, in a second process too",
        "eventlog/serde/jsonplus.py",
        "            return pickle.loads(stored)  # noqa",
        "            return marked(tag, bytes(stored))  # noqa",
        _PICKLE,
    ),
    # Speed
    Break(
        "the look at every type costs no more than packing",
        "eventlog/serde/format.py",
        "        if types.isdisjoint(_CONTAINERS):\n            return False\n",
        "        if types.isdisjoint(_CONTAINERS):\n            return any(type(item) in _BUFFERS for item in level for _ in range(40))\n",
        "tests/eventlog/serde/test_speed.py",
    ),
)
