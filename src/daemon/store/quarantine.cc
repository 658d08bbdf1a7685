// SPDX-License-Identifier: Apache-2.0
#include "store/quarantine.h"

#include <unistd.h>

#include "base/quantity.h"
#include "os/files.h"

namespace berth::store {
namespace {

constexpr int kSameSecondMax = 100;  // Files moved aside in one second.

// "20260207T131500Z", for names of files.
std::string compact(UnixMs time) {
  std::string text;
  for (const char c : to_text(time).substr(0, 19)) {
    if (c != '-' && c != ':') text += c;
  }
  return text + "Z";
}

}  // namespace

// The write-ahead log goes with its database, under the name by which SQLite finds it there.
Result<std::string> quarantine(const std::string& path, const std::string& why, UnixMs wall) {
  const std::string begin = path + "." + compact(wall);
  const std::string end = "." + why;
  std::string to = begin + end;
  for (int i = 2; os::exists(to) && i < kSameSecondMax; ++i) {
    to = begin;
    to.append("-").append(std::to_string(i)).append(end);
  }
  TRY_STATUS(os::move_file(path, to));
  if (os::exists(path + "-wal")) TRY_STATUS(os::move_file(path + "-wal", to + "-wal"));
  (void)::unlink((path + "-shm").c_str());  // An index of the former, made anew when needed.
  return path + " was moved to " + to.substr(to.rfind('/') + 1);
}

}  // namespace berth::store
