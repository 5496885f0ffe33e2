# SPDX-License-Identifier: MIT
"""Simulates PCIe fabrics joined by non-transparent bridges.

    import farside

    scenario = farside.load("paper/fig10/fig10.yaml", {"workload.seed": 2})
    columns = scenario.run(threads=2)      # {"transfer": [4096, ...], ...}
    frame = scenario.frame(threads=2)      # the same as a pandas.DataFrame

A column is a list with an entry for each point. An entry is a str, an int, a
float, or None if the cell is empty.
"""

import os
import pathlib

import cffi

_TEXT, _INTEGER = 0, 1

_here = pathlib.Path(__file__).resolve().parent
_ffi = cffi.FFI()
_ffi.cdef((_here / "farside.cdef").read_text(encoding="utf-8"))


def _open():
    """Opens libfarside of the prefix that this module is in, or else the one
    that the system's linker finds. FARSIDE_LIBRARY names another file."""
    name = "libfarside.so.1"
    if "FARSIDE_LIBRARY" in os.environ:
        return _ffi.dlopen(os.environ["FARSIDE_LIBRARY"])
    for folder in _here.parents:
        for path in sorted(folder.glob("lib/" + name)) + sorted(
            folder.glob("lib/*-linux-gnu*/" + name)
        ):
            return _ffi.dlopen(str(path))
    return _ffi.dlopen(name)


_lib = _open()

__version__ = _ffi.string(_lib.farside_version()).decode()


class Error(Exception):
    """A description has errors, or a point failed.

    The message has all errors. file, line and column are the place of the
    first one; file is None if it has no place.
    """

    def __init__(self, message, file, line, column):
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column


def _text(pointer):
    return None if pointer == _ffi.NULL else _ffi.string(pointer).decode()


def _call(function, *arguments):
    """Calls a function whose last parameter is the error."""
    error = _ffi.new("FarsideError **")
    result = function(*arguments, error)
    if result != _ffi.NULL:
        return result
    told = _ffi.gc(error[0], _lib.farside_error_free)
    raise Error(_text(told.message), _text(told.file), told.line, told.column)


def _cell(table, kind, row, column):
    if kind == _TEXT:
        return _text(_lib.farside_cell_text(table, row, column))
    number = _lib.farside_cell_number(table, row, column)
    if number != number:
        return None
    return int(number) if kind == _INTEGER else number


def _columns(pointer):
    """Returns the columns of a table, and frees it."""
    table = _ffi.gc(pointer, _lib.farside_table_free)
    rows = range(_lib.farside_table_rows(table))
    columns = {}
    for i in range(_lib.farside_table_columns(table)):
        kind = _lib.farside_column_type(table, i)
        name = _text(_lib.farside_column_name(table, i))
        columns[name] = [_cell(table, kind, row, i) for row in rows]
    return columns


class Scenario:
    """A scenario that was loaded and checked. See load()."""

    def __init__(self, pointer):
        self._pointer = _ffi.gc(pointer, _lib.farside_scenario_free)
        self.name = _text(_lib.farside_scenario_name(self._pointer))
        self.points = [
            _text(_lib.farside_scenario_label(self._pointer, i))
            for i in range(_lib.farside_scenario_points(self._pointer))
        ]

    def run(self, point=None, threads=1):
        """Simulates all points, or the one with this index or label. Returns
        a dict of columns."""
        if threads < 1:
            raise ValueError(f"threads is {threads}; give 1 or more")
        if point is None:
            return _columns(_call(_lib.farside_run, self._pointer, threads))
        if isinstance(point, str):
            if point not in self.points:
                raise ValueError(
                    f"there is no point {point!r}; points has all labels"
                )
            point = self.points.index(point)
        if not 0 <= point < len(self.points):
            raise IndexError(
                f"there is no point {point}; give 0 to {len(self.points) - 1}"
            )
        return _columns(_call(_lib.farside_run_point, self._pointer, point))

    def frame(self, point=None, threads=1):
        """The same as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.run(point, threads))


def _whole(text):
    """Returns text, of which C would see the part before a NUL alone."""
    if b"\0" in text:
        raise ValueError("embedded null byte")
    return text


def load(path, changes=None):
    """Loads the scenario in a file, or one that came with Farside by its name.
    changes is a dict of paths to values, as in `farside run --set`."""
    texts = [
        _ffi.new("char[]", _whole(f"{key}={value}".encode()))
        for key, value in dict(changes or {}).items()
    ]
    array = _ffi.new("char *[]", texts + [_ffi.NULL])
    return Scenario(_call(_lib.farside_load, _whole(os.fsencode(path)), array))


def scenarios():
    """Returns the names of the scenarios that came with Farside."""
    folder = _text(_lib.farside_scenarios())
    if folder is None:
        return []
    root = pathlib.Path(folder)
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*.yaml")
        if path.parent.name != "parts"
    )
