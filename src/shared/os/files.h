// SPDX-License-Identifier: Apache-2.0
// The door to files: reading whole, writing so that a reader sees all or nothing, private
// directories, locks held for life. Nothing here is for bulk data. Any thread; each call may block
// on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "os/unique_fd.h"

namespace berth::os {

/// Whole, or kFull where it is longer than `bytes_max`. Works on files of /proc too.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max);

/// As read_file, of a file that nobody but its owner can have written: kPermission unless it is
/// owned by us or root and not writable by group or others.
Result<std::string> read_trusted_file(const std::string& path, std::size_t bytes_max);

/// As read_file, of a file that nobody else can read: kPermission unless it is ours and closed to
/// group and others.
Result<std::string> read_private_file(const std::string& path, std::size_t bytes_max);

enum class Sync : std::uint8_t { kNone, kPowerCut };  // What the content must survive.

/// Writes beside the path and renames. `mode` as chmod takes it.
Status write_file_atomically(const std::string& path, const std::string& content, unsigned mode,
                             Sync sync);

/// Makes a file that must not be there yet. For where nobody looks for it before this returns: a
/// reader could see a part. One that cannot be written whole is taken away again.
Status write_new_file(const std::string& path, const std::string& content, unsigned mode);

/// Makes the directory and its missing parents, with `mode` as chmod takes it. One that is there is
/// left as it is.
Status make_directories(const std::string& path, unsigned mode = 0700);

/// Makes the directory 0700 (and missing parents), and checks what is there: kPermission unless it
/// is a directory itself (no link), ours, and closed to group and others.
Status make_private_directory(const std::string& path);

/// What may be done, by whom besides us, in a directory of ours.
enum class OpenTo : std::uint8_t { kNobody, kReaders };
/// Makes the directory as make_directories does, and checks what is there: kPermission unless it is
/// a directory itself, ours, and writable for nobody else; and unless nobody but us and root could
/// have put another in its place, at any step of the path.
Status make_guarded_directory(const std::string& path, OpenTo open_to);
/// The last part of that alone, from `path` on up to `top`: kPermission if one of these is a link
/// or another user's, or if everybody may write to it. Both are there.
Status check_own_directories(const std::string& top, const std::string& path);
/// kPermission if there is a link in the place of a file of ours: who writes through it writes to
/// another file.
Status refuse_link(const std::string& path);
/// Gives a file of ours to another user, as root may.
Status give_file(const std::string& path, UserId user);

/// Keeps the directory from programs that clean up old files, as systemd-tmpfiles does, for as long
/// as the descriptor is open.
Result<UniqueFd> hold_directory(const std::string& path);

/// A lock that one process has, kept until this dies; the kernel gives it back when the process
/// ends in whatever way. The file stays and names the last holder.
class FileLock {
 public:
  /// kConflict, naming the holder's pid, where another has it.
  static Result<FileLock> take(const std::string& path);
  /// Waits for it without bound; a signal with a handler ends the wait with kTimedOut.
  static Result<FileLock> wait(const std::string& path);

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

/// Gives the file at least this size, in blocks that are its own: writing to them cannot fail for
/// lack of space. Makes the file (0600) if there is none.
Status reserve_space(const std::string& path, Bytes size);
/// The content, or the entries of a directory, have been written to the disk itself when this
/// returns. Blocks long.
Status sync_file(const std::string& path);
/// What an ordinary user could still write there.
Result<Bytes> free_space(const std::string& path);
/// NFS, SMB, 9P, Ceph, AFS, FUSE and their like: locks and shared memory are not to be trusted.
Result<bool> is_network_file_system(const std::string& path);
bool exists(const std::string& path);
/// Paths of what lies in `folder` and has one of these extensions (".toml"), in their order; at
/// most `count_max` of them, none where the folder cannot be read.
std::vector<std::string> files_with_extension(const std::string& folder,
                                              const std::set<std::string>& extensions,
                                              std::size_t count_max = SIZE_MAX);
/// Renames; never over something that is there.
Status move_file(const std::string& from, const std::string& to);

}  // namespace berth::os
