// SPDX-License-Identifier: Apache-2.0
#include "train/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::train {
namespace {

using testing::HasSubstr;

std::string token_file_of(const std::vector<unsigned>& tokens) {
  std::string file = token_file_header(static_cast<std::uint32_t>(tokens.size()));
  for (const unsigned token : tokens) {
    file += static_cast<char>(token % 256);
    file += static_cast<char>(token / 256);
  }
  return file;
}

std::string trouble_of_file(const std::string& file) {
  const auto view = TokenView::of_file(file);
  return view.ok() ? "" : view.error().message;
}

TEST(TokenFile, HeaderIsThatOfLlmC) {
  const std::string header = token_file_header(0x01020304);
  ASSERT_EQ(header.size(), 1024U);
  // 20240520 is 0x0134D888.
  EXPECT_EQ(header.substr(0, 12), std::string("\x88\xD8\x34\x01\x01\0\0\0\x04\x03\x02\x01", 12));
  EXPECT_EQ(header.find_first_not_of('\0', 12), std::string::npos);
}

TEST(TokenFile, TokensAreReadBack) {
  const std::string file = token_file_of({0, 1, 255, 256, 50'256, 65'535});
  const auto view = TokenView::of_file(file);
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_FALSE(view->is_bytes());
  ASSERT_EQ(view->size(), 6U);
  EXPECT_EQ((*view)[3], 256);
  EXPECT_EQ((*view)[4], 50'256);
  EXPECT_EQ((*view)[5], 65'535);
  EXPECT_EQ(view->vocabulary(), 65'536);
  const TokenView part = view->part(2, 3);
  EXPECT_EQ(part.size(), 3U);
  EXPECT_EQ(part[0], 255);
  EXPECT_EQ(part.vocabulary(), 50'257);
}

TEST(TokenFile, AnyOtherFileIsItsBytes) {
  const auto view = TokenView::of_file("a\xFF\n");
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(view->is_bytes());
  ASSERT_EQ(view->size(), 3U);
  EXPECT_EQ((*view)[1], 255);
  EXPECT_EQ(view->part(1, 2).size(), 2U);
  EXPECT_EQ(TokenView::of_file("")->size(), 0U);
  EXPECT_EQ(TokenView::of_file("")->vocabulary(), 0);
}

TEST(TokenFile, WhatIsNotAsItSaysIsRefused) {
  const std::string file = token_file_of({1, 2, 3});
  EXPECT_EQ(trouble_of_file(file), "");
  EXPECT_THAT(trouble_of_file(file.substr(0, 1'000)), HasSubstr("ends within its header"));
  EXPECT_THAT(trouble_of_file(file.substr(0, file.size() - 2)),
              HasSubstr("says it has 6 bytes of tokens, and has 4"));
  EXPECT_THAT(trouble_of_file(file + "x"), HasSubstr("says it has 6 bytes of tokens, and has 7"));
  std::string other = file;
  other[4] = 7;
  EXPECT_THAT(trouble_of_file(other), HasSubstr("of version 7"));
}

}  // namespace
}  // namespace berth::train
