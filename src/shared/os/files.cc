// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "os/errors.h"
#include "os/random.h"

namespace berth::os {
namespace {

constexpr unsigned kGroupOrOthers = 077;
constexpr unsigned kGroupOrOthersWrite = 022;
constexpr unsigned kOthersWrite = 02;

Result<std::string> read_all(int fd, const std::string& path, std::size_t bytes_max) {
  std::string content;
  std::array<char, 4'096> piece{};
  for (;;) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read " + path, errno);
    if (count == 0) return content;
    if (content.size() + static_cast<std::size_t>(count) > bytes_max) {
      return Error{Errc::kFull, path + " is longer than " + std::to_string(bytes_max) + " bytes"};
    }
    content.append(piece.data(), static_cast<std::size_t>(count));
  }
}

Status write_all(int fd, const std::string& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot write " + path, errno);
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return Unit{};
}

/// Why a file behind a closed directory cannot be opened, and what mends it; empty: it is not that.
std::string closed_directory_above(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    struct stat found{};
    if (::stat(part.c_str(), &found) != 0) return "";
    if (::access(part.c_str(), X_OK) == 0) continue;
    std::string text = "; the directory " + part + " is closed to this user: ";
    if (found.st_uid == 0) text += "as root, ";
    return text.append("chmod a+rx '").append(part).append("'");
  }
  return "";
}

/// Of a file that `check` finds fit.
template <class Check>
Result<std::string> read_checked(const std::string& path, std::size_t bytes_max, Check check) {
  // Without O_NONBLOCK, a named pipe in the place of the file would stop the caller for ever.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    Error error = system_error("cannot open " + path, errno);
    if (error.code == Errc::kPermission) error.message += closed_directory_above(path);
    return error;
  }
  struct stat found{};
  if (::fstat(fd.get(), &found) != 0) return system_error("cannot stat " + path, errno);
  if (!S_ISREG(found.st_mode)) return Error{Errc::kPermission, path + " is not a file"};
  TRY_STATUS(check(found));
  return read_all(fd.get(), path, bytes_max);
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<UniqueFd> make_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error("cannot make " + path, errno);
  return fd;
}

// Not left to the umask that we were started with.
Status fill(int fd, const std::string& path, const std::string& content, unsigned mode) {
  TRY_STATUS(write_all(fd, path, content));
  if (::fchmod(fd, mode) != 0) return system_error("cannot chmod " + path, errno);
  return Unit{};
}

Status write_and_rename(const std::string& temporary, const std::string& path,
                        const std::string& content, unsigned mode, Sync sync) {
  TRY(fd, make_file(temporary));
  TRY_STATUS(fill(fd.get(), temporary, content, mode));
  if (sync == Sync::kPowerCut && ::fsync(fd.get()) != 0) {
    return system_error("cannot sync " + temporary, errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return system_error("cannot rename " + temporary + " to " + path, errno);
  }
  return sync == Sync::kPowerCut ? sync_file(directory_of(path)) : Status(Unit{});
}

Result<UniqueFd> open_lock_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error("cannot open " + path, errno);
  return fd;
}

// For people only: a user who finds the lock taken reads which process to look at.
Status sign(int fd, const std::string& path) {
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) != 0 || ::lseek(fd, 0, SEEK_SET) != 0) {
    return system_error("cannot write " + path, errno);
  }
  return write_all(fd, path, text);
}

std::string holder_named_in(int fd) {
  std::array<char, 32> text{};
  const ssize_t count = ::pread(fd, text.data(), text.size() - 1, 0);
  const std::string_view digits(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::size_t end = digits.find_first_not_of("0123456789");
  const std::string pid(digits.substr(0, end));
  return pid.empty() ? "another process" : "process " + pid;
}

// Who may write to a directory may rename what lies in it, whosever that is; not so where only
// owners may (sticky, as /tmp is).
Status check_step(const std::string& part, unsigned writable) {
  struct stat found{};
  if (::lstat(part.c_str(), &found) != 0) return system_error("cannot stat " + part, errno);
  if (found.st_uid != 0 && found.st_uid != ::geteuid()) {
    return Error{Errc::kPermission, part + " belongs to user " + std::to_string(found.st_uid) +
                                        ", who could put anything in its place: it must be "
                                        "root's or of user " +
                                        std::to_string(::geteuid())};
  }
  if (S_ISDIR(found.st_mode) && (found.st_mode & writable) != 0 && (found.st_mode & S_ISVTX) == 0) {
    return Error{Errc::kPermission,
                 part + " can be written by others: chmod go-w '" + part + "', or choose another"};
  }
  return Unit{};
}

Status check_steps(const std::string& path) {
  TRY_STATUS(check_step("/", kGroupOrOthersWrite));
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    TRY_STATUS(check_step(path.substr(0, slash), kGroupOrOthersWrite));
  }
  return Unit{};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error("cannot open " + path, errno);
  return read_all(fd.get(), path, bytes_max);
}

Result<std::string> read_trusted_file(const std::string& path, std::size_t bytes_max) {
  return read_checked(path, bytes_max, [&](const struct stat& found) -> Status {
    if (found.st_uid != 0 && found.st_uid != ::geteuid()) {
      return Error{Errc::kPermission, path + " belongs to user " + std::to_string(found.st_uid) +
                                          ": it must be yours or root's"};
    }
    if ((found.st_mode & kGroupOrOthersWrite) != 0) {
      return Error{Errc::kPermission,
                   path + " can be written by group or others: chmod go-w '" + path + "'"};
    }
    return Unit{};
  });
}

Result<std::string> read_private_file(const std::string& path, std::size_t bytes_max) {
  return read_checked(path, bytes_max, [&](const struct stat& found) -> Status {
    if (found.st_uid != ::geteuid()) {
      return Error{Errc::kPermission, path + " belongs to user " + std::to_string(found.st_uid) +
                                          ": it must be that of user " +
                                          std::to_string(::geteuid())};
    }
    if ((found.st_mode & kGroupOrOthers) != 0) {
      return Error{Errc::kPermission,
                   path + " is open to group or others: chmod 600 '" + path + "'"};
    }
    return Unit{};
  });
}

Status write_file_atomically(const std::string& path, const std::string& content, unsigned mode,
                             Sync sync) {
  // A name of its own: two writers at once must not write into one file before renaming it.
  const std::string temporary = path + ".new." + std::to_string(random_number());
  Status written = write_and_rename(temporary, path, content, mode, sync);
  if (!written.ok()) ::unlink(temporary.c_str());
  return written;
}

Status write_new_file(const std::string& path, const std::string& content, unsigned mode) {
  TRY(fd, make_file(path));
  Status filled = fill(fd.get(), path, content, mode);
  if (!filled.ok()) ::unlink(path.c_str());
  return filled;
}

Status make_directories(const std::string& path, unsigned mode) {
  if (path.empty()) return Error{Errc::kInvalid, "cannot make a directory without a name"};
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) == 0) {
      // Not left to the umask that we were started with.
      if (mode != 0700 && ::chmod(part.c_str(), mode) != 0) {
        return system_error("cannot chmod " + part, errno);
      }
    } else {
      // An ancestor on a read-only file system or of another user may well be there already.
      const int error = errno;
      struct stat found{};
      if (::stat(part.c_str(), &found) != 0) {
        return system_error("cannot make the directory " + part, error);
      }
      if (!S_ISDIR(found.st_mode)) return Error{Errc::kConflict, part + " is not a directory"};
    }
    if (slash == std::string::npos) return Unit{};
  }
}

Status make_private_directory(const std::string& path) {
  TRY_STATUS(make_directories(path));
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return system_error("cannot stat " + path, errno);
  if (!S_ISDIR(found.st_mode)) {
    return Error{Errc::kPermission, path + " is a link, not a directory: remove it, or set " +
                                        "BERTH_RUNTIME_DIR to a directory of yours"};
  }
  if (found.st_uid != ::geteuid()) {
    return Error{Errc::kPermission, path + " belongs to user " + std::to_string(found.st_uid) +
                                        ": set BERTH_RUNTIME_DIR to a directory of yours"};
  }
  if ((found.st_mode & kGroupOrOthers) != 0) {
    return Error{Errc::kPermission, path + " is open to group or others: chmod 700 '" + path + "'"};
  }
  return Unit{};
}

Status make_guarded_directory(const std::string& path, OpenTo open_to) {
  const bool closed = open_to == OpenTo::kNobody;
  TRY_STATUS(make_directories(path, closed ? 0700 : 0755));
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return system_error("cannot stat " + path, errno);
  if (!S_ISDIR(found.st_mode)) {
    return Error{Errc::kPermission, path + " is a link, not a directory: name where it leads"};
  }
  if (found.st_uid != ::geteuid()) {
    return Error{Errc::kPermission, path + " belongs to user " + std::to_string(found.st_uid) +
                                        ": it must be that of user " + std::to_string(::geteuid())};
  }
  const unsigned wrong = closed ? kGroupOrOthers : kGroupOrOthersWrite;
  if ((found.st_mode & wrong) != 0) {
    return Error{Errc::kPermission, path + (closed ? " is open to" : " can be written by") +
                                        " group or others: chmod " + (closed ? "700 '" : "755 '") +
                                        path + "'"};
  }
  // The way as it was named, and as it is without links: each link could be turned.
  std::error_code error;
  const std::string straight = std::filesystem::canonical(path, error).string();
  if (error) return system_error("cannot look at " + path, error.value());
  TRY_STATUS(check_steps(path));
  return straight == path ? Status(Unit{}) : check_steps(straight);
}

Status check_own_directories(const std::string& top, const std::string& path) {
  for (std::string part = path; part.size() >= top.size(); part = directory_of(part)) {
    TRY_STATUS(check_step(part, kOthersWrite));
    TRY_STATUS(refuse_link(part));
    if (part == top) break;
  }
  return Unit{};
}

Status refuse_link(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISLNK(found.st_mode)) return Unit{};
  return Error{Errc::kPermission, path + " is a link, through which nothing is written: remove it"};
}

Status give_file(const std::string& path, UserId user) {
  if (::lchown(path.c_str(), user.value, static_cast<gid_t>(-1)) == 0) return Unit{};
  return system_error("cannot give " + path + " to user " + std::to_string(user.value), errno);
}

Result<UniqueFd> hold_directory(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return system_error("cannot open the directory " + path, errno);
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) {
    return system_error("cannot lock the directory " + path, errno);
  }
  return fd;
}

Result<FileLock> FileLock::take(const std::string& path) {
  TRY(fd, open_lock_file(path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_error("cannot lock " + path, errno);
    return Error{Errc::kConflict, path + " is locked by " + holder_named_in(fd.get())};
  }
  TRY_STATUS(sign(fd.get(), path));
  return FileLock(std::move(fd));
}

Result<FileLock> FileLock::wait(const std::string& path) {
  TRY(fd, open_lock_file(path));
  if (::flock(fd.get(), LOCK_EX) != 0) {
    if (errno == EINTR) return Error{Errc::kTimedOut, "interrupted while waiting for " + path};
    return system_error("cannot lock " + path, errno);
  }
  TRY_STATUS(sign(fd.get(), path));
  return FileLock(std::move(fd));
}

Status reserve_space(const std::string& path, Bytes size) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error("cannot open " + path, errno);
  int error = 0;
  do {
    error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(size.value));
  } while (error == EINTR);
  if (error != 0) return system_error("cannot set space aside in " + path, error);
  return Unit{};
}

Status sync_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return system_error("cannot sync " + path, errno);
  return Unit{};
}

Result<Bytes> free_space(const std::string& path) {
  struct statvfs found{};
  if (::statvfs(path.c_str(), &found) != 0) return system_error("cannot statfs " + path, errno);
  return Bytes{found.f_bavail * found.f_frsize};
}

Result<bool> is_network_file_system(const std::string& path) {
  // Of those not in linux/magic.h, the numbers are the ones of statfs(2).
  constexpr std::array<unsigned, 11> kNetworkMagic = {
      NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  SMB2_SUPER_MAGIC, CIFS_SUPER_MAGIC,
      V9FS_MAGIC,       CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC,  AFS_FS_MAGIC,
      CODA_SUPER_MAGIC, FUSE_SUPER_MAGIC, 0x0bd00bd0U /* Lustre */};
  struct statfs found{};
  if (::statfs(path.c_str(), &found) != 0) return system_error("cannot statfs " + path, errno);
  return std::ranges::find(kNetworkMagic, static_cast<unsigned>(found.f_type)) !=
         kNetworkMagic.end();
}

bool exists(const std::string& path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0;
}

std::vector<std::string> files_with_extension(const std::string& folder,
                                              const std::set<std::string>& extensions,
                                              std::size_t count_max) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    if (paths.size() == count_max) break;
    if (extensions.contains(at->path().extension().string())) paths.push_back(at->path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

Status move_file(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return Unit{};
  }
  // Some network file systems know no flag; there a check must do.
  if (errno == EINVAL && !exists(to) && ::rename(from.c_str(), to.c_str()) == 0) return Unit{};
  return system_error("cannot rename " + from + " to " + to, errno);
}

}  // namespace berth::os
