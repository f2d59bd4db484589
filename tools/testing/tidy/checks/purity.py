# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""device/core does no I/O, reads no clock, starts no thread: what its library asks of others."""
import glob
import re

from .tree import run

LIBRARY = 'build/user/**/libohca_core.a'
# Memory and string functions, allocation, and what compilers emit by themselves.
ALLOWED = re.compile(r'''^(
    mem(cpy|move|set|cmp|chr|mem) | __mem(cpy|move|set)_chk | str(len|cmp|ncmp|chr|nlen) | bcmp
  | __stack_chk_fail | abort | __assert_fail | _GLOBAL_OFFSET_TABLE_ | __dso_handle | __cxa_atexit
  | __cxa_(guard_\w+|pure_virtual|throw_bad_array_new_length|bad_cast)
  | __cxa_(begin_catch|end_catch|rethrow|allocate_exception|free_exception|throw|call_unexpected)
  | __gxx_personality_v0 | _Unwind_Resume | __(u?div|u?mod|mul|pop|clz|ctz)\w+ | __cpu_(model|indicator_init)
  | operator\ (new|delete)(\[\])?\(.*
  | std::__throw_\w+\(.* | std::terminate\(\) | std::__glibcxx_assert_fail\(.* | std::__detail::.*
  | std::_Rb_tree_\w+\(.* | std::__cxx11::.* | std::(bad_alloc|exception|length_error|out_of_range)::.*
  | (vtable|typeinfo(\ name)?)\ for\ (std::|__cxxabiv1::).* | std::nothrow
)$''', re.VERBOSE)


def undefined_symbols(library):
    """(undefined symbols that no member of the library defines, message)."""
    status, output = run(['nm', '--demangle', library], timeout=60)
    if status:
        return None, output.strip()
    defined, undefined = set(), set()
    for line in output.splitlines():
        match = re.match(r'^(?:[0-9a-f]+|\s+) +([A-Za-z]) (.*)$', line)
        if match:
            (undefined if match.group(1) in 'Uvw' else defined).add(match.group(2))
    return undefined - defined, None


def check_core_purity(tree):
    libraries = glob.glob(tree.path(LIBRARY), recursive=True)
    if len(libraries) != 1:
        return [f'{LIBRARY}: found {len(libraries)}, build first']
    symbols, message = undefined_symbols(libraries[0])
    if message:
        return [message]
    return [f'device/core uses {symbol}' for symbol in sorted(symbols) if not ALLOWED.match(symbol)]
