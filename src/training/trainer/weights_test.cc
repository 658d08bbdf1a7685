// SPDX-License-Identifier: Apache-2.0
#include "trainer/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "berth/safetensors.h"
#include "trainer/module_for_test.h"

namespace berth::trainer {
namespace {

using testing::HasSubstr;

class WeightsTest : public testing::Test {
 protected:
  WeightsTest() : folder_(testing::TempDir() + "weightsXXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    model_.initialize(3);
  }
  ~WeightsTest() override { std::filesystem::remove_all(folder_); }

  static bool are_equal(const Gpt2& a, const Gpt2& b) {
    const auto left = a.named_parameters();
    for (const auto& item : b.named_parameters()) {
      if (!at::equal(item.value(), left[item.key()])) return false;
    }
    return true;
  }
  std::string contents(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string trouble(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    Gpt2 other(kTinyGpt2);
    other.initialize(4);
    const Status read = read_weights(path, other);
    return read.ok() ? "" : read.error().message;
  }
  std::string folder_;
  Gpt2 model_{kTinyGpt2};
};

TEST_F(WeightsTest, ComeBackAsTheyWereInBothKinds) {
  for (const auto* name : {"/w.safetensors", "/w.bin"}) {
    ASSERT_TRUE(write_weights(folder_ + name, model_).ok());
    Gpt2 other(kTinyGpt2);
    other.initialize(4);
    ASSERT_FALSE(are_equal(model_, other));
    const Status read = read_weights(folder_ + name, other);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_TRUE(are_equal(model_, other)) << name;
  }
}

// kTinyGpt2: 2 layers, 2 heads, width 16, context 8, vocabulary 32, which is rounded up to 128.
TEST_F(WeightsTest, LlmCsFileIsAsItReadsThem) {
  const std::string path = folder_ + "/w.bin";
  ASSERT_TRUE(write_weights(path, model_).ok());
  const std::string file = contents(path);
  std::array<std::int32_t, 256> header{};
  std::memcpy(header.data(), file.data(), sizeof header);
  const std::array<std::int32_t, 9> expected = {20'240'326, 3, 8, 32, 2, 2, 16, 128, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(header[i], expected[i]) << i;
  const std::int64_t layer = 2 * 32 + 48 * 16 + 48 + 16 * 16 + 16 + 64 * 16 + 64 + 16 * 64 + 16;
  ASSERT_EQ(file.size(), 1024 + 4 * (128 * 16 + 8 * 16 + 2 * layer + 32));
  const auto number = [&](std::int64_t at) {
    float value = 0;
    std::memcpy(&value, file.data() + 1024 + 4 * at, sizeof value);
    return value;
  };
  const auto weights = model_.named_parameters();
  EXPECT_EQ(number(16 + 3), weights["wte.weight"][1][3].item<float>());
  EXPECT_EQ(number(32 * 16), 0) << "rows that nobody has";
  EXPECT_EQ(number(128 * 16 + 16 + 3), weights["wpe.weight"][1][3].item<float>());
  // Both norms of both layers, then the first matrix, output by output.
  const std::int64_t matrix = 128 * 16 + 8 * 16 + 4 * 16;
  EXPECT_EQ(number(matrix + 5 * 16 + 2), weights["h.0.attn.c_attn.weight"][2][5].item<float>());
  EXPECT_EQ(number(matrix + 48 * 16 + 5 * 16 + 2),
            weights["h.1.attn.c_attn.weight"][2][5].item<float>());
}

TEST_F(WeightsTest, HalvesAreReadToo) {
  const std::string path = folder_ + "/w.bin";
  ASSERT_TRUE(write_weights(path, model_).ok());
  const std::string floats = contents(path);
  std::string halves = floats.substr(0, 1024);
  halves[4] = 5;
  // The upper half of each number: rounded towards zero.
  for (std::size_t at = 1024; at < floats.size(); at += 4) halves += floats.substr(at + 2, 2);
  std::ofstream(path, std::ios::binary) << halves;
  Gpt2 other(kTinyGpt2);
  other.initialize(4);
  ASSERT_TRUE(read_weights(path, other).ok());
  const auto weights = model_.named_parameters();
  for (const auto& item : other.named_parameters()) {
    EXPECT_TRUE(at::allclose(item.value(), weights[item.key()], 1e-2, 0)) << item.key();
  }
}

TEST_F(WeightsTest, SafetensorsHaveThePublicNamesAndMayHoldMore) {
  const std::string path = folder_ + "/w.safetensors";
  ASSERT_TRUE(write_weights(path, model_).ok());
  std::vector<checkpoint::Tensor> more;
  const std::array<float, 2> extra = {1, 2};
  const auto file = checkpoint::MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_NE(file->find("h.1.mlp.c_proj.bias"), nullptr);
  EXPECT_EQ(file->metadata().at("format"), "pt");
  for (const checkpoint::Tensor& tensor : file->tensors()) more.push_back(tensor);
  more.push_back({.name = "h.0.attn.bias", .shape = {2}, .data = extra.data(), .bytes = 8});
  const std::string larger = folder_ + "/larger.safetensors";
  ASSERT_TRUE(checkpoint::write_file(larger, more).ok());
  Gpt2 other(kTinyGpt2);
  other.initialize(4);
  EXPECT_TRUE(read_weights(larger, other).ok());
  EXPECT_TRUE(are_equal(model_, other));
  more.erase(more.begin());
  ASSERT_TRUE(checkpoint::write_file(larger, more).ok());
  EXPECT_THAT(read_weights(larger, other).error().message, HasSubstr("holds no tensor "));
}

TEST_F(WeightsTest, WhatDoesNotFitIsRefusedByName) {
  const std::string path = folder_ + "/w.bin";
  ASSERT_TRUE(write_weights(path, model_).ok());
  const std::string file = contents(path);
  EXPECT_EQ(trouble(path, file), "");
  EXPECT_THAT(trouble(path, file.substr(0, 100)), HasSubstr("is no checkpoint of llm.c"));
  EXPECT_THAT(trouble(path, "x" + file), HasSubstr("is no checkpoint of llm.c"));
  EXPECT_THAT(trouble(path, file.substr(0, file.size() - 1)), HasSubstr("ends within ln_f.bias"));
  EXPECT_THAT(trouble(path, file + "x"), HasSubstr("goes on behind its end"));
  std::string other = file;
  other[4] = 4;
  EXPECT_THAT(trouble(path, other), HasSubstr("is of version 4"));
  other = file;
  other[16] = 3;
  EXPECT_THAT(trouble(path, other), HasSubstr("is of another model: context 8, vocabulary 32, "
                                              "layers 3, heads 2, width 16"));
  EXPECT_THAT(trouble(folder_ + "/w.pt", file), HasSubstr("named .safetensors and .bin"));
  EXPECT_EQ(read_weights(folder_ + "/none.bin", model_).error().code, Errc::kNotFound);
  EXPECT_EQ(read_weights(folder_ + "/none.safetensors", model_).error().code, Errc::kNotFound);
  EXPECT_FALSE(write_weights(folder_ + "/none/w.bin", model_).ok());
}

}  // namespace
}  // namespace berth::trainer
