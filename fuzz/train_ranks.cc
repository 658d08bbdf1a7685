// SPDX-License-Identifier: Apache-2.0
// A file of ranks behind those of all bytes, and behind a zero a piece of text: whatever ranks are
// taken, what was encoded by them is decoded to itself.
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "fuzz.h"
#include "train/bpe.h"

namespace {

// A line for each byte, so that what comes may be about pairs at once.
std::string all_bytes() {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (unsigned byte = 0; byte < 256; ++byte) {
    text.append({kDigits[byte >> 2U], kDigits[(byte & 3U) << 4U]});
    text.append("== ").append(std::to_string(byte)).append("\n");
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace train = berth::train;
  const std::string_view text = berth::fuzz::text_of(data, size);
  const std::size_t zero = text.find('\0');
  static const std::string kBytes = all_bytes();
  const auto ranks = train::Ranks::parse(kBytes + std::string(text.substr(0, zero)));
  if (!ranks.ok()) {
    CHECK(!ranks.error().message.empty());
    return 0;
  }
  CHECK(ranks->size() >= 256);
  const std::string_view piece = zero == std::string_view::npos ? text : text.substr(zero + 1);
  std::vector<train::Token> tokens;
  train::encode_piece(*ranks, piece, tokens);
  std::string decoded;
  for (const train::Token token : tokens) decoded += ranks->piece(token);
  CHECK(decoded == piece && tokens.size() <= piece.size());
  return 0;
}
