"""One dialogue with its limits: an agent, a user, a sandbox of tools, and what happened between them."""

from .channel import Limits as Limits
from .channel import Reporter as Reporter
from .channel import calls_after_end as calls_after_end
from .channel import leave_behind as leave_behind
from .channel import shutdown as shutdown
from .dialogue import run_episode as run_episode
from .dialogue import without_sandbox as without_sandbox
