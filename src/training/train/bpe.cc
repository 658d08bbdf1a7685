// SPDX-License-Identifier: Apache-2.0
#include "train/bpe.h"

#include <array>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "base/number.h"

namespace berth::train {
namespace {

constexpr std::size_t kByteValues = 256;

// Absent: it is no base64 with its padding.
std::optional<std::string> from_base64(std::string_view text) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = i >= text.size() - padding;
    const std::size_t letter = is_padding ? 0 : kLetters.find(text[i]);
    if (letter == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(letter);
    if (i % 4 != 3) continue;
    for (const unsigned shift : {16U, 8U, 0U}) bytes.push_back(static_cast<char>(bits >> shift));
    bits = 0;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

Error corrupt(std::size_t line, const std::string& what) {
  return {Errc::kCorrupt, "line " + std::to_string(line) + ": " + what};
}

// Two neighbours that could be joined, as they were when that was found.
struct Pair {
  Token rank = 0;
  std::size_t left = 0;  // Where its first part begins,
  std::size_t end = 0;   // and where its second one ends.
  friend bool operator>(const Pair& a, const Pair& b) {
    return std::tie(a.rank, a.left) > std::tie(b.rank, b.left);
  }
};

}  // namespace

Result<Ranks> Ranks::parse(std::string_view text) {
  Ranks ranks;
  std::size_t number = 0;
  std::vector<std::optional<std::string>> found;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t blank = line.find(' ');
    std::optional<std::string> piece = from_base64(line.substr(0, blank));
    const auto rank = blank == std::string_view::npos ? std::nullopt
                                                      : parse_number<Token>(line.substr(blank + 1));
    if (!piece || !rank) return corrupt(number, "must be base64, a blank and a rank");
    if (*rank >= 1U << 24U) return corrupt(number, "a rank of 2^24 or more");
    if (found.size() <= *rank) found.resize(*rank + std::size_t{1});
    if (found[*rank]) return corrupt(number, "the rank " + std::to_string(*rank) + " comes twice");
    if (!ranks.ranks_.emplace(*piece, *rank).second) return corrupt(number, "a piece comes twice");
    found[*rank] = std::move(piece);
  }
  ranks.pieces_.reserve(found.size());
  for (std::optional<std::string>& piece : found) {
    const std::string rank = std::to_string(ranks.pieces_.size());
    if (!piece) return corrupt(number, "the rank " + rank + " is missing");
    ranks.pieces_.push_back(*std::move(piece));
  }
  for (std::size_t byte = 0; byte < kByteValues; ++byte) {
    const char one = static_cast<char>(static_cast<unsigned char>(byte));
    if (!ranks.rank({&one, 1})) {
      return corrupt(number, "the byte " + std::to_string(byte) + " is no token");
    }
  }
  return ranks;
}

std::optional<Token> Ranks::rank(std::string_view piece) const {
  const auto found = ranks_.find(piece);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

std::string_view Ranks::piece(Token token) const {
  return token < pieces_.size() ? std::string_view(pieces_[token]) : std::string_view();
}

// The parts are a list over the places at which they begin. A pair is looked up when it comes to
// be, and thrown away when one of its parts is not what it was.
void encode_piece(const Ranks& ranks, std::string_view piece, std::vector<Token>& tokens) {
  const std::size_t size = piece.size();
  if (size == 0) return;
  if (const auto whole = ranks.rank(piece)) {
    tokens.push_back(*whole);
    return;
  }
  std::vector<std::size_t> next(size);    // Where the part that begins here ends.
  std::vector<std::size_t> before(size);  // Where the part before it begins.
  for (std::size_t i = 0; i < size; ++i) {
    next[i] = i + 1;
    before[i] = i == 0 ? size : i - 1;
  }
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> pairs;
  const auto look = [&](std::size_t left) {
    const std::size_t middle = next[left];
    if (middle >= size) return;
    const std::size_t end = next[middle];
    const auto rank = ranks.rank(piece.substr(left, end - left));
    if (rank) pairs.push({.rank = *rank, .left = left, .end = end});
  };
  for (std::size_t i = 0; i + 1 < size; ++i) look(i);
  while (!pairs.empty()) {
    const Pair pair = pairs.top();
    pairs.pop();
    const std::size_t middle = next[pair.left];
    const bool is_there = middle > pair.left && middle < size && next[middle] == pair.end;
    if (!is_there) continue;
    next[pair.left] = pair.end;
    next[middle] = 0;  // Nothing begins here any more.
    if (pair.end < size) before[pair.end] = pair.left;
    look(pair.left);
    if (before[pair.left] < size) look(before[pair.left]);
  }
  for (std::size_t at = 0; at < size; at = next[at]) {
    tokens.push_back(ranks.rank(piece.substr(at, next[at] - at)).value_or(0));
  }
}

}  // namespace berth::train
