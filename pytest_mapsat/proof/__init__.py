"""Suites proved by running them: do oracles find their recordings, what do the checks catch, and what do they accuse wrongly.

A module is loaded when one of its names is first used.
"""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .agreement import *
    from .baselines import *
    from .mutants import *
    from .oracles import *
else:
    _NAMES = {
        "agreement": "CERTIFICATE LEVEL Agreement MeasuredDialogue agreement_table answer_table certificate_of certificate_table judging_of lacking parse_required rates_of uncertified write_certificate",
        "baselines": "BASELINES SuiteWorth card_text dialogue_of read_case_readings worth_table",
        "mutants": "HARMLESS Proof WRONG prove table",
        "oracles": "measure_retrieval play_oracle",
    }
    __getattr__ = fetched(__name__, {module: names.split() for module, names in _NAMES.items()})
