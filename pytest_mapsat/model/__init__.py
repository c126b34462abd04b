"""The nouns: frozen, typed, serialisable values that everything else passes around. No I/O.

A module is loaded when one of its names is first used. The classes of ``checks`` need no line here.
"""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .base import *
    from .case import *
    from .checks import *
    from .computing import *
    from .match import *
    from .run import *
    from .schema import *
    from .scorecard import *
    from .suite import *
    from .tool import *
    from .trajectory import *
    from .verdict import *
else:
    _NAMES = {
        "base": (
            "ASSERTED_AS Asserted Bounds CASE_ID_PATTERN DATE_PATTERN DEFAULT_ASSERTED Family FieldUnit FigureRole InfrastructureError Json "
            "JsonObject MapsatError Membership MetricName Mode NotRecordedError Noun OptimisedError Problem RequirementKind SCALARS SOFT_LEVELS SuiteError TimeRole "
            "UsageError all_true any_true canonical_json did_you_mean digest hint_at json_size lighten listed noun_digest same "
            "shown types_of"
        ),
        "match": (
            "Absent Between Bound Contains Equal Match OneOf OpenAt Present SameItems Similar WithinM "
            "values_at values_of"
        ),
        "schema": "limits_broken mismatches schema_problem unknown_types",
        "checks": "KINDS leaves",
        "computing": (
            "Around ColumnHolds ComputedField EqualTo Local MetresFrom NextTimes OfRoute OnDay OpenNow "
            "RankedAnswer RankedField Reference Refers RoundAnswer RoutesAnswer RowFilter RowPatch RowsAnswer "
            "Searched TableAnswer Threshold ToolAnswer Words"
        ),
        "tool": (
            "CutByDistance CutByLabel Entities FieldKind FieldRole Fields ITEM Meaning MeaningTree "
            "ParameterMatch ParameterType Recording Tool meanings_below name_of tool_name"
        ),
        "case": (
            "Behavior Case Clarification Confirms Context EpisodeTerms Evidence ExpectedTool Interaction LevelRule Location Message "
            "OracleTurn PlannedCall QUOTED_VALUE Requirement RowsFound ScriptedAnswer ScriptedCall Truth UserScript Utterance Visible World"
        ),
        "trajectory": (
            "Blame CallPart Difference Ending EnvironmentEnd Fault MOST_BUILD PROVENANCE_KINDS Provenance "
            "ProvenanceKind ReferenceEnd ReportedCall Retrieval RowChange StartRows Step StepStatus Trajectory Turn "
            "TurnTiming Usage WatchedTable calls_in change_lines total_usage trajectory_digest"
        ),
        "verdict": (
            "BESIDES CALIBRATION_SCHEMA Calibration Count ErrorRate JUDGING_SCHEMA JudgeCertificate "
            "JudgeRate JudgedFailure Judging Label LabelKind Mark Misread OBSERVATION Outcome PeopleLabels QUALITY "
            "Quote ReplySize STATE UNDECIDED USER Verdict evidence_digest fits mark_value reply_digest "
            "outcome_word reply_of step_name thing_name user_name wording_digest"
        ),
        "scorecard": "CallCounts CardRequirement EpisodeTiming MSB_METRICS Metric PASSED Scorecard",
        "run": (
            "Accounting Aggregate CaseChange CaseSide Change ComparedRun Comparison ComparisonOutcome "
            "Direction Gate GateOutcome JudgeInfo Lost RUN_SCHEMA RequirementChange RuleResult Run "
            "RunManifest RunOptions RunRequest RunTiming SuiteInfo Unlike"
        ),
        "suite": "CommonRequirement EnvironmentTerms EpisodeDefaults JudgeTerms SUITE_SCHEMA SuiteManifest Window",
    }
    __getattr__ = fetched(__name__, {module: names.split() for module, names in _NAMES.items()}, rest="checks")
