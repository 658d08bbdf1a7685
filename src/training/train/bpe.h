// SPDX-License-Identifier: Apache-2.0
// Byte-level byte-pair encoding (Sennrich et al. 2016; Radford et al. 2019): what stands next to
// one another is joined, always the pair of the lowest rank first, and a joined piece's rank is its
// token. Pure; any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::train {

using Token = std::uint32_t;

class Ranks {
 public:
  /// Lines of base64, a blank and a rank, as tiktoken's files have them; each rank from 0 on once,
  /// and each byte among them, so that any text can be told. kCorrupt, naming the line.
  static Result<Ranks> parse(std::string_view text);

  std::size_t size() const { return pieces_.size(); }
  std::optional<Token> rank(std::string_view piece) const;
  /// What the token stands for; empty for one that there is not.
  std::string_view piece(Token token) const;

 private:
  std::vector<std::string> pieces_;
  std::map<std::string, Token, std::less<>> ranks_;
};

/// The tokens of a piece of text that nothing is joined across, appended to `tokens`. Takes
/// n log n, whatever the piece.
void encode_piece(const Ranks& ranks, std::string_view piece, std::vector<Token>& tokens);

}  // namespace berth::train
