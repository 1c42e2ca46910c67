"""Cleaning of compiled texts. Oracle: short texts cleaned by hand."""

from pathlib import Path

import pytest

from fuseshard.compiler.gpu_code.disassembly import (
    MissingToolError,
    clean_assembly,
    clean_llvm,
    clean_mlir,
    clean_sass,
    sass,
)

NVDISASM = """\
	.target	sm_90a
	.elftype	@"ET_EXEC"
//--------------------- .text.kernel              --------------------------
	.section	.text.kernel,"ax",@progbits
        .global         kernel
kernel:
.text.kernel:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_0) ;
        /*0020*/             @!UP0 UIADD3 UR4, UR4, 0x1, URZ ;
        /*21030*/                   EXIT ;
.L_x_0:
        /*21040*/                   BRA `(.L_x_0);
        /*21050*/                   NOP;
        /*21060*/                   NOP;
.L_x_1:
"""


def test_machine_code_keeps_labels_and_one_column_for_opcodes() -> None:
    assert clean_sass(NVDISASM).splitlines() == [
        "kernel:",
        "        LDC R1, c[0x0][0x28] ;",
        "   @!P0 BRA `(.L_x_0) ;",
        "  @!UP0 UIADD3 UR4, UR4, 0x1, URZ ;",
        "        EXIT ;",
        ".L_x_0:",
        "        BRA `(.L_x_0);",
    ]


def test_intermediate_code_loses_its_locations() -> None:
    text = (
        '#blocked = #ttg.blocked<{order = [0]}>\n#loc = loc("/home/a (b)/k.py":8:1)\n'
        "  %x = tt.load %p : tensor<8xf32, #blocked> loc(#loc1)\n"
        '  func(%a: i32 {x = 1 : i32} loc("a"(#loc)), %b: i32 loc("b)"(#loc))) attributes {y}\n'
        "  ^bb0(%c: f32 loc(callsite(#loc1 at #loc2))):\n"
        '  %allocated = op "loc(#kept)"\n'
        "} loc(#loc)\n#loc2 = loc(callsite(#loc at #loc1))\n"
    )
    assert clean_mlir(text) == (
        "#blocked = #ttg.blocked<{order = [0]}>\n"
        "  %x = tt.load %p : tensor<8xf32, #blocked>\n"
        "  func(%a: i32 {x = 1 : i32}, %b: i32) attributes {y}\n"
        "  ^bb0(%c: f32):\n"
        '  %allocated = op "loc(#kept)"\n'
        "}"
    )


def test_llvm_keeps_the_metadata_that_the_code_refers_to() -> None:
    text = (
        'source_filename = "LLVMDialectModule"\n'
        "define void @kernel(ptr %0) #0 !dbg !4 {\n"
        "  %6 = call i32 @f(), !dbg !12\n"
        "  br label %7, !dbg !12, !llvm.loop !20\n"
        "}\n\n!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!3}\n\n"
        '!0 = distinct !DICompileUnit(file: !1)\n!1 = !DIFile(directory: "/home/a")\n'
        '!3 = !{i32 4, !"nvvm-reflect-ftz", i32 1}\n!12 = !DILocation(line: 9, scope: !0)\n'
        '!20 = distinct !{!20, !21}\n!21 = !{!"llvm.loop.unroll.disable"}\n'
    )
    assert clean_llvm(text) == (
        "define void @kernel(ptr %0) #0 {\n"
        "  %6 = call i32 @f()\n"
        "  br label %7, !llvm.loop !20\n"
        "}\n\n!llvm.module.flags = !{!3}\n"
        '!3 = !{i32 4, !"nvvm-reflect-ftz", i32 1}\n'
        '!20 = distinct !{!20, !21}\n!21 = !{!"llvm.loop.unroll.disable"}'
    )


def test_assembly_loses_its_debugging_sections_and_nothing_else() -> None:
    text = (
        "\t.text\nkernel:\n\t.loc\t1 8 0   // k.py:8:0\n$L__tmp0:\n\tadd.s64 %rd1, %rd2, 4;\n"
        "\t.section\t.debug_info\n\t{\n.b8 47   // DW_AT_comp_dir\n\t}\n"
        "\t.amdgpu_metadata\n    .vgpr_count:     6\n\t.end_amdgpu_metadata\n"
        '\t.section\t.debug_str,"MS"\n\t.asciz\t"/home/a"\n'
    )
    assert clean_assembly(text) == (
        "\t.text\nkernel:\n\tadd.s64 %rd1, %rd2, 4;\n"
        "\t.amdgpu_metadata\n    .vgpr_count:     6\n\t.end_amdgpu_metadata"
    )


def test_a_missing_disassembler_is_named() -> None:
    with pytest.raises(MissingToolError, match=r"nvdisasm can't be started .*install triton again"):
        sass(b"", program=Path("/nowhere/nvdisasm"))


def test_a_disassembler_that_fails_is_quoted(tmp_path: Path) -> None:
    program = tmp_path / "nvdisasm"
    program.write_text("#!/bin/sh\necho not a cubin >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(MissingToolError, match=r"nvdisasm ended with 3 \(not a cubin\)"):
        sass(b"", program=program)
