// SPDX-License-Identifier: Apache-2.0
#include "trainer/corpus.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "train/token_file.h"

namespace berth::trainer {
namespace {

class TextFile {
 public:
  explicit TextFile(std::size_t bytes) {
    std::string path = testing::TempDir() + "corpusXXXXXX";
    close_after(mkstemp(path.data()));
    path_ = path;
    std::ofstream file(path_, std::ios::binary);
    // Four bytes that number each place, so that a window says where it is from.
    for (std::size_t i = 0; i < bytes; ++i) file.put(static_cast<char>(i / 4 >> (i % 4 * 8)));
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  static void close_after(int file) { fclose(fdopen(file, "w")); }
  std::string path_;
};

constexpr std::size_t kBytes = 20'000;

Corpus open(const TextFile& file, std::uint64_t seed = 1) {
  Result<Corpus> corpus =
      Corpus::open({.path = file.path(), .rows = 5, .columns = 32, .seed = seed, .held_out = 0.2});
  EXPECT_TRUE(corpus.ok());
  return *std::move(corpus);
}

// The byte of the file at which a row begins.
std::int64_t place(const Batch& batch, std::int64_t row) {
  std::int64_t number = 0;
  for (int i = 3; i >= 0; --i) number = number << 8 | batch.inputs[row][i].item<std::int64_t>();
  return number * 4;
}

TEST(Corpus, EachWindowComesOnceInEachPass) {
  const TextFile file(kBytes);
  Corpus corpus = open(file);
  EXPECT_EQ(corpus.windows(), (kBytes * 8 / 10 - 1) / 32);
  ASSERT_EQ(corpus.windows() % 5, 4U);  // A batch goes over into the next pass.
  std::multiset<std::int64_t> places;
  while (corpus.position() < 5 * corpus.windows()) {
    const Batch batch = corpus.next();
    for (std::int64_t row = 0; row < 5; ++row) places.insert(place(batch, row));
  }
  EXPECT_EQ(places.size(), 5 * corpus.windows());
  for (std::uint64_t i = 0; i < corpus.windows(); ++i) {
    ASSERT_EQ(places.count(static_cast<std::int64_t>(i * 32)), 5U) << i;
  }
}

TEST(Corpus, RanksShareTheRowsOfEachBatch) {
  const TextFile file(kBytes);
  const auto open_for = [&](std::uint32_t rank, std::uint32_t ranks) {
    auto corpus =
        Corpus::open({.path = file.path(), .rows = 6, .columns = 32, .rank = rank, .ranks = ranks});
    EXPECT_TRUE(corpus.ok());
    return *std::move(corpus);
  };
  Corpus whole = open_for(0, 1);
  std::vector<Corpus> parts;
  for (std::uint32_t rank = 0; rank < 3; ++rank) parts.push_back(open_for(rank, 3));
  while (whole.position() < 2 * whole.windows()) {  // Into the next pass as well.
    std::vector<at::Tensor> inputs, targets;
    for (Corpus& part : parts) {
      const Batch batch = part.next();
      inputs.push_back(batch.inputs);
      targets.push_back(batch.targets);
    }
    const Batch all = whole.next();
    ASSERT_TRUE(at::equal(at::cat(inputs), all.inputs));
    ASSERT_TRUE(at::equal(at::cat(targets), all.targets));
    for (const Corpus& part : parts) ASSERT_EQ(part.position(), whole.position());
  }
}

TEST(Corpus, TargetsAreWhatFollows) {
  const TextFile file(kBytes);
  Corpus corpus = open(file);
  const Batch batch = corpus.next();
  EXPECT_TRUE(at::equal(batch.inputs.narrow(1, 1, 31), batch.targets.narrow(1, 0, 31)));
  const std::int64_t last = place(batch, 0) + 32;
  EXPECT_EQ(batch.targets[0][31].item<std::int64_t>(), last / 4 >> (last % 4 * 8) & 255);
}

TEST(Corpus, PassesDifferInTheirOrderAndSeedsDo) {
  const TextFile file(kBytes);
  Corpus corpus = open(file);
  const Batch first = corpus.next();
  corpus.seek(corpus.windows());
  EXPECT_FALSE(at::equal(first.inputs, corpus.next().inputs));
  EXPECT_FALSE(at::equal(first.inputs, open(file, 2).next().inputs));
  EXPECT_TRUE(at::equal(first.inputs, open(file, 1).next().inputs));
}

TEST(Corpus, ReadsOnFromAPosition) {
  const TextFile file(kBytes);
  Corpus whole = open(file);
  for (int i = 0; i < 7; ++i) whole.next();
  Corpus resumed = open(file);
  resumed.seek(whole.position());
  EXPECT_TRUE(at::equal(whole.next().inputs, resumed.next().inputs));
}

TEST(Corpus, WhatIsHeldOutIsNeverTrainedOn) {
  const TextFile file(kBytes);
  const Corpus corpus = open(file);
  const std::int64_t end = kBytes * 8 / 10;
  const Batch trial = corpus.trial(100);
  const Batch validation = corpus.validation(1000);
  EXPECT_EQ(trial.rows(), 16);
  std::set<std::int64_t> places;
  for (const Batch& batch : {trial, validation}) {
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      EXPECT_GE(place(batch, row), end);
      EXPECT_TRUE(places.insert(place(batch, row)).second) << "both trial and validation";
    }
  }
  EXPECT_EQ(validation.rows(), (static_cast<std::int64_t>(kBytes) * 2 / 10 - 1) / 32 - 16);
}

/// A file of tokens that count from `first` on.
class NumbersFile {
 public:
  NumbersFile(std::uint32_t first, std::uint32_t count)
      : path_(testing::TempDir() + "tokens" + std::to_string(first)) {
    std::ofstream file(path_, std::ios::binary);
    file << train::token_file_header(count);
    for (std::uint32_t token = first; token < first + count; ++token) {
      file.put(static_cast<char>(token % 256)).put(static_cast<char>(token / 256));
    }
  }
  NumbersFile(const NumbersFile&) = delete;
  NumbersFile& operator=(const NumbersFile&) = delete;
  ~NumbersFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Corpus, AFileOfTokensIsReadAsThem) {
  const NumbersFile file(300, 20'000);
  const CorpusConfig config = {
      .path = file.path(), .rows = 5, .columns = 32, .held_out = 0.2, .vocabulary = 50'257};
  auto corpus = Corpus::open(config);
  ASSERT_TRUE(corpus.ok()) << corpus.error().message;
  EXPECT_EQ(corpus->windows(), (20'000U * 8 / 10 - 1) / 32);
  const Batch batch = corpus->next();
  EXPECT_TRUE(at::equal(batch.inputs + 1, batch.targets));
  EXPECT_EQ((batch.inputs[0][0].item<std::int64_t>() - 300) % 32, 0);
  EXPECT_GE(corpus->validation(1).inputs[0][0].item<std::int64_t>(), 300 + 16'000);
}

TEST(Corpus, ATokenThatTheModelDoesNotKnowIsAnError) {
  const NumbersFile file(0, 20'000);
  const auto small = Corpus::open({.path = file.path(), .rows = 5, .columns = 32});
  ASSERT_FALSE(small.ok());
  EXPECT_NE(small.error().message.find("has the token 19999, and the model knows 256"),
            std::string::npos);
}

TEST(Corpus, AFileThatIsTooShortOrNotThereIsAnError) {
  const TextFile file(1000);
  const auto wrong = Corpus::open({.path = file.path(), .rows = 5, .columns = 32, .held_out = 0.2});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Errc::kInvalid);
  EXPECT_EQ(Corpus::open({.path = file.path() + ".not"}).error().code, Errc::kNotFound);
  EXPECT_EQ(Corpus::open({.path = "/"}).error().code, Errc::kInvalid);
}

TEST(Corpus, TheFingerprintTellsFilesApart) {
  const TextFile a(kBytes);
  const TextFile b(kBytes + 1);
  EXPECT_EQ(open(a).fingerprint(), open(a).fingerprint());
  EXPECT_NE(open(a).fingerprint(), open(b).fingerprint());
}

}  // namespace
}  // namespace berth::trainer
