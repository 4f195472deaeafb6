"""Print one line for each step: ``same <step>``, or ``differs <step>: <what is wrong>``. run.mjs counts the lines."""

import math


def plain(value):
    """Turn an answer into data that can be compared: Arrow tables into lists, floats rounded to 5 digits."""
    if hasattr(value, "to_pylist"):
        value = value.to_pylist()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return "nan" if math.isnan(value) else float(f"{value:.5g}")
    return value


def outcome(call):
    """Call; give ``("answer", value)`` or ``("refusal", the error)``."""
    try:
        return "answer", plain(call())
    except Exception as error:
        return "refusal", f"{type(error).__name__}: {error}"


def compare(step, found, wanted):
    """Two answers are the same if their values are; two refusals are the same whatever their words."""
    unreachable = found[0] == "refusal" and ("tcp connect" in found[1] or "ConnectError" in found[1] or "MaxRetryError" in found[1])
    same = not unreachable and (found[0] == wanted[0] == "refusal" or found == wanted)
    if same:
        print(f"same {step}", flush=True)
    else:
        line = f"differs {step}: {str(found)[:300]} instead of {str(wanted)[:300]}"
        print(line.replace("\n", " "), flush=True)


def check(step, call, wanted):
    """Compare an answer with a value that is known beforehand."""
    compare(step, outcome(call), ("answer", plain(wanted)))
