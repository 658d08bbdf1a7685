// SPDX-License-Identifier: Apache-2.0
#include "base/size_argument.h"

#include <cstdint>

namespace berth {

std::string size_argument(Bytes bytes) {
  const std::uint64_t whole_mib = bytes.value >> 20U;
  if (whole_mib == 0) return std::to_string(bytes.value) + "B";
  if (whole_mib % 1024 == 0) return std::to_string(whole_mib / 1024) + "G";
  return std::to_string(whole_mib) + "M";
}

std::string size_argument_above(Bytes bytes) {
  return size_argument(bytes + Bytes{mib(1).value - 1});
}

Bytes budget_for(Bytes needed) {
  constexpr std::uint64_t kStep = mib(256).value;
  return {(needed.value / kStep + 1) * kStep};
}

}  // namespace berth
