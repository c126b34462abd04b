"""Thresholds, comparison with an earlier run, and the decision of a run: passed, failed, inconclusive or invalid."""

from .compare import compare as compare
from .compare import false_alarms as false_alarms
from .decide import Coverage as Coverage
from .decide import decide as decide
from .decide import parse_allowance as parse_allowance
from .likeness import Side as Side
from .likeness import builds_named as builds_named
from .likeness import likeness as likeness
from .likeness import reduced_card as reduced_card
from .likeness import setting_text as setting_text
from .likeness import without_turns as without_turns
from .pairs import recoveries as recoveries
from .rules import EACH_CASE as EACH_CASE
from .rules import Ceiling as Ceiling
from .rules import Drop as Drop
from .rules import Threshold as Threshold
from .rules import gated as gated
from .rules import parse_drops as parse_drops
from .rules import parse_thresholds as parse_thresholds
