// SPDX-License-Identifier: Apache-2.0
#include "trainer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "train/ranks_for_test.h"
#include "train/token_file.h"

namespace berth::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TokenizerTest : public testing::Test {
 protected:
  TokenizerTest() : folder_(testing::TempDir() + "tokensXXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    write("ranks", train::ranks_text({"th", "the", " the", "e "}));
  }
  ~TokenizerTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Tokenizer opened() const {
    auto tokenizer = Tokenizer::open(folder_ + "/ranks");
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    return *std::move(tokenizer);
  }
  static std::vector<train::Token> tokens_of(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<train::Token> all;
    const Status status = tokenizer.encode(text, [&](std::span<const train::Token> tokens) {
      all.insert(all.end(), tokens.begin(), tokens.end());
    });
    EXPECT_TRUE(status.ok());
    return all;
  }
  std::string folder_;
};

TEST_F(TokenizerTest, NothingIsJoinedAcrossPieces) {
  const Tokenizer tokenizer = opened();
  // «e » is of a higher rank than « the», and its blank belongs to the next word.
  EXPECT_THAT(tokens_of(tokenizer, "the the"), ElementsAre(257U, 258U));
  EXPECT_EQ(tokenizer.vocabulary(), 261);
  EXPECT_EQ(tokenizer.end_of_text(), 260U);
}

TEST_F(TokenizerTest, WhatWasToldIsReadBack) {
  for (const Tokenizer& tokenizer : {Tokenizer(), opened()}) {
    const std::string text = "the other day, \xff 東京\n\n";
    std::string back;
    for (const train::Token token : tokens_of(tokenizer, text)) back += tokenizer.decode(token);
    EXPECT_EQ(back, text);
  }
  EXPECT_EQ(opened().decode(260), "") << "the end of a text is none of it";
  EXPECT_EQ(opened().decode(99'999), "");
  EXPECT_EQ(Tokenizer().decode(256), "");
  EXPECT_EQ(Tokenizer().vocabulary(), 256);
  EXPECT_FALSE(Tokenizer().end_of_text());
}

TEST_F(TokenizerTest, AFileOfTokensBeginsWithAnEndOfText) {
  write("text", "the the");
  const auto count = tokenize(opened(), folder_ + "/text", folder_ + "/tokens.bin");
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 3U);
  const std::string bytes = read("tokens.bin");
  const auto tokens = train::TokenView::of_file(bytes);
  ASSERT_TRUE(tokens.ok()) << tokens.error().message;
  ASSERT_EQ(tokens->size(), 3U);
  EXPECT_EQ((*tokens)[0], 260);
  EXPECT_EQ((*tokens)[1], 257);
  EXPECT_EQ((*tokens)[2], 258);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 3U) << "nothing is left beside it";
}

TEST_F(TokenizerTest, WhatCannotBeReadOrWrittenIsNamed) {
  EXPECT_THAT(Tokenizer::open(folder_ + "/none").error().message, HasSubstr("/none: "));
  write("wrong", "!!!! 0\n");
  EXPECT_THAT(Tokenizer::open(folder_ + "/wrong").error().message, HasSubstr("/wrong: line 1: "));
  write("text", "the");
  const auto missing = tokenize(opened(), folder_ + "/missing", folder_ + "/t.bin");
  EXPECT_THAT(missing.error().message, HasSubstr("/missing: "));
  const auto nowhere = tokenize(opened(), folder_ + "/text", folder_ + "/no/t.bin");
  EXPECT_THAT(nowhere.error().message, HasSubstr("/no/t.bin: cannot be written"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/t.bin"));
}

TEST_F(TokenizerTest, WhatTwoBytesCannotNameIsRefused) {
  std::vector<std::string> many;
  for (int i = 0; i < 65'300; ++i) many.push_back("a" + std::to_string(i));
  write("ranks", train::ranks_text(many));
  write("text", "a");
  EXPECT_THAT(tokenize(opened(), folder_ + "/text", folder_ + "/t.bin").error().message,
              HasSubstr("65536"));
}

}  // namespace
}  // namespace berth::trainer
