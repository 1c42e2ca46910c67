"""Counts in the text of machine code. Oracle: short texts counted by hand, traps among them."""

import dataclasses

import pytest

from fuseshard.compiler.gpu_code.resources import (
    Counts,
    Reserved,
    counts_amdgcn,
    counts_sass,
    reserved_amd,
    reserved_nvidia,
)

SASS = """\
kernel:
        LDC R1, c[0x0][0x28] ;
   @!P0 LDG.E.128 R8, desc[UR8][R2.64] ;
    @P1 LDG.E.64.CONSTANT R4, [R2.64+0x8] ;
        LDG.E.U8 R5, desc[UR4][R6.64] ;
        LDG.E.S16.LTC128B R5, desc[UR4][R6.64] ;
        LDG.E R7, desc[UR4][R6.64] ;
   @UP0 LDGSTS.E.BYPASS.LTC128B.128 [R9], [R2.64] ;
        LDGDEPBAR ;
        UTMALDG.2D [UR8], [UR4] ;
.L_x_0:
        LDS.128 R4, [R9] ;
        LDL.LU R4, [R1] ;
        SHFL.BFLY PT, R4, R7, 0x10, 0x1f ;
        REDUX.MAX UR7, R4 ;
        BAR.SYNC.DEFER_BLOCKING 0x0 ;
        BAR.ARV 0x1, 0x80 ;
        DEPBAR.LE SB0, 0x1 ;
        HFMA2.MMA R4, -RZ, RZ, 0, 0 ;
        HMMA.16816.F32.BF16 R4, R8, R12, R4 ;
        HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24 ;
        UTCHMMA gdesc[UR4], gdesc[UR10], tmem[UR13], tmem[UR24], idesc[UR25], !UPT ;
        UTCBAR [UR8], URZ ;
        STS.128 [R9], R4 ;
        STL.64 [R1], R4 ;
        ATOMS.ADD R4, [R9], R4 ;
        REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R4 ;
   @!P1 STG.E.128 desc[UR8][R2.64], R4 ;
        NOP ;
        EXIT ;
.L_x_1:
        BRA `(.L_x_1);"""

PTXAS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'outer' for 'sm_90a'
ptxas info    : Function properties for outer
    5080 bytes stack frame, 10212 bytes spill stores, 11740 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 5080 bytes cumulative stack size
"""

AMDGCN = """\
	.text
kernel:                                 ; @kernel
	s_load_dwordx8 s[4:11], s[0:1], 0x8
	global_load_dwordx4 v[2:5], v[2:3], off
	buffer_load_dwordx2 v[6:7], v1, s[0:3], 0 offen
	global_load_dword v8, v[2:3], off
	global_load_short_d16_hi v9, v[2:3], off
	global_load_ubyte v9, v[2:3], off
	scratch_load_dword v9, off, off
	s_nop 1
	v_add_f32_dpp v0, v0, v0 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
	ds_bpermute_b32 v3, v1, v2
	ds_read_b32 v0, v7
	s_barrier
	v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]
	global_atomic_add_f32 v2, v0, s[0:1]
.LBB0_2:                                ; %.critedge
	global_store_dwordx4 v[0:1], v[2:5], off
	s_endpgm
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     122
    .args:
      - .offset:         0
    .private_segment_fixed_size: 24
    .sgpr_spill_count: 3
    .vgpr_count:     378
    .vgpr_spill_count: 5
...
"""


def test_nvidias_instructions_by_hand() -> None:
    assert counts_sass(SASS) == Counts(
        loads=7,
        stores=2,
        load_bits=(128, 64, 8, 16, 32, 128, 0),
        shuffles=2,
        barriers=1,
        tensor_core_ops=3,
        instructions=28,
    )


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("   @!P0 LDG.E.128 R8, desc[UR8][R2.64] ;\n", {"loads", "load_bits", "instructions"}),
        ("        REDG.E.ADD.F32.FTZ.RN", {"stores", "instructions"}),
        ("        SHFL.BFLY PT, R4, R7, 0x10, 0x1f ;\n", {"shuffles", "instructions"}),
        ("        BAR.SYNC.DEFER_BLOCKING 0x0 ;\n", {"barriers", "instructions"}),
        ("        HMMA.16816.F32.BF16", {"tensor_core_ops", "instructions"}),
        # Traps: none of these is what it looks like.
        ("        LDGDEPBAR ;\n", {"instructions"}),
        ("        HFMA2.MMA R4, -RZ, RZ, 0, 0 ;\n", {"instructions"}),
        ("        BAR.ARV 0x1, 0x80 ;\n", {"instructions"}),
        ("        ATOMS.ADD R4, [R9], R4 ;\n", {"instructions"}),
        ("        NOP ;\n", set()),
        (".L_x_0:\n", set()),
    ],
)
def test_a_line_counts_for_what_it_does(line: str, changed: set[str]) -> None:
    (whole,) = (row + "\n" for row in SASS.splitlines() if (row + "\n").startswith(line))
    with_it = dataclasses.asdict(counts_sass(SASS))
    without = dataclasses.asdict(counts_sass(SASS.replace(whole, "")))
    assert {name for name in with_it if with_it[name] != without[name]} == changed


def test_a_line_that_is_no_instruction_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a label or an instruction"):
        counts_sass(SASS + "\n        .align 128")


def test_the_assemblers_report_by_hand() -> None:
    assert reserved_nvidia(PTXAS) == Reserved(registers=64, spills=2553, stack_bytes=5080)


def test_a_stack_without_spills_is_an_array() -> None:
    frame = "8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
    report = f"{frame}\nptxas info    : Used 61 registers, used 0 barriers\n"
    assert reserved_nvidia(report) == Reserved(registers=61, spills=0, stack_bytes=8)


def test_spills_of_called_functions_count() -> None:
    callee = "16 bytes stack frame, 12 bytes spill stores, 12 bytes spill loads"
    report = PTXAS.replace("ptxas info    : Used", f"    {callee}\nptxas info    : Used")
    assert reserved_nvidia(report) == Reserved(registers=64, spills=2556, stack_bytes=5080)


@pytest.mark.parametrize("report", ["", "ptxas info    : Used 61 registers"])
def test_a_report_without_figures_is_refused(report: str) -> None:
    with pytest.raises(ValueError, match="run ptxas with the option -v"):
        reserved_nvidia(report)


def test_amds_instructions_by_hand() -> None:
    assert counts_amdgcn(AMDGCN) == Counts(
        loads=5,
        stores=2,
        load_bits=(128, 64, 32, 16, 8),
        shuffles=2,
        barriers=1,
        tensor_core_ops=1,
        instructions=15,
    )


def test_amds_metadata_by_hand() -> None:
    assert reserved_amd(AMDGCN) == Reserved(registers=378, spills=5, stack_bytes=24)


def test_assembly_without_metadata_is_refused() -> None:
    with pytest.raises(ValueError, match=r"found no \.vgpr_count in \d+ characters"):
        reserved_amd(AMDGCN.split("\t.amdgpu_metadata", maxsplit=1)[0])


def test_an_unknown_width_is_refused() -> None:
    with pytest.raises(ValueError, match="'global_load_b512', must name one of dwordx4"):
        counts_amdgcn("\tglobal_load_b512 v0, v1, off\n")
