// SPDX-License-Identifier: Apache-2.0
// A directory of checkpoints as one process writes it, and as anybody reads it. Note [Order of a
// save] says what makes it safe. One thread writes; reading is for any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "berth/checkpoint.h"
#include "checkpoint/checksums.h"
#include "checkpoint/disk.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/names.h"
#include "checkpoint/tensor_file.h"
#include "os/files.h"

namespace berth::checkpoint {

class CheckpointDirectory {
 public:
  /// Makes the directory, locks it, and takes away what killed saves have left. kConflict, naming
  /// the process, where another has it. The disk must outlive it.
  static Result<CheckpointDirectory> open(Disk& disk, const std::string& directory, Keep keep);

  /// kFull before anything is written, kCorrupt where what was read back is not what was written.
  /// Nothing older is touched unless this succeeds.
  Result<Saved> save(FilePlan& plan, const CheckpointInfo& about);

 private:
  CheckpointDirectory(Disk& disk, std::string directory, Keep keep, os::FileLock lock)
      : disk_(&disk), directory_(std::move(directory)), keep_(keep), lock_(std::move(lock)) {}

  std::string path_of(std::string_view name) const;
  Status remove_temporaries();
  Status write_checked(const std::string& path, const std::string& head, FilePlan& plan);
  Status tell_latest(const std::string& name);
  void make_room();

  Disk* disk_;
  std::string directory_;
  Keep keep_;
  os::FileLock lock_;
};

struct Checkpoint {
  std::string path;
  CheckpointInfo about;
  TensorsInMemory content;
};
/// A whole one: all sums are right.
Result<Checkpoint> read_checkpoint(const std::string& path);

struct Newest {
  Checkpoint checkpoint;
  std::vector<PassedOver> passed_over;
};
Result<Newest> read_newest(const std::string& directory, std::optional<Slot> slot);

/// Of all checkpoints that lie there, whole or not; no order.
Result<std::vector<FileName>> names_in(const std::string& directory);

}  // namespace berth::checkpoint
