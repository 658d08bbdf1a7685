// SPDX-License-Identifier: Apache-2.0
#include "sim/context.h"

#include <cstring>

namespace berth::sim {

void Fingerprint::mix(std::string_view text) {
  mix(text.size());
  for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    mix(word);
  }
  for (const char letter : text) mix(static_cast<unsigned char>(letter));
}

void Trace::print(const Clock& clock, const std::string& line) {
  fmt::print("{:>10.3f} ms  {}\n", static_cast<double>(clock.elapsed().ns) / 1e6, line);
}

}  // namespace berth::sim
