// SPDX-License-Identifier: Apache-2.0
// Kind of a program file, as far as it decides whether a library can be preloaded into it:
// read from the file's head, not tried. Any thread; blocks on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::os {

struct ProgramFile {
  enum class Kind : std::uint8_t {
    kDynamic,  // For this machine, with glibc's dynamic linker.
    kStatic,
    kOtherLibrary,  // With another dynamic linker: musl's, say.
    kOtherMachine,  // Or of another word size.
    kUnknown,
  };
  std::string path;  // Of a script, its interpreter's.
  Kind kind = Kind::kUnknown;
  bool gains_rights = false;      // Set-user-id and its like: preloading is ignored there.
  bool makes_namespaces = false;  // It calls dlmopen itself: nothing preloaded is there.
  bool checks_threads = false;    // It has ThreadSanitizer's run-time, in it or as a library.
};

/// Of the file that would be started by this name. A script's interpreter is looked at in its
/// place. kNotFound, kIo where it cannot be read.
Result<ProgramFile> look_at_program(const std::string& name);

/// By which it is seen that a file was replaced or written to.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
/// Of the file that would be started by this name; of a script, its own.
Result<FileStamp> stamp_of_program(const std::string& name);

/// Where exec would find it: in PATH, unless there is a slash in it. kNotFound.
Result<std::string> find_program(const std::string& name);

}  // namespace berth::os
