// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "berth/checkpoint.h"
#include "checkpoint/temporary_folder_for_test.h"

namespace berth::checkpoint {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A model of one tensor, each element of which is the step.
struct Model {
  explicit Model(std::uint64_t step, std::size_t size = 100) : weights(size, step) {}

  Snapshot at(std::uint64_t step, Slot slot = Slot::kRegular) const {
    return {.step = step,
            .slot = slot,
            .state = "{\"step\":" + std::to_string(step) + "}",
            .tensors = {{.name = "weights",
                         .dtype = Dtype::kU64,
                         .shape = {weights.size()},
                         .data = weights.data(),
                         .bytes = weights.size() * 8}}};
  }
  std::vector<std::uint64_t> weights;
};

Snapshot sample(std::uint64_t step, Slot slot = Slot::kRegular) {
  static thread_local Model model(0);
  model = Model(step);
  return model.at(step, slot);
}

Store open(const std::string& directory, unsigned keep_last = 3) {
  Outcome<Store> store = Store::open({.directory = directory, .keep_last = keep_last});
  if (!store.ok()) ADD_FAILURE() << store.failure().message;
  return *std::move(store);
}

// The step of what is found there, after a look at each of its elements; -1 where nothing is.
std::int64_t found_step(const std::string& directory, std::optional<Slot> slot = {}) {
  const Outcome<Loaded> loaded = load_newest(directory, slot);
  if (!loaded.ok()) return -1;
  EXPECT_EQ(loaded->state(), "{\"step\":" + std::to_string(loaded->step()) + "}");
  const Tensor* const weights = loaded->find("weights");
  EXPECT_NE(weights, nullptr);
  for (std::uint64_t i = 0; i < weights->bytes / 8; ++i) {
    EXPECT_EQ(static_cast<const std::uint64_t*>(weights->data)[i], loaded->step());
  }
  return static_cast<std::int64_t>(loaded->step());
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CheckpointStore, WhatIsSavedIsFoundAgain) {
  const TemporaryFolder folder;
  EXPECT_EQ(load_newest(folder.path()).failure().trouble, Trouble::kNotFound);
  EXPECT_EQ(load_newest(folder / "none").failure().trouble, Trouble::kNotFound);
  {
    Store store = open(folder / "run");
    const Outcome<Saved> saved = store.save(sample(10));
    ASSERT_TRUE(saved.ok()) << saved.failure().message;
    EXPECT_EQ(saved->step, 10);
    EXPECT_EQ(saved->bytes, std::filesystem::file_size(saved->path));
    EXPECT_EQ(content_of(folder / "run/LATEST"),
              std::filesystem::path(saved->path).filename().string() + "\n");
    ASSERT_TRUE(store.save(sample(20)).ok());
  }
  EXPECT_EQ(found_step(folder / "run"), 20);
  const Outcome<Loaded> loaded = load_newest(folder / "run");
  EXPECT_THAT(loaded->passed_over(), IsEmpty());
  EXPECT_EQ(loaded->slot(), Slot::kRegular);
  EXPECT_THAT(loaded->tensors(), SizeIs(1));
  EXPECT_EQ(loaded->find("bias"), nullptr);
  // It is a safetensors file like any other.
  EXPECT_TRUE(MappedFile::open(loaded->path()).ok());
}

TEST(CheckpointStore, BestAndEmergencyOutliveTheRegularOnes) {
  const TemporaryFolder folder;
  Store store = open(folder.path(), 2);
  ASSERT_TRUE(store.save(sample(1, Slot::kBest)).ok());
  ASSERT_TRUE(store.save(sample(2, Slot::kEmergency)).ok());
  for (std::uint64_t step = 3; step < 20; ++step) ASSERT_TRUE(store.save(sample(step)).ok());
  EXPECT_EQ(found_step(folder.path()), 19);
  EXPECT_EQ(found_step(folder.path(), Slot::kBest), 1);
  EXPECT_EQ(found_step(folder.path(), Slot::kEmergency), 2);
  EXPECT_THAT(folder.names(), SizeIs(2 + 2 + 2));  // LATEST, and the lock.
  ASSERT_TRUE(store.save(sample(20, Slot::kBest)).ok());
  EXPECT_EQ(found_step(folder.path(), Slot::kBest), 20);
  EXPECT_THAT(folder.names(), SizeIs(2 + 2 + 2));
}

// A run that was taken back to an earlier step goes on from there, not from where it failed.
TEST(CheckpointStore, TheNewestIsTheOneSavedLast) {
  const TemporaryFolder folder;
  Store store = open(folder.path());
  for (const std::uint64_t step : {1'000U, 2'000U, 500U})
    ASSERT_TRUE(store.save(sample(step)).ok());
  EXPECT_EQ(found_step(folder.path()), 500);
}

TEST(CheckpointStore, ADamagedNewestIsPassedOverWhicheverByteIt) {
  const TemporaryFolder folder;
  std::string path;
  {
    Store store = open(folder.path());
    ASSERT_TRUE(store.save(sample(1)).ok());
    const Outcome<Saved> saved = store.save(sample(2));
    ASSERT_TRUE(saved.ok());
    path = saved->path;
  }
  const std::string whole = content_of(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    std::ofstream(path, std::ios::binary) << damaged;
    const Outcome<Loaded> loaded = load_newest(folder.path());
    ASSERT_TRUE(loaded.ok()) << at << loaded.failure().message;
    ASSERT_EQ(loaded->step(), 1) << at;
    ASSERT_THAT(loaded->passed_over(), SizeIs(1));
    EXPECT_EQ(loaded->passed_over()[0].path, path);
    EXPECT_THAT(loaded->passed_over()[0].why, HasSubstr(path));
  }
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 1}) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, length);
    EXPECT_EQ(found_step(folder.path()), 1) << length;
  }
  std::ofstream(path, std::ios::binary) << whole;
  EXPECT_EQ(found_step(folder.path()), 2);
}

TEST(CheckpointStore, WhereNoneIsWholeEachIsNamed) {
  const TemporaryFolder folder;
  {
    ASSERT_TRUE(open(folder.path()).save(sample(1)).ok());
  }
  const std::string name = folder.names()[2];
  ASSERT_THAT(name, HasSubstr("regular-"));
  std::ofstream(folder / name, std::ios::app) << "x";
  const Outcome<Loaded> loaded = load_newest(folder.path());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure().trouble, Trouble::kCorrupt);
  EXPECT_THAT(loaded.failure().message, HasSubstr(folder / name));
  // A file of the same format that was not saved here has no sums to trust.
  ASSERT_TRUE(write_file(folder / name, {}).ok());
  EXPECT_THAT(load_newest(folder.path()).failure().message, HasSubstr("no checkpoint of Berth"));
}

TEST(CheckpointStore, TensorsMayChangeOnceASaveInTheBackgroundReturns) {
  const TemporaryFolder folder;
  Store store = open(folder.path());
  Model model(0, 100'000);
  ASSERT_TRUE(store.reserve(800'000).ok());
  for (std::uint64_t step = 1; step < 20; ++step) {
    std::ranges::fill(model.weights, step);
    const Outcome<Store::Stall> stall = store.save_in_background(model.at(step));
    ASSERT_TRUE(stall.ok()) << stall.failure().message;
    std::ranges::fill(model.weights, 12'345);
  }
  ASSERT_TRUE(store.wait().ok());
  EXPECT_EQ(found_step(folder.path()), 19);
  const std::vector<Outcome<Saved>> reports = store.reports();
  ASSERT_THAT(reports, SizeIs(19));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    ASSERT_TRUE(reports[i].ok());
    EXPECT_EQ(reports[i]->step, i + 1);
  }
  EXPECT_THAT(store.reports(), IsEmpty());
}

TEST(CheckpointStore, ClosingFinishesWhatIsBeingSaved) {
  const TemporaryFolder folder;
  {
    Store store = open(folder.path());
    ASSERT_TRUE(store.save_in_background(sample(1)).ok());
    ASSERT_TRUE(store.save_in_background(sample(2)).ok());
  }
  EXPECT_EQ(found_step(folder.path()), 2);
}

TEST(CheckpointStore, SeveralThreadsSaveOneAfterAnother) {
  const TemporaryFolder folder;
  Store store = open(folder.path(), 100);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&store, thread] {
      for (std::uint64_t i = 0; i < 5; ++i) {
        const std::uint64_t step = thread * 100 + i;
        EXPECT_TRUE(i % 2 == 0 ? store.save(sample(step)).ok()
                               : store.save_in_background(sample(step)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(store.wait().ok());
  EXPECT_THAT(store.reports(), SizeIs(8));
  EXPECT_THAT(folder.names(), SizeIs(20 + 2));
}

TEST(CheckpointStore, OneProcessAtATimeWrites) {
  const TemporaryFolder folder;
  Store store = open(folder.path());
  const Outcome<Store> second = Store::open({.directory = folder.path()});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.failure().trouble, Trouble::kConflict);
  EXPECT_THAT(second.failure().message, HasSubstr(std::to_string(::getpid())));
  ASSERT_TRUE(store.save(sample(1)).ok());
  EXPECT_EQ(found_step(folder.path()), 1);  // Others read meanwhile.
}

TEST(CheckpointStore, TheChildOfAForkIsRefused) {
  const TemporaryFolder folder;
  Store store = open(folder.path());
  ASSERT_TRUE(store.save(sample(1)).ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Outcome<Saved> saved = store.save(sample(2));
    const Outcome<Store::Stall> stall = store.save_in_background(sample(3));
    const bool refused = !saved.ok() && saved.failure().trouble == Trouble::kInvalid &&
                         !stall.ok() && !store.wait().ok() && store.reports().empty();
    {
      const Store gone = std::move(store);
    }
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(store.save(sample(4)).ok());
  EXPECT_EQ(found_step(folder.path()), 4);
}

TEST(CheckpointStore, WrongInputIsRefusedAndNothingIsLost) {
  const TemporaryFolder folder;
  EXPECT_FALSE(Store::open({}).ok());
  EXPECT_FALSE(Store::open({.directory = folder.path(), .keep_last = 0}).ok());
  std::ofstream(folder / "file") << "x";
  EXPECT_FALSE(Store::open({.directory = folder / "file"}).ok());
  Store store = open(folder / "run");
  ASSERT_TRUE(store.save(sample(1)).ok());
  Snapshot wrong = sample(2);
  wrong.state = "{\"step\":";
  EXPECT_FALSE(store.save(wrong).ok());
  EXPECT_FALSE(store.save_in_background(wrong).ok());
  wrong = sample(2);
  wrong.tensors[0].bytes -= 1;
  EXPECT_FALSE(store.save(wrong).ok());
  wrong = sample(2);
  wrong.slot = static_cast<Slot>(9);
  EXPECT_FALSE(store.save_in_background(wrong).ok());
  EXPECT_EQ(found_step(folder / "run"), 1);
  EXPECT_THAT(store.reports(), IsEmpty());
}

// ----------------------------------------------------------------- functions of the user's

struct Memory {
  std::vector<std::size_t> allocated;
  std::vector<std::size_t> released;
  unsigned copies = 0;
  unsigned fail_at = 0;   // The copy that fails; 0: none.
  unsigned throw_at = 0;  // The copy that throws.
  std::size_t bytes_max = SIZE_MAX;
};

Staging staging_in(Memory& memory) {
  return {.allocate =
              [](std::size_t bytes, void* user) {
                auto& log = *static_cast<Memory*>(user);
                if (bytes > log.bytes_max) return static_cast<void*>(nullptr);
                log.allocated.push_back(bytes);
                return std::malloc(bytes);
              },
          .release =
              [](void* pointer, std::size_t bytes, void* user) {
                static_cast<Memory*>(user)->released.push_back(bytes);
                std::free(pointer);
              },
          .copy =
              [](void* to, const void* from, std::size_t bytes, void* user) {
                auto& log = *static_cast<Memory*>(user);
                ++log.copies;
                if (log.copies == log.throw_at) (void)std::string().at(1);
                if (log.copies == log.fail_at) return false;
                std::memcpy(to, from, bytes);
                return true;
              },
          .user = &memory};
}

TEST(CheckpointStore, CopiesLiveWhereTheyAreToldTo) {
  const TemporaryFolder folder;
  Memory memory;
  {
    Outcome<Store> store = Store::open({.directory = folder.path(), .staging = staging_in(memory)});
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(store->reserve(1'000).ok());
    EXPECT_THAT(memory.allocated, ElementsAre(1'000, 1'000));
    ASSERT_TRUE(store->save_in_background(sample(1)).ok());
    // What only that function can read is copied for a save that is waited for, too.
    ASSERT_TRUE(store->save(sample(2)).ok());
    EXPECT_EQ(memory.copies, 2);
    EXPECT_THAT(memory.allocated, SizeIs(2));  // They are large enough.
  }
  EXPECT_EQ(memory.released, memory.allocated);
  EXPECT_EQ(found_step(folder.path()), 2);
}

TEST(CheckpointStore, FunctionsThatFailOrThrowFailTheirCallAndNoOther) {
  const TemporaryFolder folder;
  Memory memory{.fail_at = 1, .throw_at = 2};
  Outcome<Store> store = Store::open({.directory = folder.path(), .staging = staging_in(memory)});
  ASSERT_TRUE(store.ok());
  const Outcome<Store::Stall> failed = store->save_in_background(sample(1));
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.failure().message, HasSubstr("'weights' could not be copied"));
  const Outcome<Saved> thrown = store->save(sample(2));
  ASSERT_FALSE(thrown.ok());
  EXPECT_FALSE(thrown.failure().message.empty());
  // Both copies were given back: neither of these waits for ever.
  for (const std::uint64_t step : {3U, 4U, 5U}) {
    EXPECT_TRUE(store->save_in_background(sample(step)).ok());
  }
  memory.bytes_max = 10'000;
  const Outcome<Nothing> large = store->reserve(1'000'000);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.failure().trouble, Trouble::kExhausted);
  EXPECT_TRUE(store->save(sample(6)).ok());
  EXPECT_EQ(found_step(folder.path()), 6);
}

}  // namespace
}  // namespace berth::checkpoint
