// SPDX-License-Identifier: Apache-2.0
#include "guard/exports.h"

namespace berth::guard {
namespace {

// Of a process in the upper half, so that no two have the same.
constexpr std::uint64_t kRangeFirst = std::uint64_t{1} << 32U;

}  // namespace

void Exports::exported(Physical::Object object, int fd, std::uint64_t pid) {
  Entry known = exports_.find(object);
  if (known.key == 0) {
    const int second = out_of_the_way(open_again(fd));
    if (second < 0) return;
    known = {.key = object,
             .bytes = 0,
             .owner = pid << 32U | last_.fetch_add(1, std::memory_order_relaxed),
             .count = static_cast<std::uint32_t>(second) + 1,
             .device = 0,
             .kind = kExported};
    (void)keep(known, second);
  }
  if (known.owner != 0) (void)lock_range(fd, known.owner);
}

void Exports::imported(Physical::Object object, int fd) {
  const int copy = copy_descriptor(fd, kOutOfTheWay);
  if (copy < 0) return;
  (void)keep({.key = object,
              .bytes = 0,
              .owner = range_locked_by(fd, kRangeFirst),
              .count = static_cast<std::uint32_t>(copy) + 1,
              .device = 0,
              .kind = kImported},
             copy);
}

bool Exports::keep(const Entry& entry, int fd) {
  const FileId file = file_behind(fd);
  const bool kept = files_.insert({.key = static_cast<std::uint64_t>(fd) + 1,
                                   .bytes = file.inode,
                                   .owner = file.device,
                                   .count = 1,
                                   .device = 0,
                                   .kind = 0}) &&
                    exports_.insert(entry);
  if (!kept) close_descriptor(fd);
  return kept;
}

bool Exports::is_ours(int fd) {
  const Entry file = files_.find(static_cast<std::uint64_t>(fd) + 1);
  return file.key != 0 && file_behind(fd) == FileId{.device = file.owner, .inode = file.bytes};
}

void Exports::close_ours(int fd) {
  if (is_ours(fd)) close_descriptor(fd);
  (void)files_.take(static_cast<std::uint64_t>(fd) + 1);
}

bool Exports::stays(const Physical::Freed& freed) {
  Entry known = exports_.take(freed.object);
  if (known.key == 0) return false;
  const bool stays = known.kind == kExported && is_held(known);
  if (!stays) {
    close_ours(static_cast<int>(known.count) - 1);
    return false;
  }
  known.kind = kStaying;
  known.bytes = freed.bytes;
  known.device = static_cast<std::uint16_t>(freed.device);
  staying_.fetch_add(1, std::memory_order_relaxed);
  return exports_.insert(known);
}

}  // namespace berth::guard
