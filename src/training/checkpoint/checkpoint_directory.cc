// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/quantity.h"
#include "os/clock.h"

namespace berth::checkpoint {
namespace {

// LATEST, the directory's own growth, and what a file system needs to know about a file.
constexpr Bytes kSpareSpace = kib(64);

Result<std::vector<std::string>> all_names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(directory, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (!error) return names;
  const bool absent = error == std::errc::no_such_file_or_directory;
  return Error{absent ? Errc::kNotFound : Errc::kIo,
               "cannot read the directory " + directory + ": " + error.message()};
}

std::uint64_t bytes_of_file(const std::string& head, const FilePlan& plan) {
  return head.size() + plan.header.buffer_bytes();
}

std::string listed(const std::vector<PassedOver>& passed_over) {
  std::string text;
  for (const PassedOver& each : passed_over) text += "\n  " + each.why;
  return text;
}

}  // namespace

Result<CheckpointDirectory> CheckpointDirectory::open(Disk& disk, const std::string& directory,
                                                      Keep keep) {
  if (directory.empty()) return Error{Errc::kInvalid, "a checkpoint directory needs a name"};
  if (!os::exists(directory)) {
    TRY_STATUS(os::make_directories(directory, 0755));
    TRY_STATUS(disk.sync_directory(directory_of(directory)));
  }
  Result<os::FileLock> lock = os::FileLock::take(directory + "/" + std::string(kLock));
  if (!lock.ok()) return lock.error();
  CheckpointDirectory checkpoints(disk, directory, keep, *std::move(lock));
  TRY_STATUS(checkpoints.remove_temporaries());
  return checkpoints;
}

std::string CheckpointDirectory::path_of(std::string_view name) const {
  return directory_ + "/" + std::string(name);
}

Status CheckpointDirectory::remove_temporaries() {
  TRY(names, all_names_in(directory_));
  for (const std::string& name : names) {
    if (is_temporary(name)) TRY_STATUS(disk_->remove(path_of(name)));
  }
  return Unit{};
}

// Note [Order of a save]: the file is written under another name and synced, read back and held
// against its sums, renamed, and the directory synced; from then on it is there whatever happens.
// LATEST follows in the same way. Only then others make room. A crash between any two of these
// leaves all that was there, and at most a file under another name, which the next one to open the
// directory takes away.
Result<Saved> CheckpointDirectory::save(FilePlan& plan, const CheckpointInfo& about) {
  const Instant start = os::PosixClock().now();
  TRY(names, names_in(directory_));
  FileName name{.number = 1, .step = about.step, .slot = about.slot};
  for (const FileName& each : names) name.number = std::max(name.number, each.number + 1);
  TRY(head, head_with_checksums(plan, about));
  const Bytes needed{bytes_of_file(head, plan)};
  TRY(free, disk_->free_space(directory_));
  if (free < needed + kSpareSpace) {
    return Error{Errc::kFull, "a checkpoint needs " + to_text(needed) + ", and " + directory_ +
                                  " has " + to_text(free) +
                                  " left: nothing was written, and nothing was removed"};
  }
  const std::string path = path_of(to_text(name));
  TRY_STATUS(write_checked(path, head, plan));
  TRY_STATUS(tell_latest(to_text(name)));
  make_room();
  const Duration took = os::PosixClock().now() - start;
  return Saved{.path = path,
               .step = about.step,
               .slot = about.slot,
               .bytes = needed.value,
               .seconds = static_cast<double>(took.ns) / 1e9};
}

Status CheckpointDirectory::write_checked(const std::string& path, const std::string& head,
                                          FilePlan& plan) {
  const std::string temporary = temporary_beside(path);
  TRY_STATUS(write_new(*disk_, temporary, head, plan));
  const Result<Checkpoint> back = read_checkpoint(temporary);
  if (!back.ok()) {
    (void)disk_->remove(temporary);
    return Error{Errc::kCorrupt, "what was written cannot be read back: " + back.error().message};
  }
  return put_in_place(*disk_, temporary, path);
}

Status CheckpointDirectory::tell_latest(const std::string& name) {
  const std::string path = path_of(kLatest);
  const std::string temporary = temporary_beside(path);
  TRY_STATUS(write_new(*disk_, temporary, name + "\n", {}));
  return put_in_place(*disk_, temporary, path);
}

// One that cannot be removed is tried again after the next save: it harms nobody but the disk.
void CheckpointDirectory::make_room() {
  const Result<std::vector<FileName>> names = names_in(directory_);
  if (!names.ok()) return;
  for (const FileName& name : no_longer_kept(*names, keep_)) {
    (void)disk_->remove(path_of(to_text(name)));
  }
}

Result<std::vector<FileName>> names_in(const std::string& directory) {
  TRY(all, all_names_in(directory));
  std::vector<FileName> names;
  for (const std::string& text : all) {
    const std::optional<FileName> name = parse_file_name(text);
    if (name) names.push_back(*name);
  }
  return names;
}

Result<Checkpoint> read_checkpoint(const std::string& path) {
  TRY(content, map_tensors(path));
  Result<CheckpointInfo> about = check_checksums(content.json, content.metadata, content.tensors);
  if (!about.ok()) return Error{about.error().code, path + ": " + about.error().message};
  return Checkpoint{.path = path, .about = *std::move(about), .content = std::move(content)};
}

Result<Newest> read_newest(const std::string& directory, std::optional<Slot> slot) {
  TRY(names, names_in(directory));
  if (slot) std::erase_if(names, [&](const FileName& name) { return name.slot != *slot; });
  std::ranges::sort(names, std::ranges::greater(), &FileName::number);
  std::vector<PassedOver> passed_over;
  for (const FileName& name : names) {
    const std::string path = directory + "/" + to_text(name);
    Result<Checkpoint> read = read_checkpoint(path);
    if (read.ok()) {
      return Newest{.checkpoint = *std::move(read), .passed_over = std::move(passed_over)};
    }
    // The one who writes has removed it since, which it does when a newer one is whole.
    if (read.error().code == Errc::kNotFound) continue;
    passed_over.push_back({.path = path, .why = read.error().message});
  }
  if (passed_over.empty()) return Error{Errc::kNotFound, directory + " holds no checkpoint"};
  return Error{Errc::kCorrupt,
               "no checkpoint in " + directory + " is whole:" + listed(passed_over)};
}

}  // namespace berth::checkpoint
