"""Rating studies: people and models rate texts; the ratings become weights or judgements."""

from trubleu.rating.carry import Carried, carry
from trubleu.rating.config import Question, StudyConfig, config_text, default_config_text, parse_config, read_config
from trubleu.rating.export import Exported, export_study
from trubleu.rating.import_ratings import Imported, ImportedRatings, import_answers, import_ratings
from trubleu.rating.items import Item, output_items, parse_pairs, read_items, read_segments
from trubleu.rating.model_rater import ModelOptions, ModelRun, rate_with_model
from trubleu.rating.plan import Plan, make_plan
from trubleu.rating.raters import NewRater, Rater
from trubleu.rating.scheduler import NoConsentError, Outcome, Task, TooEarlyError
from trubleu.rating.store.queries import LogRow, RatingRow, StoredItem
from trubleu.rating.study import Study
from trubleu.rating.summary import Summary

__all__ = [
    "Carried",
    "Exported",
    "Imported",
    "ImportedRatings",
    "Item",
    "LogRow",
    "ModelOptions",
    "ModelRun",
    "NewRater",
    "NoConsentError",
    "Outcome",
    "Plan",
    "Question",
    "Rater",
    "RatingRow",
    "StoredItem",
    "Study",
    "StudyConfig",
    "Summary",
    "Task",
    "TooEarlyError",
    "carry",
    "config_text",
    "default_config_text",
    "export_study",
    "import_answers",
    "import_ratings",
    "make_plan",
    "output_items",
    "parse_config",
    "parse_pairs",
    "rate_with_model",
    "read_config",
    "read_items",
    "read_segments",
]
