"""What the chapter on Inductor shows of one compile: traces, graphs, loops, C++, differences.

Notes hang on patterns of the generated code: a release that writes something else fails the
build instead of explaining the wrong line. Its timings are drawn in `head_times`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fuseshard.compiler.records import DispatchTrace, Kernel
from fuseshard.show.charts.trace import trace_table
from fuseshard.show.numbers import number
from fuseshard.show.records import Source, Table
from fuseshard.show.sources import Anchor, annotated_source, on
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word


def head_trace(trace: DispatchTrace, way: str) -> Table:
    """List the dispatcher calls of one call of the head, indented by who called whom.

    Args:
        trace: from `compiler.dispatch.trace`.
        way: "by_hand", "library" or "compiled".

    Raises:
        ValueError: another way.
    """
    captions = {
        "by_hand": word("Eager head, softmax by hand: {n} dispatcher calls.", n=len(trace.calls)),
        "library": word("Eager head, torch.softmax: {n} dispatcher calls.", n=len(trace.calls)),
        "compiled": word("Compiled head: {n} dispatcher calls.", n=len(trace.calls)),
    }
    if way not in captions:
        raise ValueError(f"head_trace: way is {way!r}, must be one of {sorted(captions)}.")
    return trace_table(f"trace-{way.replace('_', '-')}", captions[way], trace)


def fx_source(fx: str) -> Source:
    """Show Dynamo's graph of the head with softmax by hand."""
    notes = [
        on(r"_nn\.linear\(", word("The head: still one linear layer, as Python wrote it.")),
        on(r"\.amax\(", word("From here on, one line for each operation of softmax_by_hand.")),
        on(r"f32\[", word("Shapes are constants: Dynamo has specialised on this batch size.")),
    ]
    caption = word("Dynamo's FX graph: the tensor operations that the Python code ran")
    return annotated_source("fx-graph", caption, fx, language="python", notes=notes, folded=False)


def aten_source(aten: str) -> Source:
    """Show the ATen graph that Inductor is asked to compile."""
    notes = [
        on(r"aten\.permute", word("linear is decomposed: a transposed view of the weight ...")),
        on(r"aten\.addmm", word("... and one matrix product with the bias added.")),
        on(r"aten\.amax", word("The softmax: reduce,"), last=r"aten\.amax"),
        on(r"aten\.sub\.", word("pointwise,"), last=r"aten\.exp"),
        on(r"aten\.sum", word("reduce,")),
        on(r"aten\.div", word("pointwise.")),
    ]
    caption = word("AOTAutograd's ATen graph: what Inductor is asked to compile")
    return annotated_source(
        "aten-graph", caption, aten, language="python", notes=notes, folded=False
    )


def loops_source(bodies: str) -> Source:
    """Show Inductor's loop bodies, from `compiler.inductor.loop_bodies`."""
    notes = [
        on(r"var_ranges", word("p0 runs over rows, p1 over the vocabulary: each body is a loop.")),
        on(r"'max'", word("Loop 1 reduces a row to its maximum, buf1.")),
        on(r"ops\.sub\(", word("Loop 2: two graph nodes are one body already."), last=r"ops\.exp"),
        on(r"'sum'", word("Loop 3 reads what loop 2 has stored, in the same order.")),
        on(r"ops\.truediv", word("Loop 4 divides; its result is the output, buf4.")),
    ]
    caption = word("Inductor's loops, one body for each: what to compute at one index")
    return annotated_source("loop-bodies", caption, bodies, language="python", notes=notes)


def wrapper_source(wrapper: str) -> Source:
    """Show the Python function that Inductor wrote around its kernel."""
    notes = [
        on(
            r"assert_size_stride",
            word("Shape and stride were compiled in, so they are checked at every call."),
        ),
        on(
            r"extern_kernels\.addmm",
            word("The matrix product stays a call of the library; it writes into buf0."),
        ),
        on(r"buf1 = empty", word("One number a row each: maximum and sum."), last=r"buf3 = empty"),
        on(r"buf4 = empty", word("The result. Between it and buf0 there is no other table.")),
        on(r"cpp_fused_\w+\(", word("One call for the whole softmax.")),
    ]
    caption = word("The function that Inductor wrote: allocate, call the library, call the kernel")
    return annotated_source(
        "wrapper", caption, wrapper, language="python", notes=notes, folded=False
    )


def kernel_source(kernel: Kernel, *, vocabulary: int, width: int) -> Source:
    """Show Inductor's C++ for the softmax, with a note on each line that matters.

    Args:
        kernel: from `compiler.inductor.kernels`, written for vectors and one thread.
        vocabulary: results of a row.
        width: numbers in a vector, from `compiler.inductor.vector_width`.

    Raises:
        ValueError: the code has changed, so that a note would be on the wrong line.
    """
    notes = [*_frame_notes(vocabulary), *_tail_notes(kernel, vocabulary, width), *_pass_notes()]
    caption = word("The C++ that Inductor wrote for amax, sub, exp, sum and div, indented by half")
    # Nine levels of four blanks would push every line that matters out of the page.
    code = re.sub(r"^ +", lambda blanks: " " * (len(blanks[0]) // 2), kernel.code, flags=re.M)
    return annotated_source("softmax-cpp", caption, code, language="cpp", notes=notes, folded=False)


def _frame_notes(vocabulary: int) -> list[Anchor]:
    """Explain signature, buffer and outer loop."""
    buffer_bytes = 4 * vocabulary
    return [
        on(
            r"kernel\(const float\* in_ptr0",
            word("Logits in; maximum, sum and probabilities of each row out."),
            last=r"out_ptr2",
        ),
        on(
            r"make_unique<float \[\]>",
            word(
                "The exponentials of one row, {bytes} bytes, for all rows in turn: few enough "
                "for the fastest cache.",
                bytes=number(buffer_bytes),
            ),
        ),
        on(
            r"for\(int64_t x0=",
            word("The one outer loop: a row passes all three inner loops before the next begins."),
        ),
    ]


def _pass_notes() -> list[Anchor]:
    """Explain the three inner loops."""
    return [
        on(r"at::vec::maximum\(tmp_acc0_vec, tmp0\)", word("Pass 1: as many maxima as lanes.")),
        on(
            r"max_propagate_nan",
            word("The lanes are reduced to one maximum; a NaN in the row survives."),
        ),
        on(r"tmp0 - tmp2", word("Pass 2 reads the logits again and subtracts the maximum.")),
        on(r"\.exp\(\)", word("The exponential, on a whole vector.")),
        on(r"\.store\(local_buffer", word("It goes to the buffer of this row, not to a table.")),
        on(
            r"tmp_acc0_vec = tmp_acc0_vec \+ ",
            word("The sum is taken while the exponential is still in a register."),
        ),
        on(r"loadu\(local_buffer", word("Pass 3 reads the exponentials back ...")),
        on(r"tmp0 / tmp2", word("... divides them by the sum ...")),
        on(r"\.store\(out_ptr2", word("... and writes each probability, once.")),
    ]


def _tail_notes(kernel: Kernel, vocabulary: int, width: int) -> list[Anchor]:
    """Explain how a row is cut into vectors, and the rest if it has one."""
    full, rest = divmod(vocabulary, width)
    step = rf"x1\+=static_cast<int64_t>\({width}L\)"
    cut = word("{width} numbers a step: one vector register.", width=width)
    if not rest:
        if re.search("C10_UNLIKELY", kernel.code):
            raise ValueError(
                f"kernel_source: {vocabulary} is a multiple of {width}, but the code handles a "
                "rest; the loops have changed, read them and correct the notes."
            )
        return [on(step, cut)]
    handled = word(
        "{full} full vectors leave {rest} numbers: they are loaded with a mask, and only they "
        "count.",
        full=full,
        rest=rest,
    )
    return [on(step, cut), on(r"C10_UNLIKELY", handled, last=r"max_masked_reduce")]


def difference_table(differences: Mapping[str, float], bound: float) -> Table:
    """Judge relative differences from the reference: rounding, or a bug.

    Args:
        differences: "library", "compiled", "written", "gpu" or "edited" -> largest relative
            difference.
        bound: the largest that rounding explains.

    Raises:
        ValueError: a way to compute that has no name here.
    """
    names = {
        "library": word("eager (torch.softmax)"),
        "compiled": word("compiled by torch.compile"),
        "written": word("the written module, called by hand"),
        "gpu": word("what was written for the GPU, interpreted here"),
        "edited": word("the written module, with its division removed"),
    }
    unknown = sorted(set(differences) - set(names))
    if unknown:
        raise ValueError(
            f"difference_table: got {unknown}, must be among {sorted(names)} (each edition has a "
            "name for these); rename them or add a name."
        )
    caption = word("Largest relative difference from eager, softmax by hand.")
    table = TableBuilder("differences", caption)
    table.texts(word("Computed by"), [names[name] for name in differences])
    table.numbers(word("Difference"), list(differences.values()))
    table.numbers(word("Rounding explains"), [bound] * len(differences))
    table.texts(word("Verdict"), [_verdict(value, bound) for value in differences.values()])
    return table.build()


def tail_finding(vocabulary: int, width: int) -> Word:
    """Say in a clause how a row is cut into vectors on this machine."""
    full, rest = divmod(vocabulary, width)
    if rest:
        return word(
            "{full} full vectors of {width} and a rest of {rest}, for which each pass has a "
            "second, masked branch",
            full=full,
            width=width,
            rest=rest,
        )
    return word(
        "exactly {full} vectors of {width}, so the code has no branch for a rest",
        full=full,
        width=width,
    )


def _verdict(difference: float, bound: float) -> Word:
    # `not <=` also catches NaN, which compares false with everything.
    return word("rounding") if difference <= bound else word("a bug")
