// SPDX-License-Identifier: Apache-2.0
// The line and the header of a call, as anybody may send them: the first line of the input is
// "METHOD TARGET", the second the hello, the rest a path.
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "fuzz.h"
#include "wire/hello.h"
#include "wire/history.h"
#include "wire/routes.h"
#include "wire/url.h"

namespace {

std::string_view cut(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(part.size() == text.size() ? part.size() : part.size() + 1);
  return part;
}

// A route that was found is found again by the target that a client would send.
void check_route(std::string_view method, std::string_view target) {
  namespace wire = berth::wire;
  const auto found = wire::match_route(method, target);
  if (const auto* error = std::get_if<wire::ApiError>(&found)) {
    CHECK(!error->code.empty() && !error->message.empty());
    return;
  }
  const auto& match = std::get<wire::RouteMatch>(found);
  const berth::UnixMs now{1'770'470'100'123};
  const auto past = wire::decode_past_query(match.query, now, berth::hours(1));
  CHECK(past.ok() ? past->since <= past->until : !past.error().message.empty());
  const auto again = wire::match_route(method, wire::target_of(match.route, match.lease));
  const auto* same = std::get_if<wire::RouteMatch>(&again);
  CHECK(same != nullptr && same->route == match.route && same->lease == match.lease);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace wire = berth::wire;
  std::string_view rest = berth::fuzz::text_of(data, size);
  std::string_view line = cut(rest, '\n');
  const std::string_view method = cut(line, ' ');
  check_route(method, line);

  const std::string_view hello = cut(rest, '\n');
  const auto encode = [](const auto& value) { return wire::encode_hello(value); };
  berth::fuzz::check_trip(hello, wire::decode_client_hello, encode);
  berth::fuzz::check_trip(hello, wire::decode_server_hello, encode);
  CHECK(wire::percent_decode(wire::percent_encode(rest)) == std::string(rest));
  (void)wire::percent_decode(rest);
  return 0;
}
