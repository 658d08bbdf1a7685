// SPDX-License-Identifier: Apache-2.0
#include "train/traps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Traps, WhereAllIsWellNothingIsSaid) {
  EXPECT_THAT(traps({.cores = 2}, {.threads = 2}), IsEmpty());
  EXPECT_THAT(traps({.cores = 2}, {.threads = 2, .precision = Precision::kBf16}), IsEmpty());
  EXPECT_THAT(traps({.cores = 2, .has_16_bit_units = false}, {}), IsEmpty()) << "nobody wants it";
}

TEST(Traps, ASlowBlasIsNamedWithItsCure) {
  EXPECT_THAT(traps({.blas = "/usr/lib/blas/libblas.so.3", .has_fast_blas = false}, {}),
              ElementsAre(AllOf(HasSubstr("/usr/lib/blas/libblas.so.3"),
                                HasSubstr("libopenblas0-openmp"))));
  EXPECT_THAT(traps({.has_fast_blas = false}, {}), ElementsAre(HasSubstr("none of the fast ones")));
}

TEST(Traps, MoreThreadsThanCoresAreTold) {
  EXPECT_THAT(traps({.cores = 2}, {.threads = 3}), ElementsAre(HasSubstr("3 threads on 2 cores")));
}

TEST(Traps, HalfPrecisionWithoutItsUnitsIsTold) {
  EXPECT_THAT(traps({.has_16_bit_units = false}, {.precision = Precision::kBf16}),
              ElementsAre(HasSubstr("slower in bf16")));
}

}  // namespace
}  // namespace berth::train
