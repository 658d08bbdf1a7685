// SPDX-License-Identifier: Apache-2.0
// Calls of the kernel that the guard needs, without the C library: it runs in programs that have
// another one, or an older one, and must not disturb errno. Any thread may call these.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "guard/layout.h"

namespace berth::guard {

/// A mutex that waits in the kernel. It is not held over calls of the driver.
class Mutex {
 public:
  void lock();
  void unlock();

 private:
  std::atomic<std::uint32_t> word_ = 0;  // 0 free, 1 held, 2 held and waited for.
};

class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

enum class Access : std::uint8_t { kRead, kReadWrite };

/// No link; -1 where it cannot be opened.
int open_file(const char* path, Access access);
/// The whole file, shared; `bytes` is its size. Null where it cannot be had, or is no regular one.
void* map_descriptor(int fd, Access access, std::size_t& bytes);
void* map_file(const char* path, Access access, std::size_t& bytes);
/// Memory of zeros that costs nothing until it is used. Null where there is none.
void* map_memory(std::size_t bytes);
void unmap(void* at, std::size_t bytes);
/// False: the file behind it ends before these eight bytes by now, and to touch them would end the
/// program.
bool is_backed(const void* word);
/// A clock that needs no call to be read and has no unit: 2 to 5 of its ticks make a nanosecond. It
/// may stand elsewhere on another processor. Where a program has forbidden it to itself
/// (PR_SET_TSC), no other clock can be read without a call of the kernel either.
inline std::uint64_t ticks() {
  return __builtin_ia32_rdtsc();
}
/// A child of fork finds zeros there. False where the kernel cannot do that.
bool wipe_on_fork(void* at, std::size_t bytes);

/// Another description of the file behind a descriptor; -1 if there is none to be had.
int open_again(int fd);
/// Another descriptor of the same description, of that number or above; -1 if there are too many.
int copy_descriptor(int fd, int least = 3);
/// Most programs have their descriptors below, and some close one twice. From 64 on the kernel
/// makes a larger table, for which it waits some milliseconds in a program with threads.
constexpr int kOutOfTheWay = 48;
/// The same description, by a descriptor of such a number if there is one; that one stays -1.
int out_of_the_way(int fd);
void close_descriptor(int fd);

/// Which file it is, in any process that has it open.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0: none.
  friend bool operator==(const FileId&, const FileId&) = default;
};
FileId file_behind(int fd);
/// Holds a place in the file, together with others, until the last descriptor of the description is
/// closed in whatever process. False where one holds it alone, or it cannot be held.
bool lock_range(int fd, std::uint64_t place);
/// Whether it is held by way of another description.
bool is_range_locked(int fd, std::uint64_t place);
/// The first place from `least` on that is held by way of this description; 0: none.
std::uint64_t range_locked_by(int fd, std::uint64_t least);
/// Holds it alone. False where others hold it, or it cannot be held.
bool lock_range_alone(int fd, std::uint64_t place);
void unlock_range(int fd, std::uint64_t place);
/// How it is held by way of other descriptions, as the kernel has it.
enum class Holding : std::uint8_t { kUnknown, kNobody, kTogether, kAlone };
Holding range_holding(int fd, std::uint64_t place);

/// The calling process; 0 where /proc is not there.
Identity own_identity();
std::uint64_t own_pid_namespace();
std::uint64_t own_time_namespace();  // 0: the kernel has none.
/// Whether /proc numbers processes as our PID namespace does; else it is that of one around it.
bool sees_own_pids();

/// What /proc says of a process, in the namespaces that its identity is of.
enum class Life : std::uint8_t {
  kLives,   // Or cannot be read just now.
  kEnding,  // It runs no more of its program, and may have everything still.
  kGone,    // Nothing of it runs any more, or another process has its pid.
  kUnseen,  // It does not show such a pid: it is gone, or hidden (hidepid).
};
Life life_of(Identity identity);
/// Whether there is a process of that pid, hidden or not.
bool has_pid(Identity identity);

void yield();
/// Waits until the word is no longer `seen` or the time is over, as futex(2) does.
void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint64_t nanoseconds);
void wake_all(std::atomic<std::uint32_t>& word);
/// The same for a word that lies in memory which processes share.
void wait_on_shared(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                    std::uint64_t nanoseconds);
void wake_all_shared(std::atomic<std::uint32_t>& word);
/// CLOCK_MONOTONIC and CLOCK_BOOTTIME, in nanoseconds.
std::uint64_t monotonic_ns();
std::uint64_t boottime_ns();

/// Part of a line; made into one by say().
struct Piece {
  const char* text;
  std::uint64_t number;  // Where text is null.
};
/// One line on stderr, in one write: "berth-guard: …".
void say(const Piece* pieces, std::size_t count);

}  // namespace berth::guard
