"""Made-up worlds: what is drawn from a seed, the towns that it gives, and the builders by which ``mapsat build`` makes suites of them."""

from .builders import BuildRequest as BuildRequest
from .builders import builder_of as builder_of
from .builders import builders as builders
from .towns import TOWNS as TOWNS
from .towns import Draws as Draws
from .towns import Town as Town
from .towns import coined_name as coined_name
from .towns import town as town
