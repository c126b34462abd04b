"""How much of a file is read before it is refused. Generous for real files, small for a bomb."""

MIB = 1024 * 1024

#: One YAML file (cases, tools, the manifest), and the keys, values, lists and mappings in it: a few seconds' reading.
YAML_BYTES = 16 * MIB
YAML_PARTS = 1_000_000
#: One case in a JSONL file, one line.
CASE_BYTES = 2 * MIB
#: One recording, one line.
RECORDING_BYTES = 8 * MIB
#: One row of a table of a suite, one line; rows of a table.
ROW_BYTES = 1 * MIB
TABLE_ROWS = 200_000
#: One recorded dialogue or verdict, one line; one cell of a table.
DIALOGUE_BYTES = 64 * MIB
CELL_BYTES = 64 * MIB
#: A saved run, which is read whole.
RUN_BYTES = 1024 * MIB
#: A file that is read line by line, and what a compressed one may unpack to.
FILE_BYTES = 4096 * MIB
GZIP_BYTES = 1024 * MIB
#: Lines of a JSONL file or a table, blank ones included.
LINES = 5_000_000
#: Lines of a file of logged events, of which one user's are in memory at a time.
LOG_LINES = 50_000_000
#: A Python literal in a cell.
LITERAL_CHARS = 8 * MIB
#: Columns of a table.
COLUMNS = 1_000
#: What a workbook may unpack to, the files in it, and the rows of one sheet.
WORKBOOK_BYTES = 512 * MIB
WORKBOOK_MEMBERS = 10_000
SHEET_ROWS = 2_000_000
#: Lists and mappings inside each other. A saved run holds results of tools, which were bounded for themselves, further in.
DEPTH = 64
RUN_DEPTH = 2 * DEPTH
#: Characters of one text of a case.
TEXT_CHARS = 100_000
#: Digits of one number.
NUMBER_CHARS = 400
#: Problems reported of one file.
PROBLEMS = 20
