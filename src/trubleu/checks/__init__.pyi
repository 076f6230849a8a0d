from trubleu.checks.checks import Checks as Checks
from trubleu.checks.findings import KINDS as KINDS
from trubleu.checks.findings import Finding as Finding
from trubleu.checks.findings import common_kinds as common_kinds
from trubleu.checks.findings import new_findings as new_findings
from trubleu.checks.item import Item as Item
