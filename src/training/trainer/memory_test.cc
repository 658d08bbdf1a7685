// SPDX-License-Identifier: Apache-2.0
#include "trainer/memory.h"

#include <gtest/gtest.h>

#include "trainer/libtorch.h"

namespace berth::trainer {
namespace {

TEST(TensorMemory, EachByteOfATensorIsCountedWhileItLives) {
  count_tensor_memory();
  const Bytes before = tensor_memory().now;
  {
    const at::Tensor tensor = torch::empty({1000, 250});
    EXPECT_EQ(tensor_memory().now.value - before.value, 1'000'000U);
    const at::Tensor view = tensor.view({-1});
    EXPECT_EQ(tensor_memory().now.value - before.value, 1'000'000U);
  }
  EXPECT_EQ(tensor_memory().now, before);
}

TEST(TensorMemory, ThePeakStaysUntilItIsReset) {
  count_tensor_memory();
  const Bytes before = tensor_memory().now;
  reset_tensor_memory_peak();
  {
    const at::Tensor tensor = torch::empty({500'000});
  }
  EXPECT_EQ(tensor_memory().peak.value - before.value, 2'000'000U);
  reset_tensor_memory_peak();
  EXPECT_EQ(tensor_memory().peak, before);
}

TEST(TensorMemory, BeyondTheLimitNothingIsGivenAndNothingIsCounted) {
  count_tensor_memory();
  const Bytes before = tensor_memory().now;
  limit_tensor_memory(before + Bytes{1000});
  EXPECT_THROW(torch::empty({251}), c10::Error);
  EXPECT_EQ(tensor_memory().now, before);
  {
    const at::Tensor tensor = torch::empty({250});
  }
  limit_tensor_memory(Bytes::max());
  const at::Tensor tensor = torch::empty({251});
  EXPECT_EQ(tensor_memory().now.value - before.value, 1004U);
}

TEST(TensorMemory, TheAbsurdIsRefused) {
  count_tensor_memory();
  EXPECT_THROW(torch::empty({std::int64_t{1} << 61}, at::kByte), c10::Error);
}

TEST(TensorMemory, TensorsAreAlignedForVectorInstructions) {
  count_tensor_memory();
  for (const std::int64_t count : {1, 3, 17, 1000}) {
    const at::Tensor tensor = torch::empty({count});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64, 0U);
  }
}

}  // namespace
}  // namespace berth::trainer
