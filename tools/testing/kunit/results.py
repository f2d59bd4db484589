# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a KUnit kernel has printed: results of cases, and complaints of the kernel.

KUnit calls a case good in which the kernel found a sleep in atomic context, a
lock that is not held, or a leak.  So every complaint belongs to the case during
which it came, and fails it.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../vm/host"))
import complaints

_TIME = re.compile(r"^\[ *\d+\.\d+\] ?")
_SUITE = re.compile(r"^ {4}# Subtest: (\S+)")
_CASE = re.compile(r"^ {4}(not ok|ok) \d+ (\S+?)(?:\s+# SKIP\s*(.*))?$")
_REASON = re.compile(r"^ {4}# \S+: ((?:EXPECTATION|ASSERTION) FAILED at .*)")
_SUITE_END = re.compile(r"^(not ok|ok) \d+ (\S+)$")
_END = re.compile(r"reboot: System halted|# kunit: shutdown")


def is_complaint(line):
    return bool(complaints.find(line.encode()))


class Case:
    def __init__(self, name, outcome, reason=""):
        self.name = name
        self.outcome = outcome  # "ok", "not ok", "skip"
        self.reason = reason

    def line(self):
        return f"{self.outcome} {self.name}" + (f" - {self.reason}" if self.outcome != "ok" else "")


def _short(line):
    return " ".join(line.split())[:160]


class _Parser:
    def __init__(self):
        self.cases = []
        self._suite = ""
        self._since = []  # lines since the last result
        self._ended = False

    def _complaint(self):
        found = complaints.find("\n".join(self._since).encode())
        return _short(found[0].decode()) if found else ""

    def _case(self, match):
        verdict, name, skipped = match.groups()
        name = f"{self._suite}.{name}"
        complaint = self._complaint()
        reasons = [reason.group(1) for reason in map(_REASON.match, self._since) if reason]
        if complaint:
            self.cases.append(Case(name, "not ok", f"kernel: {complaint}"))
        elif verdict == "not ok":
            self.cases.append(Case(name, "not ok", _short(reasons[0]) if reasons else "no reason was printed"))
        elif skipped is not None:
            self.cases.append(Case(name, "skip", skipped))
        else:
            self.cases.append(Case(name, "ok"))
        self._since = []

    def _suite_end(self, verdict, name):
        """The suite's own verdict adds to those of its cases if it failed by itself."""
        complaint = self._complaint()
        if complaint:
            self.cases.append(Case(f"{name}: after its cases", "not ok", f"kernel: {complaint}"))
        elif verdict == "not ok" and all(case.outcome != "not ok" for case in self.cases):
            self.cases.append(Case(name, "not ok", "the suite failed"))
        self._since = []

    def line(self, text):
        text = _TIME.sub("", text.rstrip())
        self._since.append(text)
        for pattern, action in ((_SUITE, lambda m: setattr(self, "_suite", m.group(1))),
                                (_CASE, self._case), (_SUITE_END, lambda m: self._suite_end(*m.groups()))):
            match = pattern.match(text)
            if match:
                action(match)
                return
        self._ended = self._ended or bool(_END.search(text))

    def finish(self):
        complaint = self._complaint()
        if complaint:
            self.cases.append(Case("kernel log", "not ok", complaint))
        if not self._ended:
            last = next((line for line in reversed(self._since) if line.strip()), "nothing")
            self.cases.append(Case("kernel", "not ok", f"it did not come to its end; last it said: {_short(last)}"))
        if not self.cases:
            self.cases.append(Case("kernel", "not ok", "no test has run"))
        return self.cases


def parse(log):
    """Cases of a kernel's log (str), complaints included."""
    parser = _Parser()
    for line in log.splitlines():
        parser.line(line)
    return parser.finish()
