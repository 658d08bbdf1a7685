// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/globals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::simgpu {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;
using testing::IsEmpty;

constexpr std::string_view kPtx = R"(
.version 8.0
.target sm_80
.address_size 64
	// .globl	kernel
.visible .global .align 4 .u32 counter;
.global .align 1 .b8 text[6] = {104, 101, 108, 108, 111, 0};
.const .align 8 .b8 rules[16][4];
.extern .global .align 8 .b8 elsewhere[];
.visible .entry kernel(.param .u64 kernel_param_0) {
	ld.global.u32 	%r1, [%rd1];
	st.global.u32 	[%rd1], %r1;
	ld.const.u32 	%r2, [rules];
}
)";

TEST(Globals, OfPtxAreItsDeclarations) {
  EXPECT_THAT(globals_of(kPtx), ElementsAre(FieldsAre("counter", 4, ""), FieldsAre("text", 6, ""),
                                            FieldsAre("rules", 64, "")));
}

TEST(Globals, OfACubinAreThoseThatItWasMadeWith) {
  const std::string cubin = cubin_with(globals_of(kPtx));
  EXPECT_THAT(globals_of(cubin), ElementsAre(FieldsAre("counter", 4, ""), FieldsAre("text", 6, ""),
                                             FieldsAre("rules", 64, "")));
  EXPECT_THAT(globals_of(cubin_with({})), IsEmpty());
}

TEST(Globals, OfWhatIsCutShortAreThoseThatAreWhole) {
  const std::string cubin = cubin_with(globals_of(kPtx));
  for (std::size_t bytes = 0; bytes < cubin.size(); ++bytes)
    EXPECT_LE(globals_of(cubin.substr(0, bytes)).size(), 3U);
  for (std::size_t bytes = 0; bytes < kPtx.size(); ++bytes)
    EXPECT_LE(globals_of(kPtx.substr(0, bytes)).size(), 3U);
  EXPECT_THAT(globals_of(".global .b8 huge[999999999999999999];"), IsEmpty());
}

}  // namespace
}  // namespace berth::simgpu
