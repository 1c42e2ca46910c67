"""Compiler dumps made fit for a page: no addresses, process numbers or paths of one machine."""

import re

_CLEANUPS: tuple[tuple[re.Pattern[str], str], ...] = (
    # A notebook cell is compiled under a file name made of process id and hash.
    (re.compile(r"(?:[^\s\"'()]*/)?ipykernel_\d+/\d+\.py"), "cell"),
    (re.compile(r"<ipython-input-[^>]*>"), "cell"),
    # Inductor's cache folder carries the user's name.
    (re.compile(r"[^\s\"'()=]*/torchinductor_[^/\s\"']+/"), "torchinductor/"),
    # Guards shorten paths by cutting a common beginning off, which differs between machines.
    (re.compile(r"(?<=  # )[^\s:]*/(?=[^\s/:]+\.py:\d+ in )"), ""),
    # Any other absolute path: the file's name is what a reader can use.
    (re.compile(r"(?<![\w.:/<])/(?:[^\s\"'(),:/]+/)+(?=[^\s\"'(),:/]+)"), ""),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0x"),
    # Dynamo names its functions with a counter and a UUID: __compiled_fn_1_0f3a...
    (re.compile(r"(__compiled_fn_\d+)_[0-9a-f_]{32,}"), r"\1"),
    (re.compile(r"(check_(?:obj|type)_id\([^\n]*?), \d{6,}"), r"\1, …"),
    (re.compile(r"\b(ID_MATCH|___check_obj_id|___check_type_id)(.*?)\b\d{9,}\b"), r"\1\2…"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


def clean(text: str) -> str:
    """Strip from a dump what differs between two runs of the same program.

    Args:
        text: a dump of Dynamo, AOTAutograd or Inductor.

    Returns:
        The dump without absolute paths, memory addresses, UUIDs, object ids and trailing blanks.
    """
    for pattern, replacement in _CLEANUPS:
        text = pattern.sub(replacement, text)
    return text.strip("\n")
