"""Values as bytes: exact or refused. Start reading at `serializer`; the stored form is in `format`."""

from .format import count_references
from .jsonplus import JsonPlusSerializer, SerializerProtocol
from .opaque import Opaque, StoredError, describe_error, opaque_in
from .registry import BASE, TypeRegistry
from .serializer import Serializer

count_references()

register = BASE.register
"""Give a class a stored form in every serializer of this process: a call or a decorator, `TypeRegistry.register`."""

__all__ = [
    "BASE",
    "JsonPlusSerializer",
    "Opaque",
    "Serializer",
    "SerializerProtocol",
    "StoredError",
    "TypeRegistry",
    "describe_error",
    "opaque_in",
    "register",
]
