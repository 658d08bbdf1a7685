// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>

#include "checkpoint/temporary_folder_for_test.h"

namespace berth::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pair;
using std::string_literals::operator""s;

TEST(SafetensorsFile, TensorsComeBackAsTheyWere) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.safetensors";
  const std::array<float, 6> weights = {1, 2, 3, 4, 5, 6};
  const std::array<std::uint16_t, 3> halves = {0x3F80, 0x4000, 0x4040};
  const std::int64_t step = 17;
  const Outcome<Nothing> written = write_file(
      path,
      {{.name = "w", .dtype = Dtype::kF32, .shape = {2, 3}, .data = weights.data(), .bytes = 24},
       {.name = "h", .dtype = Dtype::kBf16, .shape = {3}, .data = halves.data(), .bytes = 6},
       {.name = "step", .dtype = Dtype::kI64, .shape = {}, .data = &step, .bytes = 8},
       {.name = "none", .dtype = Dtype::kF32, .shape = {0, 9}}},
      {{"format", "pt"}});
  ASSERT_TRUE(written.ok()) << written.failure().message;
  const Outcome<MappedFile> file = MappedFile::open(path);
  ASSERT_TRUE(file.ok()) << file.failure().message;
  EXPECT_EQ(file->tensors().size(), 4);
  EXPECT_THAT(file->metadata(), ElementsAre(Pair("format", "pt")));
  const Tensor* const w = file->find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_THAT(w->shape, ElementsAre(2, 3));
  EXPECT_THAT(std::span(static_cast<const float*>(w->data), 6), ElementsAreArray(weights));
  EXPECT_EQ(std::memcmp(file->find("h")->data, halves.data(), 6), 0);
  EXPECT_EQ(std::memcmp(file->find("step")->data, &step, 8), 0);
  EXPECT_EQ(file->find("none")->bytes, 0);
  EXPECT_EQ(file->find("W"), nullptr);
  EXPECT_STREQ(name_of(file->find("h")->dtype), "BF16");
  // Nothing else is left in the directory.
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m.safetensors"});
}

TEST(SafetensorsFile, TensorsAreReadWithoutCopying) {
  const TemporaryFolder folder;
  const std::string path = folder / "m";
  const std::vector<char> zeros(std::size_t{1} << 20U);
  ASSERT_TRUE(write_file(path, {{.name = "t",
                                 .dtype = Dtype::kU8,
                                 .shape = {zeros.size()},
                                 .data = zeros.data(),
                                 .bytes = zeros.size()}})
                  .ok());
  const Outcome<MappedFile> file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  const Tensor& tensor = file->tensors()[0];
  EXPECT_EQ(std::memcmp(tensor.data, zeros.data(), zeros.size()), 0);
  // Where it lies, the system has mapped that file.
  const auto at = reinterpret_cast<std::uintptr_t>(tensor.data);
  std::ifstream maps("/proc/self/maps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    words >> std::hex >> begin >> dash >> end;
    if (at >= begin && at + tensor.bytes <= end) found = line.ends_with("/m");
  }
  EXPECT_TRUE(found);
}

TEST(SafetensorsFile, WhatIsNoneIsRefusedByName) {
  const TemporaryFolder folder;
  const auto trouble = [&](const std::string& name) {
    const Outcome<MappedFile> file = MappedFile::open(folder / name);
    return file.ok() ? Failure{} : file.failure();
  };
  EXPECT_EQ(trouble("absent").trouble, Trouble::kNotFound);
  EXPECT_THAT(trouble("absent").message, HasSubstr(folder / "absent"));
  std::ofstream(folder / "empty").close();
  EXPECT_EQ(trouble("empty").trouble, Trouble::kCorrupt);
  std::filesystem::create_directory(folder / "folder");
  EXPECT_EQ(trouble("folder").trouble, Trouble::kCorrupt);
  std::ofstream(folder / "short") << "\x10";
  EXPECT_THAT(trouble("short").message, HasSubstr(folder / "short"));
  EXPECT_EQ(trouble("short").trouble, Trouble::kCorrupt);
}

TEST(SafetensorsFile, AFileCutShortAnywhereIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "m";
  const std::array<char, 9> data = {};
  ASSERT_TRUE(
      write_file(
          path, {{.name = "t", .dtype = Dtype::kU8, .shape = {9}, .data = data.data(), .bytes = 9}})
          .ok());
  const auto size = std::filesystem::file_size(path);
  for (std::uintmax_t length = size; length-- > 0;) {
    std::filesystem::resize_file(path, length);
    EXPECT_FALSE(MappedFile::open(path).ok()) << length;
  }
}

TEST(SafetensorsFile, WrongTensorsAreNotWritten) {
  const TemporaryFolder folder;
  const std::string path = folder / "m";
  const std::array<char, 4> data = {};
  const auto trouble = [&](const std::vector<Tensor>& tensors) {
    const Outcome<Nothing> written = write_file(path, tensors);
    return written.ok() ? "written" : written.failure().message;
  };
  const Tensor fine{
      .name = "a", .dtype = Dtype::kF32, .shape = {1}, .data = data.data(), .bytes = 4};
  Tensor wrong = fine;
  wrong.bytes = 3;
  EXPECT_THAT(trouble({wrong}), HasSubstr("'a' has 3 bytes, and its shape 4"));
  wrong = fine;
  wrong.data = nullptr;
  EXPECT_THAT(trouble({wrong}), HasSubstr("no data"));
  wrong = fine;
  wrong.dtype = static_cast<Dtype>(200);
  EXPECT_THAT(trouble({wrong}), HasSubstr("no known dtype"));
  EXPECT_THAT(trouble({fine, fine}), HasSubstr("two tensors"));
  EXPECT_TRUE(folder.names().empty());
  EXPECT_FALSE(write_file(folder / "no" + "/such"s, {fine}).ok());
}

TEST(SafetensorsFile, AnElementsSizeIsKnown) {
  EXPECT_EQ(bits_of(Dtype::kF6E3M2), 6);
  const Outcome<std::uint64_t> bytes = bytes_of(Dtype::kBf16, {3, 5});
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, 30);
  EXPECT_FALSE(bytes_of(Dtype::kF4, {1}).ok());
}

}  // namespace
}  // namespace berth::checkpoint
