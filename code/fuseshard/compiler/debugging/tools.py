"""torch's own detectives, each in a process of its own: the bisector and the minifier.

Both talk to stderr at length and leave files behind; here they do it in a folder that is removed.
"""

import json
import re

from fuseshard.compiler.child import run_script
from fuseshard.compiler.debugging.records import Bisection, Minified

# Private modules in the script, checked on torch 2.13.
_BISECT = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch
import torch._inductor.config as config
from torch._inductor.codecache import CppPythonBindingsCodeCache
from torch._inductor.compiler_bisector import CompilerBisector
runs = 0
def fn(x):
    return x.sin().relu() * 2
x = torch.linspace(-3, 3, 33)
def test():
    global runs
    runs += 1
    torch._dynamo.reset()
    with config.patch({{{fault!r}: "accuracy"}}):
        return torch.allclose(torch.compile(fn)(x), fn(x))
out, sys.stdout = sys.stdout, sys.stderr
found = CompilerBisector.do_bisect(test)
sys.stdout = out
sources = len(CppPythonBindingsCodeCache.cache)
print(json.dumps([found.backend, found.subsystem, found.debug_info, runs, sources]))
"""

_MINIFY = """
import contextlib, glob, io, json, os, re, subprocess, sys
os.environ["TORCHDYNAMO_REPRO_AFTER"] = "dynamo"
os.environ["TORCHDYNAMO_REPRO_LEVEL"] = "2"
os.environ["TORCH_COMPILE_DEBUG_DIR"] = os.getcwd()
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    def forward(self, x):
        for _ in range(3):
            x = self.a(x).sin() + x
        return self.b(torch.relu(x)).cos()
with contextlib.redirect_stdout(io.StringIO()):
    try:
        torch.compile(Net(), backend="relu_compile_error_TESTING_ONLY")(torch.randn(2, 4))
    except Exception:
        pass
(launcher,) = glob.glob("**/minifier_launcher.py", recursive=True)
folder = os.path.dirname(launcher)
done = subprocess.run(
    [sys.executable, "minifier_launcher.py"], cwd=folder, capture_output=True, text=True
)
names = os.listdir(os.path.join(folder, "checkpoints"))
nodes = sorted((int(m[1]) for m in map(re.compile(r"_(\\d+)_nodes").search, names) if m))
with open(os.path.join(folder, "repro.py")) as file:
    print(json.dumps([nodes[::-1], done.stdout + done.stderr, file.read()]))
"""


def bisect_relu(fault: str) -> Bisection:
    """Plant a wrong relu in Inductor and let torch's bisector find it.

    The bisector keeps the cache of compiled graphs out of its runs by itself. Compiled C++ is
    found again by the hash of its source, so that runs which write the same code share it.

    Args:
        fault: Inductor's option that plants it, `blame.FAULT`.

    Returns:
        What the bisector blames.

    Raises:
        RuntimeError: the bisector failed or found nothing.

    Source:
        torch._inductor.compiler_bisector. Checked on torch 2.13.
    """
    found = json.loads(_last_line(_BISECT.format(fault=fault)))
    backend, subsystem, culprit, runs, sources = found
    return Bisection(
        backend=backend,
        subsystem=subsystem or "",
        culprit=culprit or "",
        runs=int(runs),
        sources=int(sources),
    )


def minify_relu() -> Minified:
    """Let torch's minifier shrink a model that a backend fails on.

    The backend is `relu_compile_error_TESTING_ONLY`, which torch ships to test the minifier with:
    it raises when it meets a relu. Dynamo writes the launcher when the model fails; a second
    process runs it.

    Returns:
        The sizes that it went through, and what is left.

    Raises:
        RuntimeError: there was no repro at the end.

    Source:
        torch._dynamo.repro.after_dynamo. Checked on torch 2.13.
    """
    nodes, report, repro = json.loads(_last_line(_MINIFY))
    queries = re.search(r"Made (\d+) queries", report)
    forward = re.search(r"    def forward\(.*?return [^\n]*", repro, re.DOTALL)
    if queries is None or forward is None:
        raise RuntimeError(
            "minify_relu: the minifier's report or repro has another form than torch 2.13's; read "
            "it and correct the patterns."
        )
    return Minified(nodes=tuple(nodes), queries=int(queries[1]), repro=_dedented(forward[0]))


def _last_line(script: str) -> str:
    result = run_script(script, timeout_s=300.0)
    if result.exit_code or not result.output:
        raise RuntimeError(
            f"tools: the script ended with status {result.exit_code} ({result.error}), must end "
            "with 0 and print its finding; run it by itself to see why."
        )
    return result.output.splitlines()[-1]


def _dedented(code: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in code.splitlines()) + "\n"
