from trubleu.files.lines import iterate_lines as iterate_lines
from trubleu.files.lines import read_text_lines as read_text_lines
from trubleu.files.paths import check_standard_input_once as check_standard_input_once
from trubleu.files.writer import atomic_writer as atomic_writer
from trubleu.files.writer import check_writable as check_writable
