# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Length of functions.

C and C++: comments and literals are blanked, then a brace opens a function if
it stands at file, namespace or class level and what precedes it ends like a
parameter list.  Lambdas and local classes count towards the function around.
Python: as the parser says.
"""
import ast
import re

BODY_LINES_MAX = 70  # a function's body, braces included, has fewer

BLANKED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
# Digit separators are no literals: 1'000.
SEPARATOR = re.compile(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])")
PREPROCESSOR = re.compile(r'^[ \t]*#(?:[^\n\\]|\\[^\n]|\\\n)*', re.MULTILINE)
SCOPE = re.compile(r'^\s*(?:template\s*<.*>\s*)?(?:inline\s+)?(?:typedef\s+)?(namespace|class|struct|union|enum|extern)\b', re.DOTALL)
PARAMETERS = re.compile(r'\)\s*(?:const|noexcept|override|final|mutable|try|&|&&|->[^;{}]*|__\w+|\s|'
                        r':\s*[A-Za-z_][^;]*)*$', re.DOTALL)
NAME = re.compile(r'([~A-Za-z_][\w:~]*|operator[^(]*)\s*\(')


def blank(text):
    def spaces(match):
        return re.sub(r'[^\n]', ' ', match.group(0))
    text = SEPARATOR.sub(' ', text)
    return PREPROCESSOR.sub(spaces, BLANKED.sub(spaces, text))


def opens_function(before):
    if before.rstrip().endswith('=') or not PARAMETERS.search(before):
        return False
    scope = SCOPE.match(before)
    # struct foo *f(void): a function although it begins with struct
    return not scope or (scope.group(1) in ('struct', 'union', 'enum') and '(' in before
                         and not re.search(r'\b(final|alignas|__attribute__)\b', before))


def c_functions(text):
    """(name, line of the opening brace, lines of the body) of each function."""
    text = blank(text)
    stack = []
    start = 0   # of the text that precedes the next brace
    line = 1
    for at, character in enumerate(text):
        if character == '\n':
            line += 1
        elif character == '{':
            before = text[start:at]
            inside = any(kind for kind, _, _ in stack)
            name = None
            if not inside and opens_function(before):
                match = NAME.search(before)
                name = match.group(1).strip() if match else '?'
            stack.append((name, line, inside))
            start = at + 1
        elif character == '}':
            if stack:
                name, opened, _ = stack.pop()
                if name:
                    yield name, opened, line - opened + 1
            start = at + 1
        elif character == ';':
            start = at + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def is_python(tree, file):
    return file.endswith('.py') or tree.bytes(file)[:64].split(b'\n')[0].endswith(b'python3')


def check_function_length(tree):
    problems = []
    for file in tree.files:
        if file.endswith(('.c', '.cc', '.h', '.hh')):
            functions = c_functions(tree.text(file))
        elif is_python(tree, file):
            functions = python_functions(tree.text(file))
        else:
            continue
        for name, line, length in functions:
            if length >= BODY_LINES_MAX:
                problems.append(f'{file}:{line}: {name}() has {length} lines, must be less than {BODY_LINES_MAX}')
    return problems
