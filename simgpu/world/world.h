// SPDX-License-Identifier: Apache-2.0
// A simulated world: its file, mapped, and what may be done with it. Takes no lock and waits for
// nobody, except while the file is made. Any thread may call it, but what is done in one slot must
// be serialised by the process that owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "os/unique_fd.h"
#include "simgpu/world/place.h"
#include "simgpu/world/slot_lock.h"
#include "simgpu/world/world_file.h"

namespace berth::simgpu {

/// What the driver counts on a device.
struct DeviceFigures {
  Bytes capacity;
  Bytes reserved;
  Bytes used;  // By processes and unmanaged processes; the driver's own is apart.
  Bytes used_max;
  Bytes free;
};

struct ProcessFigures {
  std::int32_t pid = 0;
  Bytes used;
  bool graphics = false;
  bool ended = false;  // Dead, and its memory not torn down yet.
};

/// A process on which the driver's checkpoint calls can be made.
struct CheckpointFigures {
  std::int32_t pid = 0;
  std::uint32_t state = 0;
  Bytes saved;  // What it has in host memory instead of on devices.
};

class World {
 public:
  /// Opens the world that the environment names, and makes it if it is not there.
  static Result<World> open_from_environment();
  static Result<World> open(WorldPlace place);

  const WorldPlace& place() const { return place_; }
  std::string path() const;
  WorldFile& file() const { return *file_; }
  std::uint32_t device_count() const { return file_->device_count; }
  bool is_lost(std::uint32_t device) const;

  /// A slot for the calling process, until this dies; nothing if all are taken by the living, or
  /// the file cannot be locked.
  std::optional<std::uint32_t> claim_slot();

  /// Exactly: false only if the blocks do not fit beside what the living use. `device` may be
  /// kHostMemory, here and below.
  [[nodiscard]] bool charge(std::uint32_t slot, std::uint32_t device, std::uint64_t blocks);
  void release(std::uint32_t slot, std::uint32_t device, std::uint64_t blocks);
  Bytes used_by(std::uint32_t slot, std::uint32_t device);
  void set_context(std::uint32_t slot, std::uint32_t device, bool exists);

  /// Tears down what dead processes left and the teardown time has passed for.
  void reap();

  /// Memory that belongs to no process of this world. Callers take turns; false if it does not fit.
  [[nodiscard]] bool set_unmanaged(std::uint32_t device, std::uint64_t blocks);
  Bytes unmanaged_used(std::uint32_t device) const;

  /// The process that took the slot is still there.
  bool lives(std::uint32_t slot) const;
  /// In our PID namespace, if it is seen from there; else in the one that the machine was made in,
  /// if a process has looked from there; else in its own.
  std::int32_t pid_of(std::uint32_t slot) const;
  /// In a child of fork, to which nothing of this belongs.
  void leave_to_parent() {
    if (lock_) lock_->leave_to_parent();
  }

  /// The slot of a living process on which checkpoint calls can be made.
  std::optional<std::uint32_t> slot_of(std::int32_t pid) const;
  std::vector<CheckpointFigures> checkpointables();

  DeviceFigures figures(std::uint32_t device);
  std::vector<ProcessFigures> processes(std::uint32_t device);

 private:
  struct Unmap {
    void operator()(WorldFile* file) const;
  };
  using Mapping = std::unique_ptr<WorldFile, Unmap>;
  struct Opened;

  World(WorldPlace place, Opened opened);

  static Result<Opened> map(const os::UniqueFd& file, const std::string& path);
  static Result<Opened> open_existing(const WorldPlace& place, const std::string& path);
  static Result<Opened> make(const WorldPlace& place, const std::string& path);

  AccountView account(std::uint32_t device) const;
  bool lives(const SlotLocks& locks, std::uint32_t slot) const;
  std::int32_t known_pid_of(std::uint32_t slot) const;
  std::uint64_t limit_blocks(std::uint32_t device) const;
  std::optional<std::int64_t> torn_down_since(SlotState& slot, std::uint64_t generation,
                                              std::int64_t now_us);
  void tear_down(std::uint32_t slot, Identity owner, std::int64_t since_us);
  void clear_all(std::uint32_t slot, Identity owner, std::int64_t time_ns);
  void log(std::uint32_t device, std::int32_t pid, std::int64_t change, std::uint64_t used,
           std::int64_t time_ns);

  WorldPlace place_;
  Mapping file_;
  FileId id_;
  std::optional<SlotLock> lock_;
};

}  // namespace berth::simgpu
