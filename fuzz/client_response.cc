// SPDX-License-Identifier: Apache-2.0
// Answers of a daemon, as a client takes them: the same however the bytes come, and never more
// of them than it allows. The first byte of the input says where they are split.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/check.h"
#include "client/http_response.h"
#include "fuzz.h"

namespace {

using berth::client::ResponseReader;

constexpr std::size_t kBodyMax = 4'096;

struct Read {
  bool ok = false;
  bool complete = false;
  std::size_t taken = 0;
  std::string body;
  friend bool operator==(const Read&, const Read&) = default;
};

Read read(std::string_view first, std::string_view second) {
  ResponseReader reader(kBodyMax);
  Read result;
  for (const std::string_view part : {first, second}) {
    if (reader.complete()) break;
    const auto taken = reader.feed(part);
    if (!taken.ok()) {
      CHECK(!taken.error().message.empty());
      return {};
    }
    CHECK(*taken <= part.size());
    CHECK(*taken == part.size() || reader.complete());
    result.taken += *taken;
  }
  result.ok = true;
  result.complete = reader.complete();
  result.body = reader.take_body();
  CHECK(result.body.size() <= kBodyMax);
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = berth::fuzz::text_of(data + 1, size - 1);
  const std::size_t split = std::min<std::size_t>(*data, text.size());
  CHECK(read(text, {}) == read(text.substr(0, split), text.substr(split)));
  return 0;
}
