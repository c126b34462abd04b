"""The nouns: frozen, typed, serialisable values that everything else passes around. No I/O.

A module is loaded when one of its names is first used. The classes of ``checks`` need no line here.
"""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .base import *
    from .case import *
    from .checks import *
    from .match import *
    from .run import *
    from .schema import *
    from .tool import *
    from .trajectory import *
    from .values import *
    from .verdict import *
else:
    _NAMES = {
        "base": (
            "ASSERTED_AS Asserted Bounds CASE_ID_PATTERN DATE_PATTERN DEFAULT_ASSERTED Family FieldUnit FigureRole InfrastructureError Json "
            "JsonObject MapsatError Membership MetricName Mode NotRecordedError Noun OptimisedError Problem RequirementKind SCALARS SOFT_LEVELS SuiteError TimeRole "
            "UsageError all_true any_true canonical_json did_you_mean digest hint_at json_size share_field_sets listed noun_digest same "
            "shown types_of"
        ),
        "match": (
            "Absent Between Bound Contains Equal Match OneOf OpenAt Present Similar WithinM "
            "FoundValues NO_HOPS fits_row impossible range_in_words same_value values_at values_of"
        ),
        "values": (
            "DAY_WORDS LEAST_M_PER_DEGREE MAX_LAT MAX_LON Point SAME_POINT_M UnfitError boolean day_of distance_m fold moment normalise number open_at "
            "opening_hours parsed_json point_of refuse_oversized says_nothing text_similarity tokens word_pattern"
        ),
        "schema": "limits_broken mismatches schema_problem unknown_types",
        "checks": "KINDS as_list leaves",
        "tool": (
            "Around ColumnHolds ComputedField EqualTo Local MetresFrom NextTimes OfRoute OnDay OpenNow "
            "RankedAnswer RankedField Reference Refers RoundAnswer RoutesAnswer RowFilter RowPatch RowsAnswer "
            "Searched TableAnswer ToolAnswer Words "
            "CutByDistance CutByLabel Entities FieldKind FieldRole Fields ITEM Meaning MeaningTree "
            "POINT_COLUMNS ParameterMatch ParameterType Recording Tool WAY_NAME meanings_below name_of tool_name"
        ),
        "case": (
            "CommonRequirement EnvironmentTerms EpisodeDefaults JudgeTerms SUITE_SCHEMA SuiteManifest Window "
            "After Behavior Case Clarification Confirms Context EpisodeTerms Event Evidence ExpectedTool FAULT_ERRORS FaultError Interaction LevelRule Location Message "
            "OracleTurn PlannedCall QUOTED_VALUE Requirement RowsFound ScriptedAnswer ScriptedCall ToolFault Truth UserScript Utterance VARIANT_OF Visible World"
        ),
        "trajectory": (
            "Blame CallPart Difference Ending EnvironmentEnd Fault MISS_RESULT MOST_BUILD PROVENANCE_KINDS Provenance "
            "ProvenanceKind ReferenceEnd ReportedCall Retrieval RowChange StartRows Step StepStatus Trajectory Turn "
            "TurnTiming Usage WatchedTable calls_in change_lines status_of total_usage trajectory_digest"
        ),
        "verdict": (
            "CallCounts CardRequirement EpisodeTiming MSB_METRICS Metric PASSED Scorecard "
            "BESIDES CALIBRATION_SCHEMA Calibration Count ErrorRate JUDGING_SCHEMA JudgeCertificate "
            "JudgeRate JudgedFailure Judging Label LabelKind Mark Misread OBSERVATION Outcome PeopleLabels QUALITY "
            "Quote ReplySize STATE UNDECIDED USER Verdict evidence_digest fits mark_value reply_digest "
            "outcome_word reply_of step_name thing_name user_name wording_digest"
        ),
        "run": (
            "Accounting Aggregate CaseChange CaseSide Change ComparedRun Comparison ComparisonOutcome "
            "Direction Gate GateOutcome JudgeInfo Lost RUN_SCHEMA RequirementChange RuleResult Run "
            "RunManifest RunOptions RunRequest RunTiming SuiteInfo Unlike"
        ),
    }
    __getattr__ = fetched(__name__, {module: names.split() for module, names in _NAMES.items()}, rest="checks")
