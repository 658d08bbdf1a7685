// SPDX-License-Identifier: Apache-2.0
// Addresses of webhooks, which users write and the daemon's child connects to.
#include <string>
#include <string_view>

#include "base/check.h"
#include "deliver/url.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string secret = "/SECRET-TOKEN-8271";
  const std::string url = std::string(berth::fuzz::text_of(data, size)) + secret;
  for (const bool allow_private : {false, true}) {
    const auto checked = berth::deliver::check_url(url, allow_private);
    if (!checked.ok()) {
      CHECK(!checked.error().message.empty());
      // What of it may be a secret is not repeated.
      CHECK(checked.error().message.find(secret) == std::string::npos);
      continue;
    }
    CHECK(!checked->host.empty());
    CHECK(checked->encrypted || allow_private);
  }
  return 0;
}
