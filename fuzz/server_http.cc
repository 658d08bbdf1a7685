// SPDX-License-Identifier: Apache-2.0
// Bytes from the daemon's socket, however they are split: requests, one after the other. What
// is kept of one that is not whole has a bound, and how it was split makes no other request of it.
// The first byte of the input says where.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "fuzz.h"
#include "http/parser.h"

namespace {

namespace http = berth::http;

struct Read {
  std::vector<http::Request> requests;
  bool refused = false;
};

/// As the server does it.
Read read(std::string_view bytes, std::size_t piece) {
  Read read;
  http::Parser parser;
  std::string in;
  while (!bytes.empty()) {
    in += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (!in.empty()) {
      const auto taken = parser.put(in);
      if (!taken.ok()) {
        CHECK(!taken.error().message.empty());
        read.refused = true;
        return read;
      }
      CHECK(*taken <= in.size());
      in.erase(0, *taken);
      if (parser.done()) {
        read.requests.push_back(parser.take());
        CHECK(read.requests.back().body.size() <= http::Parser::kBodyMax);
        CHECK(read.requests.back().target.size() <= http::Parser::kHeaderMax);
        parser = http::Parser();
      } else if (*taken == 0) {
        break;
      }
    }
    CHECK(in.size() <= http::Parser::kChunkLineMax);
  }
  return read;
}

bool same(const http::Request& a, const http::Request& b) {
  return a.method == b.method && a.target == b.target && a.hello == b.hello && a.body == b.body &&
         a.wants_stream == b.wants_stream && a.keep_alive == b.keep_alive && a.chunks == b.chunks;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = berth::fuzz::text_of(data + 1, size - 1);
  const Read whole = read(text, std::size_t{64} << 10U);
  const Read parts = read(text, std::size_t{*data} + 1);
  if (whole.refused || parts.refused) return 0;
  CHECK(std::ranges::equal(whole.requests, parts.requests, same));
  return 0;
}
