// SPDX-License-Identifier: Apache-2.0
#include "trainer/machine.h"

#include <gtest/gtest.h>

#include "trainer/libtorch.h"

namespace berth::trainer {
namespace {

// The tests of this layer are run where ./dev has installed what it wants: OpenBLAS among it.
TEST(Machine, ItsBlasIsFoundAndItsCoresAreCounted) {
  (void)at::mm(at::ones({2, 2}), at::ones({2, 2}));  // What computes it is loaded.
  const train::Machine machine = this_machine();
  EXPECT_GE(machine.cores, 1U);
  EXPECT_TRUE(machine.has_fast_blas) << machine.blas;
}

}  // namespace
}  // namespace berth::trainer
