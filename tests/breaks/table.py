"""All breaks, by theme."""

from __future__ import annotations

from .crashes import CRASHES
from .event_loop import EVENT_LOOP
from .group_commit import GROUP_COMMIT
from .lmdb_care import LMDB_CARE
from .policies import POLICIES
from .streams import STREAMS
from .torn_views import TORN_VIEWS
from .types_of_values import TYPES_OF_VALUES
from .values import VALUES
from .verifying import VERIFYING
from .versions import VERSIONS

THEMES = {
    "lmdb_care": LMDB_CARE,
    "group_commit": GROUP_COMMIT,
    "event_loop": EVENT_LOOP,
    "streams": STREAMS,
    "policies": POLICIES,
    "values": VALUES,
    "types_of_values": TYPES_OF_VALUES,
    "verifying": VERIFYING,
    "versions": VERSIONS,
    "crashes": CRASHES,
    "torn_views": TORN_VIEWS,
}
BREAKS = tuple(each for theme in THEMES.values() for each in theme)
