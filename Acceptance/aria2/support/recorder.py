"""Records answers by request, masks values that change with each run, and compares two sets of answers."""

import json
import re

# The values of these keys depend on time and chance, so only their type is compared.
VOLATILE = {"downloadSpeed", "uploadSpeed", "sessionId", "version", "date", "expires", "content-length"}


def kind_of(value):
    """Returns the name of a value's type for a difference."""
    if isinstance(value, str):
        for pattern, name in (
            (r"\d+", "digits"),
            (r"[0-9a-f]{16}", "a GID"),
            (r"[0-9a-f]+", "hex digits"),
            ("", "empty"),
        ):
            if re.fullmatch(pattern, value):
                return f"<{name}>"
        return "<text>"
    return f"<{type(value).__name__}>"


class Recorder:
    def __init__(self, *replaced):
        self.cases = {}
        self.replaced = [(old, new) for old, new in replaced if old]

    def note(self, name, value, volatile=()):
        assert name not in self.cases, name
        self.cases[name] = self.masked(value, VOLATILE | set(volatile))

    def masked(self, value, volatile):
        if isinstance(value, dict):
            return {
                self.text(key): (
                    ("<hex digits>" if key == "bitfield" else kind_of(each))
                    if key in volatile and not isinstance(each, (dict, list))
                    else self.masked(each, volatile)
                )
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [self.masked(each, volatile) for each in value]
        return self.text(value) if isinstance(value, str) else value

    def text(self, value):
        for old, new in self.replaced:
            value = value.replace(old, new)
        return value

    def call(self, daemon, name, method, *params, volatile=()):
        """Calls a method by POST and records the status and the result or the error."""
        asked = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
        answer = self.raw(daemon, name, json.dumps(asked), volatile=volatile)
        return answer.get("result") if isinstance(answer, dict) else None

    def raw(self, daemon, name, body, path="/jsonrpc", method="POST", headers=None, volatile=(), fields=()):
        """Sends `body` and records the status, the header fields of `fields` and the answer, parsed if it is JSON."""
        try:
            status, head, data = daemon.post(body.encode() if isinstance(body, str) else body, path, method, headers)
        except Exception as failure:  # the result is any error that http.client raises
            self.note(name, f"no answer: {type(failure).__name__}")
            return None
        text = data.decode(errors="replace")
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = text
        noted = {"status": status, "body": parsed}
        if fields:
            noted["head"] = head if fields == "all" else {field: head.get(field) for field in fields}
        self.note(name, noted, volatile)
        return parsed


def differences(first, second, place=""):
    """Yields each difference as its place and `one → other`. A text that only one list has is a part of the place."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted({*first, *second}):
            at = f"{place}.{key}" if place else key
            if key not in second:
                yield at, f"{shown(first[key])} → missing"
            elif key not in first:
                yield at, f"missing → {shown(second[key])}"
            else:
                yield from differences(first[key], second[key], at)
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for index, (one, other) in enumerate(zip(first, second)):
            yield from differences(one, other, f"{place}[{index}]")
    elif isinstance(first, list) and isinstance(second, list) and all(isinstance(each, str) for each in first + second):
        for each in first:
            if each not in second:
                yield f"{place} {shown(each)}", "listed → missing"
        for each in second:
            if each not in first:
                yield f"{place} {shown(each)}", "missing → listed"
    elif first != second or type(first) is not type(second):
        yield place, f"{shown(first)} → {shown(second)}"


def shown(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 240 else text[:240] + "…"
