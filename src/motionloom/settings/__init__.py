"""Settings classes: a frozen dataclass for each operation and for each of its methods.

A settings class is the interface of its operation. A settings object is created once, where a
request enters (a Python call, a command line, an HTTP request, a file), and is then passed on
unchanged. Each field has a default, a sentence that explains it, a unit and limits. The signature
and documentation of the Python method, the options and help of the command, the schema of the HTTP
interface and the forms of the page are all derived from the class.

There are three kinds of fields:

- a plain value: ``max=20``;
- a *method*: the settings of one of several algorithms, chosen by name or passed as an object.
  ``method="lazy"`` is short for ``method=LazyGraph()``, whose arguments are the options;
- a *group*: settings that are rarely changed, such as ``expansion=Expansion(join_distance=0.1)``.

A preset is a constructor that starts with the values used in a paper (`preset`). In
``SearchSettings.kg04(max=20)``, explicit arguments replace the paper's values, even if they equal
the defaults.

Commands and presets cannot take objects. They take *flat* options (`Settings.of`), in which the
options of the chosen method and of the groups are at the same level as the fields.
"""

from motionloom.settings.field import (
    EXCLUDE,
    LABEL,
    ONLY,
    Names,
    Setting,
    check_value,
    choices_of,
    setting,
)
from motionloom.settings.schema import json_schema
from motionloom.settings.settings_class import (
    MotionChoice,
    PaperPreset,
    Settings,
    described,
    method_class,
    motion_choice,
    name_of,
    named_takes,
    parsed_value,
    preset,
    presets_of,
)
from motionloom.settings.signature import described_fields, takes

PLANNED = 100  # steps of progress if the amount of work is not known: hundredths of the plan

__all__ = [
    "EXCLUDE",
    "LABEL",
    "MotionChoice",
    "Names",
    "ONLY",
    "PLANNED",
    "PaperPreset",
    "Setting",
    "Settings",
    "check_value",
    "choices_of",
    "described",
    "described_fields",
    "json_schema",
    "method_class",
    "motion_choice",
    "name_of",
    "named_takes",
    "parsed_value",
    "preset",
    "presets_of",
    "setting",
    "takes",
]
