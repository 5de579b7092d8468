//! The vector instructions that are encoded, one row each: the numbers are those of the *Intel 64 and IA-32 Architectures Software
//! Developer's Manual*, volume 2.

/// Where an instruction's operands stand in its encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Result in `reg`, source in `rm`.
    Rm,
    /// As [`Rm`](Self::Rm), and a number.
    RmI,
    /// Result in `reg`, sources in `vvvv` and `rm`.
    Rvm,
    /// As [`Rvm`](Self::Rvm), and a number.
    RvmI,
    /// As [`Rvm`](Self::Rvm), and a third source in the upper half of the last byte.
    RvmR,
    /// Result in `rm`, source in `reg`.
    Mr,
    /// As [`Mr`](Self::Mr), and a number.
    MrI,
    /// Result in memory, a mask in `vvvv`, source in `reg`.
    Mvr,
    /// Result in `vvvv`, source in `rm`, and a number; `reg` is part of the operation.
    VmI(u8),
}

/// How wide an operand is, by the vector that an instruction works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    Whole,
    Half,
    Quarter,
    Eighth,
    /// 16 bytes, whatever the vector; memory as the operation says.
    Lowest,
    /// A mask register.
    Mask,
    /// A general register of 64 bits.
    General,
}

/// Whether `rm` can be memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    Maybe,
    Always,
    Never,
}

/// An instruction of vectors or masks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// 0: none, 1: 66, 2: F3, 3: F2.
    pub(crate) prefix: u8,
    /// 1: 0F, 2: 0F 38, 3: 0F 3A.
    pub(crate) map: u8,
    pub(crate) opcode: u8,
    /// The bit W where the instruction has an encoding by VEX.
    pub(crate) vex: Option<u8>,
    /// The bit W where it has one by EVEX.
    pub(crate) evex: Option<u8>,
    /// The only length of vectors that there is, in bytes; 0: any.
    pub(crate) only: u8,
    pub(crate) reg: Width,
    pub(crate) rm: Width,
    pub(crate) memory: Memory,
}

impl Form {
    const fn new(name: &'static str, shape: Shape, prefix: u8, map: u8, opcode: u8) -> Self {
        let (reg, rm) = (Width::Whole, Width::Whole);
        Self {
            name,
            shape,
            prefix,
            map,
            opcode,
            vex: None,
            evex: None,
            only: 0,
            reg,
            rm,
            memory: Memory::Maybe,
        }
    }
    const fn vex(mut self, w: u8) -> Self {
        self.vex = Some(w);
        self
    }
    const fn evex(mut self, w: u8) -> Self {
        self.evex = Some(w);
        self
    }
    /// Both encodings, with these bits W.
    const fn both(self, vex: u8, evex: u8) -> Self {
        self.vex(vex).evex(evex)
    }
    const fn only(mut self, bytes: u8) -> Self {
        self.only = bytes;
        self
    }
    const fn reg(mut self, width: Width) -> Self {
        self.reg = width;
        self
    }
    const fn rm(mut self, width: Width) -> Self {
        self.rm = width;
        self
    }
    const fn memory(mut self) -> Self {
        self.memory = Memory::Always;
        self
    }
    const fn registers(mut self) -> Self {
        self.memory = Memory::Never;
        self
    }
}

macro_rules! forms {
    ($($NAME:ident $name:literal $shape:expr, $prefix:literal, $map:literal, $opcode:literal $(. $with:ident($($arg:expr),*))*;)*) => {
        $(pub(crate) const $NAME: Form = Form::new($name, $shape, $prefix, $map, $opcode)$(.$with($($arg),*))*;)*
        /// Every form.
        #[cfg(test)]
        pub(crate) const ALL: &[Form] = &[$($NAME),*];
    };
}

use Shape::{Mr, MrI, Mvr, Rm, RmI, Rvm, RvmI, RvmR, VmI};
use Width::{Eighth, General, Half, Lowest, Mask, Quarter};

forms! {
    // Floating point.
    ADDPS "vaddps" Rvm, 0, 1, 0x58.both(0, 0);
    ADDPD "vaddpd" Rvm, 1, 1, 0x58.both(0, 1);
    MULPS "vmulps" Rvm, 0, 1, 0x59.both(0, 0);
    MULPD "vmulpd" Rvm, 1, 1, 0x59.both(0, 1);
    SUBPS "vsubps" Rvm, 0, 1, 0x5c.both(0, 0);
    SUBPD "vsubpd" Rvm, 1, 1, 0x5c.both(0, 1);
    MINPS "vminps" Rvm, 0, 1, 0x5d.both(0, 0);
    MINPD "vminpd" Rvm, 1, 1, 0x5d.both(0, 1);
    DIVPS "vdivps" Rvm, 0, 1, 0x5e.both(0, 0);
    DIVPD "vdivpd" Rvm, 1, 1, 0x5e.both(0, 1);
    MAXPS "vmaxps" Rvm, 0, 1, 0x5f.both(0, 0);
    MAXPD "vmaxpd" Rvm, 1, 1, 0x5f.both(0, 1);
    SQRTPS "vsqrtps" Rm, 0, 1, 0x51.both(0, 0);
    SQRTPD "vsqrtpd" Rm, 1, 1, 0x51.both(0, 1);
    ROUNDPS "vroundps" RmI, 1, 3, 0x08.vex(0);
    ROUNDPD "vroundpd" RmI, 1, 3, 0x09.vex(0);
    RNDSCALEPS "vrndscaleps" RmI, 1, 3, 0x08.evex(0);
    RNDSCALEPD "vrndscalepd" RmI, 1, 3, 0x09.evex(1);
    CMPPS "vcmpps" RvmI, 0, 1, 0xc2.vex(0);
    CMPPD "vcmppd" RvmI, 1, 1, 0xc2.vex(0);
    CMPPS_K "vcmpps" RvmI, 0, 1, 0xc2.evex(0).reg(Mask);
    CMPPD_K "vcmppd" RvmI, 1, 1, 0xc2.evex(1).reg(Mask);
    // Bits.
    ANDPS "vandps" Rvm, 0, 1, 0x54.both(0, 0);
    ANDNPS "vandnps" Rvm, 0, 1, 0x55.both(0, 0);
    ORPS "vorps" Rvm, 0, 1, 0x56.both(0, 0);
    XORPS "vxorps" Rvm, 0, 1, 0x57.both(0, 0);
    PAND "vpand" Rvm, 1, 1, 0xdb.vex(0);
    PANDN "vpandn" Rvm, 1, 1, 0xdf.vex(0);
    POR "vpor" Rvm, 1, 1, 0xeb.vex(0);
    PXOR "vpxor" Rvm, 1, 1, 0xef.vex(0);
    PTEST "vptest" Rm, 1, 2, 0x17.vex(0);
    PANDD "vpandd" Rvm, 1, 1, 0xdb.evex(0);
    PANDND "vpandnd" Rvm, 1, 1, 0xdf.evex(0);
    PORD "vpord" Rvm, 1, 1, 0xeb.evex(0);
    PXORD "vpxord" Rvm, 1, 1, 0xef.evex(0);
    // One of two by a mask.
    BLENDVPS "vblendvps" RvmR, 1, 3, 0x4a.vex(0);
    BLENDVPD "vblendvpd" RvmR, 1, 3, 0x4b.vex(0);
    PBLENDVB "vpblendvb" RvmR, 1, 3, 0x4c.vex(0);
    PBLENDMB "vpblendmb" Rvm, 1, 2, 0x66.evex(0);
    PBLENDMW "vpblendmw" Rvm, 1, 2, 0x66.evex(1);
    PBLENDMD "vpblendmd" Rvm, 1, 2, 0x64.evex(0);
    PBLENDMQ "vpblendmq" Rvm, 1, 2, 0x64.evex(1);
    // Conversions; the length is that of the wider side.
    CVTDQ2PS "vcvtdq2ps" Rm, 0, 1, 0x5b.both(0, 0);
    CVTTPS2DQ "vcvttps2dq" Rm, 2, 1, 0x5b.both(0, 0);
    CVTPS2PD "vcvtps2pd" Rm, 0, 1, 0x5a.both(0, 0).rm(Half);
    CVTPD2PS "vcvtpd2ps" Rm, 1, 1, 0x5a.both(0, 1).reg(Half);
    CVTDQ2PD "vcvtdq2pd" Rm, 2, 1, 0xe6.both(0, 0).rm(Half);
    CVTTPD2DQ "vcvttpd2dq" Rm, 1, 1, 0xe6.both(0, 1).reg(Half);
    CVTPH2PS "vcvtph2ps" Rm, 1, 2, 0x13.both(0, 0).rm(Half);
    CVTPS2PH "vcvtps2ph" MrI, 1, 3, 0x1d.both(0, 0).rm(Half);
    CVTUDQ2PS "vcvtudq2ps" Rm, 3, 1, 0x7a.evex(0);
    CVTUDQ2PD "vcvtudq2pd" Rm, 2, 1, 0x7a.evex(0).rm(Half);
    CVTQQ2PD "vcvtqq2pd" Rm, 2, 1, 0xe6.evex(1);
    CVTQQ2PS "vcvtqq2ps" Rm, 0, 1, 0x5b.evex(1).reg(Half);
    CVTUQQ2PD "vcvtuqq2pd" Rm, 2, 1, 0x7a.evex(1);
    CVTUQQ2PS "vcvtuqq2ps" Rm, 3, 1, 0x7a.evex(1).reg(Half);
    CVTTPS2UDQ "vcvttps2udq" Rm, 0, 1, 0x78.evex(0);
    CVTTPD2UDQ "vcvttpd2udq" Rm, 0, 1, 0x78.evex(1).reg(Half);
    CVTTPS2QQ "vcvttps2qq" Rm, 1, 1, 0x7a.evex(0).rm(Half);
    CVTTPD2QQ "vcvttpd2qq" Rm, 1, 1, 0x7a.evex(1);
    CVTTPS2UQQ "vcvttps2uqq" Rm, 1, 1, 0x78.evex(0).rm(Half);
    CVTTPD2UQQ "vcvttpd2uqq" Rm, 1, 1, 0x78.evex(1);
    // Integers.
    PADDB "vpaddb" Rvm, 1, 1, 0xfc.both(0, 0);
    PADDW "vpaddw" Rvm, 1, 1, 0xfd.both(0, 0);
    PADDD "vpaddd" Rvm, 1, 1, 0xfe.both(0, 0);
    PADDQ "vpaddq" Rvm, 1, 1, 0xd4.both(0, 1);
    PSUBB "vpsubb" Rvm, 1, 1, 0xf8.both(0, 0);
    PSUBW "vpsubw" Rvm, 1, 1, 0xf9.both(0, 0);
    PSUBD "vpsubd" Rvm, 1, 1, 0xfa.both(0, 0);
    PSUBQ "vpsubq" Rvm, 1, 1, 0xfb.both(0, 1);
    PMULLW "vpmullw" Rvm, 1, 1, 0xd5.both(0, 0);
    PMULLD "vpmulld" Rvm, 1, 2, 0x40.both(0, 0);
    PMULLQ "vpmullq" Rvm, 1, 2, 0x40.evex(1);
    PMULUDQ "vpmuludq" Rvm, 1, 1, 0xf4.both(0, 1);
    PMINSB "vpminsb" Rvm, 1, 2, 0x38.both(0, 0);
    PMINSW "vpminsw" Rvm, 1, 1, 0xea.both(0, 0);
    PMINSD "vpminsd" Rvm, 1, 2, 0x39.both(0, 0);
    PMINSQ "vpminsq" Rvm, 1, 2, 0x39.evex(1);
    PMINUB "vpminub" Rvm, 1, 1, 0xda.both(0, 0);
    PMINUW "vpminuw" Rvm, 1, 2, 0x3a.both(0, 0);
    PMINUD "vpminud" Rvm, 1, 2, 0x3b.both(0, 0);
    PMINUQ "vpminuq" Rvm, 1, 2, 0x3b.evex(1);
    PMAXSB "vpmaxsb" Rvm, 1, 2, 0x3c.both(0, 0);
    PMAXSW "vpmaxsw" Rvm, 1, 1, 0xee.both(0, 0);
    PMAXSD "vpmaxsd" Rvm, 1, 2, 0x3d.both(0, 0);
    PMAXSQ "vpmaxsq" Rvm, 1, 2, 0x3d.evex(1);
    PMAXUB "vpmaxub" Rvm, 1, 1, 0xde.both(0, 0);
    PMAXUW "vpmaxuw" Rvm, 1, 2, 0x3e.both(0, 0);
    PMAXUD "vpmaxud" Rvm, 1, 2, 0x3f.both(0, 0);
    PMAXUQ "vpmaxuq" Rvm, 1, 2, 0x3f.evex(1);
    PABSB "vpabsb" Rm, 1, 2, 0x1c.both(0, 0);
    PABSW "vpabsw" Rm, 1, 2, 0x1d.both(0, 0);
    PABSD "vpabsd" Rm, 1, 2, 0x1e.both(0, 0);
    PABSQ "vpabsq" Rm, 1, 2, 0x1f.evex(1);
    PCMPEQB "vpcmpeqb" Rvm, 1, 1, 0x74.vex(0);
    PCMPEQW "vpcmpeqw" Rvm, 1, 1, 0x75.vex(0);
    PCMPEQD "vpcmpeqd" Rvm, 1, 1, 0x76.vex(0);
    PCMPEQQ "vpcmpeqq" Rvm, 1, 2, 0x29.vex(0);
    PCMPGTB "vpcmpgtb" Rvm, 1, 1, 0x64.vex(0);
    PCMPGTW "vpcmpgtw" Rvm, 1, 1, 0x65.vex(0);
    PCMPGTD "vpcmpgtd" Rvm, 1, 1, 0x66.vex(0);
    PCMPGTQ "vpcmpgtq" Rvm, 1, 2, 0x37.vex(0);
    PCMPB_K "vpcmpb" RvmI, 1, 3, 0x3f.evex(0).reg(Mask);
    PCMPUB_K "vpcmpub" RvmI, 1, 3, 0x3e.evex(0).reg(Mask);
    PCMPW_K "vpcmpw" RvmI, 1, 3, 0x3f.evex(1).reg(Mask);
    PCMPUW_K "vpcmpuw" RvmI, 1, 3, 0x3e.evex(1).reg(Mask);
    PCMPD_K "vpcmpd" RvmI, 1, 3, 0x1f.evex(0).reg(Mask);
    PCMPUD_K "vpcmpud" RvmI, 1, 3, 0x1e.evex(0).reg(Mask);
    PCMPQ_K "vpcmpq" RvmI, 1, 3, 0x1f.evex(1).reg(Mask);
    PCMPUQ_K "vpcmpuq" RvmI, 1, 3, 0x1e.evex(1).reg(Mask);
    // Shifts by a number (of memory there are none by VEX), and by one for each lane.
    PSLLW "vpsllw" VmI(6), 1, 1, 0x71.both(0, 0).registers();
    PSRLW "vpsrlw" VmI(2), 1, 1, 0x71.both(0, 0).registers();
    PSLLD "vpslld" VmI(6), 1, 1, 0x72.both(0, 0).registers();
    PSRLD "vpsrld" VmI(2), 1, 1, 0x72.both(0, 0).registers();
    PSLLQ "vpsllq" VmI(6), 1, 1, 0x73.both(0, 1).registers();
    PSRLQ "vpsrlq" VmI(2), 1, 1, 0x73.both(0, 1).registers();
    PSLLVW "vpsllvw" Rvm, 1, 2, 0x12.evex(1);
    PSRLVW "vpsrlvw" Rvm, 1, 2, 0x10.evex(1);
    PSRAVW "vpsravw" Rvm, 1, 2, 0x11.evex(1);
    PSLLVD "vpsllvd" Rvm, 1, 2, 0x47.both(0, 0);
    PSRLVD "vpsrlvd" Rvm, 1, 2, 0x45.both(0, 0);
    PSRAVD "vpsravd" Rvm, 1, 2, 0x46.both(0, 0);
    PSLLVQ "vpsllvq" Rvm, 1, 2, 0x47.both(1, 1);
    PSRLVQ "vpsrlvq" Rvm, 1, 2, 0x45.both(1, 1);
    PSRAVQ "vpsravq" Rvm, 1, 2, 0x46.evex(1);
    // Wider and narrower integers.
    PMOVSXBW "vpmovsxbw" Rm, 1, 2, 0x20.both(0, 0).rm(Half);
    PMOVSXBD "vpmovsxbd" Rm, 1, 2, 0x21.both(0, 0).rm(Quarter);
    PMOVSXBQ "vpmovsxbq" Rm, 1, 2, 0x22.both(0, 0).rm(Eighth);
    PMOVSXWD "vpmovsxwd" Rm, 1, 2, 0x23.both(0, 0).rm(Half);
    PMOVSXWQ "vpmovsxwq" Rm, 1, 2, 0x24.both(0, 0).rm(Quarter);
    PMOVSXDQ "vpmovsxdq" Rm, 1, 2, 0x25.both(0, 0).rm(Half);
    PMOVZXBW "vpmovzxbw" Rm, 1, 2, 0x30.both(0, 0).rm(Half);
    PMOVZXBD "vpmovzxbd" Rm, 1, 2, 0x31.both(0, 0).rm(Quarter);
    PMOVZXBQ "vpmovzxbq" Rm, 1, 2, 0x32.both(0, 0).rm(Eighth);
    PMOVZXWD "vpmovzxwd" Rm, 1, 2, 0x33.both(0, 0).rm(Half);
    PMOVZXWQ "vpmovzxwq" Rm, 1, 2, 0x34.both(0, 0).rm(Quarter);
    PMOVZXDQ "vpmovzxdq" Rm, 1, 2, 0x35.both(0, 0).rm(Half);
    PMOVWB "vpmovwb" Mr, 2, 2, 0x30.evex(0).rm(Half);
    PMOVDB "vpmovdb" Mr, 2, 2, 0x31.evex(0).rm(Quarter);
    PMOVQB "vpmovqb" Mr, 2, 2, 0x32.evex(0).rm(Eighth);
    PMOVDW "vpmovdw" Mr, 2, 2, 0x33.evex(0).rm(Half);
    PMOVQW "vpmovqw" Mr, 2, 2, 0x34.evex(0).rm(Quarter);
    PMOVQD "vpmovqd" Mr, 2, 2, 0x35.evex(0).rm(Half);
    PSHUFB "vpshufb" Rvm, 1, 2, 0x00.both(0, 0);
    SHUFPS "vshufps" RvmI, 0, 1, 0xc6.both(0, 0);
    PUNPCKLDQ "vpunpckldq" Rvm, 1, 1, 0x62.both(0, 0);
    PERMQ "vpermq" RmI, 1, 3, 0x00.vex(1).only(32);
    EXTRACTI128 "vextracti128" MrI, 1, 3, 0x39.vex(0).only(32).rm(Lowest);
    // One element in every lane.
    PBROADCASTB "vpbroadcastb" Rm, 1, 2, 0x78.both(0, 0).rm(Lowest);
    PBROADCASTW "vpbroadcastw" Rm, 1, 2, 0x79.both(0, 0).rm(Lowest);
    PBROADCASTD "vpbroadcastd" Rm, 1, 2, 0x58.both(0, 0).rm(Lowest);
    PBROADCASTQ "vpbroadcastq" Rm, 1, 2, 0x59.both(0, 1).rm(Lowest);
    // Loads and stores.
    MOVDQU "vmovdqu" Rm, 2, 1, 0x6f.vex(0);
    MOVDQU8 "vmovdqu8" Rm, 3, 1, 0x6f.evex(0);
    MOVDQU16 "vmovdqu16" Rm, 3, 1, 0x6f.evex(1);
    MOVDQU32 "vmovdqu32" Rm, 2, 1, 0x6f.evex(0);
    MOVDQU64 "vmovdqu64" Rm, 2, 1, 0x6f.evex(1);
    STOREU "vmovdqu" Mr, 2, 1, 0x7f.vex(0).memory();
    STOREU8 "vmovdqu8" Mr, 3, 1, 0x7f.evex(0).memory();
    STOREU16 "vmovdqu16" Mr, 3, 1, 0x7f.evex(1).memory();
    STOREU32 "vmovdqu32" Mr, 2, 1, 0x7f.evex(0).memory();
    STOREU64 "vmovdqu64" Mr, 2, 1, 0x7f.evex(1).memory();
    MOVNTDQ "vmovntdq" Mr, 1, 1, 0xe7.both(0, 0).memory();
    MOVD_LOAD "vmovd" Rm, 1, 1, 0x6e.both(0, 0).only(16).memory();
    MOVD_STORE "vmovd" Mr, 1, 1, 0x7e.both(0, 0).only(16).memory();
    MOVQ_LOAD "vmovq" Rm, 2, 1, 0x7e.both(0, 1).only(16).memory();
    MOVQ_STORE "vmovq" Mr, 1, 1, 0xd6.both(0, 1).only(16).memory();
    PMASKMOVD_LOAD "vpmaskmovd" Rvm, 1, 2, 0x8c.vex(0).memory();
    PMASKMOVQ_LOAD "vpmaskmovq" Rvm, 1, 2, 0x8c.vex(1).memory();
    PMASKMOVD_STORE "vpmaskmovd" Mvr, 1, 2, 0x8e.vex(0).memory();
    PMASKMOVQ_STORE "vpmaskmovq" Mvr, 1, 2, 0x8e.vex(1).memory();
    // Masks of 64 bits.
    KANDQ "kandq" Rvm, 0, 1, 0x41.vex(1).only(32).reg(Mask).rm(Mask).registers();
    KANDNQ "kandnq" Rvm, 0, 1, 0x42.vex(1).only(32).reg(Mask).rm(Mask).registers();
    KORQ "korq" Rvm, 0, 1, 0x45.vex(1).only(32).reg(Mask).rm(Mask).registers();
    KXORQ "kxorq" Rvm, 0, 1, 0x47.vex(1).only(32).reg(Mask).rm(Mask).registers();
    KNOTQ "knotq" Rm, 0, 1, 0x44.vex(1).only(16).reg(Mask).rm(Mask).registers();
    KMOVQ "kmovq" Rm, 0, 1, 0x90.vex(1).only(16).reg(Mask).rm(Mask);
    KMOVQ_STORE "kmovq" Mr, 0, 1, 0x91.vex(1).only(16).reg(Mask).rm(Mask).memory();
    KMOVQ_GENERAL "kmovq" Rm, 3, 1, 0x92.vex(1).only(16).reg(Mask).rm(General).registers();
}
