"""Values as bytes: exact or refused. Start reading at `serializer`; the stored form is in `format`."""

from .format import count_references
from .opaque import Opaque, StoredError, describe_error, opaque_in
from .registry import BASE, TypeRegistry
from .serializer import Serializer

count_references()

__all__ = ["BASE", "Opaque", "Serializer", "StoredError", "TypeRegistry", "describe_error", "opaque_in"]
