// SPDX-License-Identifier: Apache-2.0
#include "trainer/tokenizer.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "train/token_file.h"
#include "trainer/text_file.h"
#include "trainer/text_pieces.h"

namespace berth::trainer {
namespace {

using train::Token;

constexpr std::int64_t kBytes = 256;
constexpr std::int64_t kVocabularyMax = 65'536;  // Tokens of two bytes.
constexpr std::uint64_t kTokensMax = std::numeric_limits<std::int32_t>::max();

/// Counts what it is given, and writes it out.
class TokenWriter {
 public:
  explicit TokenWriter(const std::string& path) : file_(path, std::ios::binary) {
    file_ << train::token_file_header(0);
  }

  void write(std::span<const Token> tokens) {
    for (const Token token : tokens) {
      file_.put(static_cast<char>(token & 0xFFU)).put(static_cast<char>(token >> 8U));
    }
    count_ += tokens.size();
  }
  std::uint64_t count() const { return count_; }
  bool finish() {
    file_.seekp(0);
    file_ << train::token_file_header(static_cast<std::uint32_t>(count_));
    file_.close();
    return !file_.fail();
  }

 private:
  std::ofstream file_;
  std::uint64_t count_ = 0;
};

}  // namespace

Result<Tokenizer> Tokenizer::open(const std::string& path) {
  TRY(file, open_text(path));
  auto ranks = train::Ranks::parse(file.bytes());
  if (!ranks.ok()) return Error{ranks.error().code, path + ": " + ranks.error().message};
  Tokenizer tokenizer;
  tokenizer.ranks_ = *std::move(ranks);
  return tokenizer;
}

std::int64_t Tokenizer::vocabulary() const {
  return ranks_ ? static_cast<std::int64_t>(ranks_->size()) + 1 : kBytes;
}

std::optional<Token> Tokenizer::end_of_text() const {
  return ranks_ ? std::optional(static_cast<Token>(ranks_->size())) : std::nullopt;
}

Status Tokenizer::encode(std::string_view text,
                         const std::function<void(std::span<const Token>)>& take) const {
  std::vector<Token> tokens;
  if (!ranks_) {
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
    take(tokens);
    return Unit{};
  }
  return for_each_piece(text, [&](std::string_view piece) {
    tokens.clear();
    train::encode_piece(*ranks_, piece, tokens);
    take(tokens);
  });
}

std::string Tokenizer::decode(Token token) const {
  if (ranks_) return std::string(ranks_->piece(token));
  return token < kBytes ? std::string(1, static_cast<char>(token)) : std::string();
}

Result<std::uint64_t> tokenize(const Tokenizer& tokenizer, const std::string& text_path,
                               const std::string& token_path) {
  if (tokenizer.vocabulary() > kVocabularyMax) {
    return Error{Errc::kInvalid, "a file of tokens names 65536 of them, and the ranks have " +
                                     std::to_string(tokenizer.vocabulary())};
  }
  TRY(text, open_text(text_path));
  const std::string beside = token_path + "." + std::to_string(getpid()) + ".part";
  TokenWriter writer(beside);
  if (const auto end = tokenizer.end_of_text()) writer.write(std::array{*end});
  const Status outcome =
      tokenizer.encode(text.bytes(), [&](std::span<const Token> tokens) { writer.write(tokens); });
  const bool fits = writer.count() <= kTokensMax;
  std::error_code failure;
  if (outcome.ok() && fits && writer.finish()) {
    std::filesystem::rename(beside, token_path, failure);
    if (!failure) return writer.count();
  }
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  if (!outcome.ok()) return outcome.error();
  if (!fits) return Error{Errc::kInvalid, text_path + ": more than 2^31 tokens: split the text"};
  return Error{Errc::kCannotCreate, token_path + ": cannot be written"};
}

}  // namespace berth::trainer
