// SPDX-License-Identifier: Apache-2.0
#include "trainer/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "train/ranks_for_test.h"
#include "train/settings.h"
#include "trainer/run.h"

namespace berth::trainer {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// A model that has learnt that «abcde» follows «abcde», and nothing else.
class GenerateTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = testing::TempDir() + "writesXXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    std::ofstream text(folder_ + "/text");
    for (int i = 0; i < 3000; ++i) text << "abcde";
    text.close();
    train::Settings settings{.text = folder_ + "/text",
                             .folder = folder_ + "/out",
                             .rows = 4,
                             .columns = 16,
                             .validate_every = 0,
                             .validate_rows = 4,
                             .checkpoint_every = 40};
    settings.hybrid.schedule = {
        .shape = train::Schedule::kConstant, .warmup_steps = 2, .steps = 80};
    settings.hybrid.mode = Mode::kOff;
    const auto summary = run_training(settings, {});
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    ASSERT_LT(summary->loss, 0.5);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  std::string written(train::GenerateWords words) {
    words.folder = folder_ + "/out";
    std::string text;
    const auto generated =
        generate(words, {.write = [&](std::string_view more) { text += more; }, .say = {}});
    EXPECT_TRUE(generated.ok()) << generated.error().message;
    if (generated.ok()) last_ = *generated;
    return text;
  }
  Generated last_;
  static inline std::string folder_;
};

TEST_F(GenerateTest, WritesOnAsItHasLearnt) {
  const std::string text =
      written({.prompt = "cdeabcdeabcde", .tokens = 40, .sampling = {.temperature = 0}});
  EXPECT_EQ(text, "cdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcde") << "past its context";
  EXPECT_EQ(last_.step, 80U);
  EXPECT_EQ(last_.tokens, 40U);
  EXPECT_THAT(last_.checkpoint, StartsWith(folder_ + "/out/checkpoints/"));
}

TEST_F(GenerateTest, TheSameSeedWritesTheSame) {
  const train::GenerateWords words = {
      .prompt = "abc", .tokens = 60, .seed = 3, .sampling = {.temperature = 2}};
  const std::string text = written(words);
  EXPECT_EQ(text.size(), 63U);
  EXPECT_EQ(written(words), text);
  train::GenerateWords other = words;
  other.seed = 4;
  EXPECT_NE(written(other), text);
}

TEST_F(GenerateTest, WeightsThatWereExportedBeginAnotherRun) {
  for (const auto* name : {"/w.bin", "/w.safetensors"}) {
    const auto written = export_weights(folder_ + "/out", folder_ + name);
    ASSERT_TRUE(written.ok()) << written.error().message;
    train::Settings settings{.text = folder_ + "/text",
                             .weights = folder_ + name,
                             .rows = 4,
                             .columns = 16,
                             .validate_rows = 4};
    settings.hybrid.schedule = {.shape = train::Schedule::kConstant, .warmup_steps = 1, .steps = 1};
    settings.hybrid.mode = Mode::kOff;
    const auto summary = run_training(settings, {});
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_LT(summary->loss, 0.5) << "from its first step on it knows what was learnt";
  }
  EXPECT_EQ(export_weights(folder_ + "/none", folder_ + "/w.bin").error().code, Errc::kNotFound);
}

TEST_F(GenerateTest, StopsBetweenTokens) {
  std::atomic<bool> stop = false;
  train::GenerateWords words = {.folder = folder_ + "/out", .tokens = 1000};
  std::size_t count = 0;
  const auto generated = generate(
      words, {.write = [&](std::string_view) { stop = ++count == 5; }, .say = {}, .stop = &stop});
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(generated->tokens, 4U) << "and the prompt";
}

/// What the model writes first, by its own logits.
std::string likeliest(Gpt2& model, const Tokenizer& tokenizer, std::vector<std::int64_t> seen) {
  const c10::InferenceMode no_graph;
  const auto count = static_cast<std::int64_t>(seen.size());
  const at::Tensor logits = model.logits(torch::from_blob(seen.data(), {1, count}, at::kLong));
  const auto token = logits.select(1, count - 1).argmax().item<std::int64_t>();
  return tokenizer.decode(static_cast<train::Token>(token));
}

TEST_F(GenerateTest, AModelOfTokensReadsItsPromptBehindAnEndOfText) {
  std::ofstream(folder_ + "/ranks") << train::ranks_text({"th", "the", " the"});
  const auto tokenizer = Tokenizer::open(folder_ + "/ranks");
  ASSERT_TRUE(tokenizer.ok());
  Gpt2 model({.layers = 1, .heads = 1, .width = 8, .context = 16, .vocabulary = 260});
  model.initialize(3);
  std::string text;
  const train::GenerateWords words = {
      .prompt = "the the", .tokens = 1, .sampling = {.temperature = 0}};
  const auto count = write_on(model, 16, *tokenizer, words,
                              {.write = [&](std::string_view more) { text += more; }, .say = {}});
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 1U);
  EXPECT_EQ(text, "the the" + likeliest(model, *tokenizer, {259, 257, 258}));
}

TEST_F(GenerateTest, ItEndsWhereItsTextEnds) {
  std::ofstream(folder_ + "/ranks") << train::ranks_text({});
  const auto tokenizer = Tokenizer::open(folder_ + "/ranks");
  ASSERT_TRUE(tokenizer.ok());
  Gpt2 model({.layers = 1, .heads = 1, .width = 8, .context = 16, .vocabulary = 257});
  model.initialize(3);
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    std::string text;
    const train::GenerateWords words = {.prompt = "a", .tokens = 2000, .seed = seed};
    const auto count = write_on(model, 16, *tokenizer, words,
                                {.write = [&](std::string_view more) { text += more; }, .say = {}});
    ASSERT_TRUE(count.ok());
    EXPECT_EQ(text.size(), 1 + *count);
    if (*count < 2000) return;  // One in 257 tokens ends the text.
  }
  FAIL() << "no text has ended";
}

TEST_F(GenerateTest, RanksThatAreNotTheModelsAreNamed) {
  std::ofstream(folder_ + "/ranks") << train::ranks_text({"th"});
  const auto wrong = generate({.folder = folder_ + "/out", .ranks = folder_ + "/ranks"},
                              {.write = [](std::string_view) {}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("knows 256 tokens"));
  EXPECT_THAT(wrong.error().message, HasSubstr("/ranks has 258"));
}

TEST_F(GenerateTest, WhereNothingWasSavedThatIsSaid) {
  const auto none = generate({.folder = folder_ + "/none"}, {.write = [](std::string_view) {}});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Errc::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("none/checkpoints"));
}

}  // namespace
}  // namespace berth::trainer
