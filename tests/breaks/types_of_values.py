"""Types, one by one: what each must keep besides its value, and who may know them."""

from __future__ import annotations

from .entry import Break

_TRIP = "tests/eventlog/serde/test_roundtrip.py tests/eventlog/serde/test_stored_form.py"
_ARRAYS = "tests/eventlog/serde/test_arrays.py"
_OWN = f"tests/eventlog/serde/test_user_types.py tests/eventlog/serde/test_registry.py {_TRIP}"
_REFUSED = "tests/eventlog/serde/test_refusals.py"
_OPAQUE = "tests/graph/test_law_unregistered.py tests/graph/test_pickled.py"
_SCALARS, _ARRAY_CODE = "eventlog/serde/scalars.py", "eventlog/serde/arrays.py"
_RECORDS, _REGISTRY = "eventlog/serde/records.py", "eventlog/serde/registry.py"
_FORMAT = "eventlog/serde/format.py"

TYPES_OF_VALUES = (
    # Plain ones
    Break(
        "-0.0 stays, also where the exact walk writes it",
        "eventlog/serde/walk.py",
        "        if cls in _AS_IT_IS:\n            return value\n",
        "        if cls in _AS_IT_IS:\n            return value + 0.0 if isinstance(value, float) else value\n",
        _TRIP,
    ),
    Break(
        "NUL at a text's end stays",
        _SCALARS,
        'data.decode("utf-8", "surrogatepass")',
        'data.decode("utf-8", "surrogatepass").rstrip("\\0")',
        f"{_TRIP} {_ARRAYS}",
    ),
    Break(
        "a whole number of any size keeps its sign",
        _SCALARS,
        '    return int.from_bytes(data, "big", signed=True)\n',
        '    return int.from_bytes(data, "big")\n',
        _TRIP,
    ),
    Break(
        "a span of time keeps its microseconds",
        _SCALARS,
        "_TIMEDELTA.pack(value.days, value.seconds, value.microseconds)",
        "_TIMEDELTA.pack(value.days, value.seconds, 0)",
        _TRIP,
    ),
    Break(
        "a tuple is no list",
        _FORMAT,
        "    | ormsgpack.OPT_PASSTHROUGH_TUPLE\n",
        "",
        _TRIP,
    ),
    Break(
        "a UUID is no text",
        _FORMAT,
        "    | ormsgpack.OPT_PASSTHROUGH_UUID\n",
        "",
        _TRIP,
    ),
    # Of numpy
    Break(
        "a scalar of numpy's keeps trailing NULs",
        _ARRAY_CODE,
        "text_bytes(str.__str__(scalar))",
        "text_bytes(str(scalar))",
        _ARRAYS,
    ),
    Break(
        "a scalar of numpy's is none of Python's",
        _ARRAY_CODE,
        "    return numpy.ndarray((), dtype, data).copy()[()]\n",
        "    return numpy.ndarray((), dtype, data).copy().item()\n",
        _ARRAYS,
    ),
    Break(
        "two numbers of one size are two types",
        _ARRAY_CODE,
        'text if sys.modules["numpy"].dtype(text).char == dtype.char else text[0] + dtype.char',
        "text",
        _ARRAYS,
    ),
    Break(
        "an array of another byte order stays one",
        _ARRAY_CODE,
        "    spec = _dtype_parts(dtype, 0)\n",
        '    spec = _dtype_parts(dtype.newbyteorder("="), 0)\n',
        _ARRAYS,
    ),
    Break(
        "without numpy an array is an error with a name",
        _ARRAY_CODE,
        "    except ImportError as error:\n",
        "    except LookupError as error:\n",
        f"{_ARRAYS} tests/projections/test_without_numpy.py",
    ),
    # Of the standard library
    Break(
        "what was put on an OrderedDict stays",
        "eventlog/serde/containers.py",
        "    return [*parts, value.__dict__] if value.__dict__ else parts\n",
        "    return parts\n",
        _TRIP,
    ),
    # Of users
    Break(
        "an instance is built without its `__init__`, which may want other things",
        _RECORDS,
        "        value = new(cls)\n        if in_dict:\n",
        "        value = cls(*parts[:count])\n        if in_dict:\n",
        _OWN,
    ),
    Break(
        "a frozen one is built",
        _RECORDS,
        "                own[key] = parts[place]\n",
        "                setattr(value, key, parts[place])\n",
        _OWN,
    ),
    Break(
        "a generic one is what it is without its argument",
        "eventlog/serde/objects.py",
        '_NO_ATTRIBUTE = frozenset({"__orig_class__"})\n',
        "_NO_ATTRIBUTE = frozenset[str]()\n",
        _OWN,
    ),
    Break(
        "a Struct is one of its own",
        _RECORDS,
        "        value = copy(template)\n",
        "        value = template\n",
        _OWN,
    ),
    Break(
        "a namedtuple is no tuple",
        _RECORDS,
        "        value = new(cls, parts[: len(names)])\n",
        "        value = new(tuple, parts[: len(names)])\n",
        _OWN,
    ),
    Break(
        "an enum's member is no str",
        _FORMAT,
        "    | ormsgpack.OPT_PASSTHROUGH_ENUM\n",
        "",
        _OWN,
    ),
    Break(
        "a subclass of a built-in type is registered, or refused",
        _FORMAT,
        "    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS\n",
        "",
        f"{_REFUSED} {_OWN}",
    ),
    Break(
        "a dataclass is no dict",
        _FORMAT,
        "    | ormsgpack.OPT_PASSTHROUGH_DATACLASS\n",
        "",
        f"{_REFUSED} {_OWN}",
    ),
    Break(
        "a subclass of a registered class is refused",
        _REGISTRY,
        "        return self._by_class.get(cls) or (self._parent.codec(cls) if self._parent else None)\n",
        "        known = next((self._by_class[each] for each in cls.__mro__ if each in self._by_class), None)\n"
        "        return known or (self._parent.codec(cls) if self._parent else None)\n",
        f"{_REFUSED} {_OWN}",
    ),
    # The registry
    Break(
        "a decorator gives the class back",
        _REGISTRY,
        "            self._register(cls, each)\n        return cls\n",
        "            self._register(cls, each)\n        return None\n",
        _OWN,
    ),
    Break(
        "a decorator takes aliases",
        _REGISTRY,
        "partial(self.register, name=name, aliases=aliases)",
        "partial(self.register, name=name)",
        _OWN,
    ),
    Break(
        "a stable name is what is stored",
        _REGISTRY,
        "        codec = class_codec(cls, name)\n",
        "        codec = class_codec(cls, class_name(cls))\n",
        _OWN,
    ),
    Break(
        "what a graph registers stays with it",
        _REGISTRY,
        "        child = TypeRegistry(self)\n",
        "        child = self\n",
        f"{_OWN} tests/graph/test_user_types.py",
    ),
    Break(
        "a class of a function is found by the graph that has it",
        "eventlog/serde/annotations.py",
        "    names = vars(sys.modules.get(cls.__module__, typing)) | {cls.__name__: cls} | dict(vars(cls))\n",
        "    names = vars(sys.modules.get(cls.__module__, typing))\n",
        "tests/eventlog/serde/test_annotations.py tests/graph/test_user_types.py",
    ),
    Break(
        "a class whose fields changed is another one",
        _REGISTRY,
        "        return self._by_name.get((name, shape)) or (",
        "        return next((each for key, each in self._by_name.items() if key[0] == name), None) or (",
        _OWN,
    ),
    Break(
        "what is only Opaque is no input of a node",
        "eventlog/serde/tagged.py",
        "        self.unknown.add(name)\n",
        "",
        _OPAQUE,
    ),
    Break(
        "Opaque is stored as what it came from",
        "eventlog/serde/walk.py",
        "    return Ext(value.raw[0], value.raw[1:])\n",
        "    return Ext(value.raw[0], value.raw)\n",
        f"{_OWN} tests/eventlog/serde/test_jsonplus.py",
    ),
    Break(
        "a value's path begins with its channel",
        "projections/values.py",
        "        error.lies_below(channel)\n        raise\n",
        "        raise\n",
        "tests/graph/test_user_types.py",
    ),
    Break(
        "lists and dicts nest as deep as is said",
        "eventlog/serde/format.py",
        "DEPTH_BUDGET = 760\n",
        "DEPTH_BUDGET = 600\n",
        f"{_TRIP} {_REFUSED}",
    ),
)
