// SPDX-License-Identifier: Apache-2.0
// A directory of checkpoints: tensors and a JSON text each, in safetensors files. What was saved
// survives kill -9 and power cuts; an interrupted save costs itself and nothing older. One process
// writes to a directory at a time, any number read. C++17; needs no other library. Throws nothing,
// and functions of yours that throw fail the call that they were called by.
// docs/checkpoint-files.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/safetensors.h"

namespace berth::checkpoint {

/// What rotation does with it. Regular ones make room for newer ones; the best and the emergency
/// one are replaced only by a newer one of their own kind.
enum class Slot : std::uint8_t { kRegular, kBest, kEmergency };

/// Where copies for saving in the background live, and how bytes come there: null for the host's
/// plain memory. With pinned memory and a copy from a device, tensors may be device pointers.
/// They may be called from any thread that saves.
struct Staging {
  void* (*allocate)(std::size_t bytes, void* user) = nullptr;  // Null: none is left.
  void (*release)(void* memory, std::size_t bytes, void* user) = nullptr;
  bool (*copy)(void* to, const void* from, std::size_t bytes, void* user) = nullptr;
  void* user = nullptr;
};

struct Options {
  std::string directory;         // Made if it is not there.
  unsigned keep_last = 3;        // Regular ones; at least 1.
  std::uint64_t keep_every = 0;  // Regular ones of a multiple of this step stay for ever; 0: none.
  Staging staging;
};

struct Snapshot {
  std::uint64_t step = 0;
  Slot slot = Slot::kRegular;
  std::string state = "{}";  // JSON: schedule, data cursor, states of random generators, …
  std::vector<Tensor> tensors;
};

struct Saved {
  std::string path;
  std::uint64_t step = 0;
  Slot slot = Slot::kRegular;
  std::uint64_t bytes = 0;  // Of the file.
  double seconds = 0;       // Writing, syncing and reading back.
};

/// A checkpoint that was not taken, and why: cut short, of wrong sums, unreadable.
struct PassedOver {
  std::string path;
  std::string why;
};

/// One checkpoint, mapped into memory; its tensors are gone with it. Any thread.
class Loaded {
 public:
  Loaded(Loaded&&) noexcept;
  Loaded& operator=(Loaded&&) noexcept;
  ~Loaded();

  std::uint64_t step() const noexcept;
  Slot slot() const noexcept;
  const std::string& path() const noexcept;
  const std::string& state() const noexcept;
  const std::vector<Tensor>& tensors() const noexcept;
  /// Null where there is none of that name.
  const Tensor* find(const std::string& name) const noexcept;
  /// Newer ones than this. Tell a person.
  const std::vector<PassedOver>& passed_over() const noexcept;

  class Impl;
  explicit Loaded(std::unique_ptr<Impl> impl) noexcept;

 private:
  std::unique_ptr<Impl> impl_;
};

/// The newest that is whole, of this slot or of any; all its sums were checked. kNotFound where the
/// directory holds none at all, kCorrupt, naming each, where none is whole. Needs no Store: others
/// may read while one writes.
Outcome<Loaded> load_newest(const std::string& directory, std::optional<Slot> slot = {});

/// Any thread may call any method; saves are done one after another, in the order of the calls.
class Store {
 public:
  /// kConflict, naming the process, where another has the directory open.
  static Outcome<Store> open(const Options& options);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  /// Finishes what is being saved.
  ~Store();

  /// Returns when it is on the disk, has been read back, and older ones have made room for it.
  /// kFull, with what is needed and what is free, before anything is written.
  Outcome<Saved> save(const Snapshot& snapshot);

  struct Stall {
    double waiting_seconds = 0;  // Until one of the two copies was free: the disk is the slower.
    double copying_seconds = 0;
  };
  /// Returns when all tensors are copied; then they may be changed. What came of it is told by
  /// `reports`.
  Outcome<Stall> save_in_background(const Snapshot& snapshot);
  /// Makes both copies large enough now rather than in the first step that saves.
  Outcome<Nothing> reserve(std::uint64_t bytes);

  /// Returns when nothing is being saved any more.
  Outcome<Nothing> wait();
  /// What has come of saves in the background since the last call; at most the last 64.
  std::vector<Outcome<Saved>> reports();

 private:
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::checkpoint
