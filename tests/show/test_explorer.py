"""Explorers: what they hold and refuse. Oracle: the programs that went in (pure data)."""

import dataclasses
import json

import pytest
from bs4 import BeautifulSoup

from fuseshard.compiler.gpu_code.records import GpuGraph, KernelSource, MachineCode
from fuseshard.show.explorer.explore import Place, explore
from fuseshard.show.explorer.pairs import pairings
from fuseshard.show.explorer.programs import (
    STAGES,
    ProgramCode,
    TargetCode,
    kernel_code,
    stages_of,
)
from fuseshard.show.explorer.words import short_name
from fuseshard.show.words import plain, word
from tests.book.toy.kit.toykit import gpus

LABEL = word("Programs on GPUs")
GPUS = ("h200", "mi300x")


@pytest.fixture(scope="module")
def kernels():
    """One kernel for each of two GPUs; building texts takes a while."""
    return {gpu: gpus.kernel("triton_a", "inference", gpu) for gpu in GPUS}


@pytest.fixture
def make(kernels):
    """Make a program of kernels with other names, phases or texts."""

    def program(key="softmax", names=(("a",), ("a",)), label=None, **changes):
        views = [
            TargetCode(
                target=gpus.target(gpu),
                kernels=tuple(
                    dataclasses.replace(kernels[gpu], name=name, **changes) for name in own
                ),
            )
            for gpu, own in zip(GPUS, names, strict=True)
        ]
        return ProgramCode(key=key, label=label or plain(key), views=tuple(views))

    return program


def with_texts(kernel, **texts):
    """A kernel with some of its texts replaced, or left out where None stands."""
    changed = {**kernel.texts, **texts}
    return dataclasses.replace(kernel, texts={k: v for k, v in changed.items() if v is not None})


def view(gpu, *kernels):
    return TargetCode(target=gpus.target(gpu), kernels=kernels)


def test_every_text_is_stored_once_and_found_where_it_was(make):
    data = explore("explorer", LABEL, [make(), make("gelu")]).to_json()
    assert len(set(data["texts"])) == len(data["texts"])
    for program in data["programs"]:
        for gpu, own in program["kernels"][0]["views"].items():
            expected = gpus.kernel("triton_a", "inference", gpu).texts
            assert {stage: data["texts"][i] for stage, i in own["texts"].items()} == expected
    # 8 stages on one card and 7 on the other, of which the ATen graph is the same.
    assert len(data["texts"]) == len(STAGES) + len(STAGES) - 1 - 1


def test_the_record_is_json_of_plain_data(make):
    bundle = explore("explorer", LABEL, [make()])._repr_mimebundle_()
    data = bundle["application/vnd.fuseshard.explorer+json"]
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_the_numbers_of_a_kernel_stand_in_the_order_of_the_table(make):
    data = explore("explorer", LABEL, [make()]).to_json()
    resources = gpus.kernel("triton_a", "inference", "h200").resources
    cells = data["programs"][0]["kernels"][0]["views"]["h200"]["cells"]
    assert len(cells) == len(data["resources"]) - 1  # the last is a word
    assert cells[:3] == ["4", str(resources.registers), str(resources.spills)]
    assert cells[4] == "4×128\n2×32"
    assert cells[6] == f"{100 * resources.occupancy:.4g}"


def test_a_configuration_is_written_as_triton_writes_it(make):
    data = explore("explorer", LABEL, [make()]).to_json()
    settings = data["programs"][0]["kernels"][0]["views"]["h200"]["settings"]
    assert settings == "XBLOCK=1, R0_BLOCK=1024, num_warps=4, num_stages=1"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA H200", "H200"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA B200", "B200"),
        ("AMD Instinct MI300X", "MI300X"),
    ],
)
def test_cards_have_short_names(name, short):
    assert short_name(dataclasses.replace(gpus.target("h200"), name=name)) == short


def test_what_the_compiler_says_becomes_a_kernel(kernels):
    made = kernels["h200"]
    texts = made.texts
    source = KernelSource(
        name="triton_a",
        phase="inference",
        kind="pointwise",
        triton=texts["triton"],
        size_hints={},
        configurations=(made.configuration,),
    )
    graph = GpuGraph(
        phase="inference",
        aten=texts["aten"],
        post_grad="",
        wrapper=texts["wrapper"],
        kernels=(source,),
        steps=(),
        inputs=(),
        outputs=(),
        input_tensors=(),
    )
    machine = MachineCode(
        target="h200",
        configuration=made.configuration,
        ttir=texts["ttir"],
        ttgir=texts["ttgir"],
        llir=texts["llir"],
        assembly=texts["assembly"],
        sass=texts["sass"],
        resources=made.resources,
        compile_s=0.2,
    )
    assert kernel_code(graph, source, machine) == made
    on_amd = kernel_code(graph, source, dataclasses.replace(machine, sass=None))
    assert tuple(on_amd.texts) == stages_of("amd")


def test_as_many_kernels_are_paired_by_their_place(make):
    pairs = pairings(make(names=(("per_0", "per_1"), ("red_0", "red_1"))))
    assert [[k.name for k in pair.kernels.values()] for pair in pairs] == [
        ["per_0", "red_0"],
        ["per_1", "red_1"],
    ]


def test_another_number_of_kernels_is_paired_by_name(make):
    pairs = pairings(make(names=(("a", "b"), ("b", "c", "d"))))
    assert [{gpu: k.name for gpu, k in pair.kernels.items()} for pair in pairs] == [
        {"h200": "a"},
        {"h200": "b", "mi300x": "b"},
        {"mi300x": "c"},
        {"mi300x": "d"},
    ]


def test_a_backward_kernel_never_answers_to_a_forward_one(kernels):
    phases = {"h200": ("forward", "backward"), "mi300x": ("backward", "forward")}
    views = tuple(
        view(gpu, *(dataclasses.replace(kernels[gpu], name=p, phase=p) for p in phases[gpu]))
        for gpu in GPUS
    )
    pairs = pairings(ProgramCode(key="a", label=plain("a"), views=views))
    assert [{k.phase for k in pair.kernels.values()} for pair in pairs] == [
        {"forward"},
        {"backward"},
    ]


def test_jupyter_shows_the_first_program_at_every_stage(make):
    bundle = explore("explorer", LABEL, [make(), make("gelu")])._repr_mimebundle_()
    page = BeautifulSoup(bundle["text/html"], "html.parser")
    assert page.b.text == "Programs on GPUs: softmax, NVIDIA H200"
    expected = gpus.kernel("triton_a", "inference", "h200").texts
    assert [code.text for code in page.select("details pre code")] == list(expected.values())
    assert "LLVM IR: 1499 lines" in bundle["text/plain"]


def test_the_start_is_the_first_program_or_the_one_named(make):
    programs = [make(), make("gelu")]
    assert explore("explorer", LABEL, programs).start == ("softmax", "h200", "triton")
    start = Place("gelu", "mi300x", "assembly")
    assert explore("explorer", LABEL, programs, start=start).start == start
    for wrong in (Place("relu", "h200", "aten"), Place("gelu", "b200", "aten")):
        with pytest.raises(ValueError, match=r"starts with .*, must be one of the programs"):
            explore("explorer", LABEL, programs, start=wrong)
    with pytest.raises(ValueError, match=r"starts at stage 'sass', must be one of .*'mi300x'"):
        explore("explorer", LABEL, programs, start=Place("gelu", "mi300x", "sass"))


def test_no_program_and_no_view_are_refused():
    with pytest.raises(ValueError, match="'explorer': got no programs, must have one"):
        explore("explorer", LABEL, [])
    with pytest.raises(ValueError, match="'gelu': got no views, must have one a GPU"):
        ProgramCode(key="gelu", label=plain("GELU"), views=())


@pytest.mark.parametrize("key", ["Softmax", "soft max", "soft,max", "-softmax", ""])
def test_a_key_that_breaks_a_link_is_refused(make, key):
    with pytest.raises(ValueError, match="the key must be lower-case letters and digits"):
        make(key)


def test_what_readers_could_not_tell_apart_is_refused(make, kernels):
    with pytest.raises(ValueError, match=r"the program keys \['gelu'\] stand more than once"):
        explore("explorer", LABEL, [make("gelu"), make("gelu", label=plain("GELU"))])
    with pytest.raises(ValueError, match=r"the program labels \['GELU'\] stand more than once"):
        explore("explorer", LABEL, [make(label=plain("GELU")), make("gelu", label=plain("GELU"))])
    with pytest.raises(ValueError, match=r"target 'h200': the kernels .*'a'.* more than once"):
        make(names=(("a", "a"), ("a",)))
    both = (view("h200", kernels["h200"]),) * 2
    with pytest.raises(ValueError, match=r"program 'a': the targets \['h200'\] stand more"):
        ProgramCode(key="a", label=plain("a"), views=both)


def test_programs_for_other_cards_are_refused(make, kernels):
    lone = ProgramCode(key="b", label=plain("b"), views=(view("h200", kernels["h200"]),))
    assert explore("explorer", LABEL, [lone]).targets == [gpus.target("h200")]
    with pytest.raises(ValueError, match=r"'b' was built for \['h200'\], must be for"):
        explore("explorer", LABEL, [make(), lone])


def test_a_stage_too_few_or_too_many_is_refused(kernels):
    with pytest.raises(ValueError, match="got no kernel, must have at least one"):
        view("h200")
    with pytest.raises(ValueError, match=r"lacks the stages \['sass'\] and has \[\] beyond"):
        view("h200", with_texts(kernels["h200"], sass=None))
    with pytest.raises(ValueError, match=r"lacks the stages \[\] and has \['sass'\] beyond"):
        view("mi300x", with_texts(kernels["mi300x"], sass="S_NOP"))
    with pytest.raises(ValueError, match=r"'triton_a': the stages \['ttir'\] are empty"):
        view("h200", with_texts(kernels["h200"], ttir=" \n"))


def test_an_unknown_limit_is_refused(make, kernels):
    resources = dataclasses.replace(kernels["h200"].resources, limited_by="luck")
    with pytest.raises(ValueError, match=r"occupancy is limited by \['luck'\], must be among"):
        explore("explorer", LABEL, [make(resources=resources)])
