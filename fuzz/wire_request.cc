// SPDX-License-Identifier: Apache-2.0
// Bodies of requests, as anybody may send them: what is accepted reads the same when it is written
// and read again.
#include "fuzz.h"
#include "wire/request.h"

namespace {

template <class... Body>
void check_trips(std::string_view text, const std::variant<Body...>* /*all*/) {
  (berth::fuzz::check_trip(text, berth::wire::decode<Body>, berth::wire::encode), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_trips(berth::fuzz::text_of(data, size), static_cast<berth::AnyBody*>(nullptr));
  return 0;
}
