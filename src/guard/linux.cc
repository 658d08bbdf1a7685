// SPDX-License-Identifier: Apache-2.0
#include "guard/linux.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <bit>
#include <cstddef>

#include "guard/lock_line.h"
#include "guard/stat_line.h"

namespace berth::guard {
namespace {

constexpr long kNoSuchFile = -2;     // -ENOENT
constexpr long kNoSuchProcess = -3;  // -ESRCH
constexpr long kBadAddress = -14;    // -EFAULT
constexpr int kSpins = 64;
constexpr long kAll = 0x7fffffff;  // All that wait.

// As the kernel has it: the result, or minus the error's number.
long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <class T>
long as_word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

bool is_error(long result) {
  return result < 0 && result > -4096;
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint64_t nanoseconds,
                int flag) {
  timespec time{.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000),
                .tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000)};
  system_call(SYS_futex, as_word(&word), FUTEX_WAIT | flag, seen, as_word(&time));
}

// Reads a small file of /proc; its length, or the error.
long read_small(const char* path, char* into, std::size_t size) {
  const long fd = system_call(SYS_openat, AT_FDCWD, as_word(path), O_RDONLY | O_CLOEXEC);
  if (is_error(fd)) return fd;
  const long got = system_call(SYS_read, fd, as_word(into), static_cast<long>(size) - 1);
  system_call(SYS_close, fd);
  if (!is_error(got)) into[got] = '\0';
  return got;
}

// The digits of a number, and where they end.
char* write_number(char* at, std::uint64_t number) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *at++ = digits[--count];
  return at;
}

constexpr std::size_t kProcPath = 64;  // "/proc/PID/task/TID/stat" is shorter.

char* write_text(char* at, const char* text) {
  while (*text != '\0') *at++ = *text++;
  *at = '\0';
  return at;
}

// Of the process or thread whose directory `path` is, up to `end`. An error: it cannot be read.
long read_stat(const char* path, char* end, ProcessFacts& facts) {
  write_text(end, "/stat");
  char text[512];
  const long got = read_small(path, text, sizeof text);
  if (is_error(got)) return got;
  return parse_stat(text, facts) ? got : kBadAddress;
}

// Whether a thread of it runs on, or may. More than fit in one answer are not looked at.
bool goes_on_without_its_first_thread(char* path, char* end) {
  struct Entry {  // linux_dirent64; the name is as long as it is.
    std::uint64_t inode;
    std::int64_t next;
    std::uint16_t size;
    std::uint8_t type;
    char name[1];
  };
  end = write_text(end, "/task");
  const long fd =
      system_call(SYS_openat, AT_FDCWD, as_word(path), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (is_error(fd)) return fd != kNoSuchFile;
  alignas(Entry) char entries[4096] = {};
  const long got = system_call(SYS_getdents64, fd, as_word(entries), sizeof entries);
  system_call(SYS_close, fd);
  *end++ = '/';
  for (long at = 0; at < got;) {
    const auto* entry = reinterpret_cast<const Entry*>(entries + at);
    const char* name = entries + at + offsetof(Entry, name);
    at += entry->size;
    const std::uint64_t id = read_number(name);
    if (*name != '\0') continue;
    ProcessFacts thread;
    const long result = read_stat(path, write_number(end, id), thread);
    if (result == kNoSuchFile || result == kNoSuchProcess) continue;
    if (is_error(result) || !is_ending(thread)) return true;
  }
  return is_error(got);
}

struct flock range_at(std::uint64_t place, int type) {
  struct flock range{};
  range.l_type = static_cast<short>(type);
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(place);
  range.l_len = 1;
  return range;
}

}  // namespace

void Mutex::lock() {
  for (int spin = 0; spin < kSpins; ++spin) {
    std::uint32_t expected = 0;
    if (word_.compare_exchange_weak(expected, 1, std::memory_order_acquire)) return;
    __builtin_ia32_pause();
  }
  while (word_.exchange(2, std::memory_order_acquire) != 0) wait_on(word_, 2, 1'000'000'000);
}

void Mutex::unlock() {
  if (word_.exchange(0, std::memory_order_release) == 2) {
    system_call(SYS_futex, as_word(&word_), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
  }
}

int open_file(const char* path, Access access) {
  const bool writes = access == Access::kReadWrite;
  const int flags = (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const long fd = system_call(SYS_openat, AT_FDCWD, as_word(path), flags);
  return is_error(fd) ? -1 : static_cast<int>(fd);
}

void* map_descriptor(int fd, Access access, std::size_t& bytes) {
  struct stat found{};
  if (is_error(system_call(SYS_fstat, fd, as_word(&found))) || !S_ISREG(found.st_mode) ||
      found.st_size <= 0) {
    return nullptr;
  }
  const int rights = access == Access::kReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  const long at = system_call(SYS_mmap, 0, found.st_size, rights, MAP_SHARED, fd, 0);
  if (is_error(at)) return nullptr;
  bytes = static_cast<std::size_t>(found.st_size);
  return std::bit_cast<void*>(at);
}

void* map_file(const char* path, Access access, std::size_t& bytes) {
  const int fd = open_file(path, access);
  if (fd < 0) return nullptr;
  void* at = map_descriptor(fd, access, bytes);
  close_descriptor(fd);
  return at;
}

void* map_memory(std::size_t bytes) {
  const long at = system_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return is_error(at) ? nullptr : std::bit_cast<void*>(at);
}

void unmap(void* at, std::size_t bytes) {
#ifdef __SANITIZE_THREAD__
  ::munmap(at, bytes);  // It must see that what is mapped here next is something else.
#else
  system_call(SYS_munmap, as_word(at), static_cast<long>(bytes));
#endif
}

// The kernel copies the signals before it finds that there is no such way to change the mask: it
// changes nothing, and says EFAULT where there is nothing to be copied.
bool is_backed(const void* word) {
  constexpr long kNoWay = 99;
  return system_call(SYS_rt_sigprocmask, kNoWay, as_word(word), 0, sizeof(Word)) != kBadAddress;
}

bool wipe_on_fork(void* at, std::size_t bytes) {
  return !is_error(
      system_call(SYS_madvise, as_word(at), static_cast<long>(bytes), MADV_WIPEONFORK));
}

int open_again(int fd) {
  char path[40] = "/proc/self/fd/";
  *write_number(path + 14, static_cast<std::uint64_t>(fd)) = '\0';
  const long opened = system_call(SYS_openat, AT_FDCWD, as_word(path), O_RDWR | O_CLOEXEC);
  return is_error(opened) ? -1 : static_cast<int>(opened);
}

int copy_descriptor(int fd, int least) {
  const long copy = system_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
  return is_error(copy) ? -1 : static_cast<int>(copy);
}

int out_of_the_way(int fd) {
  const int copy = fd < 0 ? -1 : copy_descriptor(fd, kOutOfTheWay);
  if (copy < 0) return fd;
  close_descriptor(fd);
  return copy;
}

void close_descriptor(int fd) {
  system_call(SYS_close, fd);
}

FileId file_behind(int fd) {
  struct stat found{};
  if (is_error(system_call(SYS_fstat, fd, as_word(&found)))) return {};
  return {.device = found.st_dev, .inode = found.st_ino};
}

bool lock_range(int fd, std::uint64_t place) {
  struct flock range = range_at(place, F_RDLCK);
  return !is_error(system_call(SYS_fcntl, fd, F_OFD_SETLK, as_word(&range)));
}

bool is_range_locked(int fd, std::uint64_t place) {
  const Holding holding = range_holding(fd, place);
  return holding == Holding::kTogether || holding == Holding::kAlone;
}

std::uint64_t range_locked_by(int fd, std::uint64_t least) {
  constexpr std::size_t kTextMax = 2048;
  char path[40] = "/proc/self/fdinfo/";
  *write_number(path + 18, static_cast<std::uint64_t>(fd)) = '\0';
  char text[kTextMax];
  return is_error(read_small(path, text, sizeof text)) ? 0 : locked_place(text, least);
}

bool lock_range_alone(int fd, std::uint64_t place) {
  struct flock range = range_at(place, F_WRLCK);
  return !is_error(system_call(SYS_fcntl, fd, F_OFD_SETLK, as_word(&range)));
}

void unlock_range(int fd, std::uint64_t place) {
  struct flock range = range_at(place, F_UNLCK);
  system_call(SYS_fcntl, fd, F_OFD_SETLK, as_word(&range));
}

Holding range_holding(int fd, std::uint64_t place) {
  struct flock range = range_at(place, F_WRLCK);
  if (is_error(system_call(SYS_fcntl, fd, F_OFD_GETLK, as_word(&range)))) return Holding::kUnknown;
  if (range.l_type == F_UNLCK) return Holding::kNobody;
  return range.l_type == F_RDLCK ? Holding::kTogether : Holding::kAlone;
}

Identity own_identity() {
  char text[512];
  ProcessFacts facts;
  if (is_error(read_small("/proc/self/stat", text, sizeof text)) || !parse_stat(text, facts))
    return 0;
  return make_identity(facts.pid, facts.start_ticks);
}

std::uint64_t inode_of(const char* path) {
  struct stat found{};
  const long result = system_call(SYS_newfstatat, AT_FDCWD, as_word(path), as_word(&found), 0);
  return is_error(result) ? 0 : found.st_ino;
}

std::uint64_t own_pid_namespace() {
  return inode_of("/proc/self/ns/pid");
}

std::uint64_t own_time_namespace() {
  return inode_of("/proc/self/ns/time");
}

// "NSpid:" has our pid in the namespace of /proc and in each one below it, down to ours.
bool sees_own_pids() {
  char text[4096];
  if (is_error(read_small("/proc/self/status", text, sizeof text))) return false;
  constexpr const char* kName = "\nNSpid:\t";
  for (const char* line = text; *line != '\0'; ++line) {
    const char* at = line;
    const char* name = kName;
    while (*name != '\0' && *at == *name) {
      ++at;
      ++name;
    }
    if (*name != '\0') continue;
    (void)read_number(at);
    return *at == '\n';
  }
  return pid_of(own_identity()) == static_cast<std::uint64_t>(system_call(SYS_getpid));
}

// Of a process that /proc does not show; kill(2) would ask for a signal, which filters of system
// calls are stricter about.
bool has_pid(Identity identity) {
  return system_call(SYS_getpgid, static_cast<long>(pid_of(identity))) != kNoSuchProcess;
}

Life life_of(Identity identity) {
  if (pid_of(identity) == 0) return Life::kGone;
  char path[kProcPath] = "/proc/";
  char* end = write_number(path + 6, pid_of(identity));
  ProcessFacts facts;
  const long got = read_stat(path, end, facts);
  if (got == kNoSuchFile || got == kNoSuchProcess) return Life::kUnseen;
  // What cannot be read is taken to live: to take a living one for dead would free what it uses.
  if (is_error(got)) return Life::kLives;
  if (facts.start_ticks != start_of(identity)) return Life::kGone;
  if (!has_ended(facts)) return is_ending(facts) ? Life::kEnding : Life::kLives;
  // The first thread may have ended, and look like a zombie, while others go on.
  if (facts.threads <= 1) return Life::kGone;
  return goes_on_without_its_first_thread(path, end) ? Life::kLives : Life::kEnding;
}

std::uint64_t ns_of(long clock) {
  timespec now{};
  system_call(SYS_clock_gettime, clock, as_word(&now));
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void yield() {
  system_call(SYS_sched_yield);
}

void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint64_t nanoseconds) {
  futex_wait(word, seen, nanoseconds, FUTEX_PRIVATE_FLAG);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  system_call(SYS_futex, as_word(&word), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, kAll);
}

void wait_on_shared(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                    std::uint64_t nanoseconds) {
  futex_wait(word, seen, nanoseconds, 0);
}

void wake_all_shared(std::atomic<std::uint32_t>& word) {
  system_call(SYS_futex, as_word(&word), FUTEX_WAKE, kAll);
}

std::uint64_t monotonic_ns() {
  return ns_of(CLOCK_MONOTONIC);
}

std::uint64_t boottime_ns() {
  return ns_of(CLOCK_BOOTTIME);
}

void say(const Piece* pieces, std::size_t count) {
  constexpr std::size_t kRoom = 512;
  char line[kRoom];
  char* at = line;
  const char* const end = line + kRoom - 24;  // Room for one more number and the end of the line.
  for (const char* head = "berth-guard: "; *head != '\0'; ++head) *at++ = *head;
  for (std::size_t i = 0; i < count; ++i) {
    if (pieces[i].text == nullptr) {
      if (at < end) at = write_number(at, pieces[i].number);
      continue;
    }
    for (const char* text = pieces[i].text; *text != '\0' && at < end; ++text) *at++ = *text;
  }
  *at++ = '\n';
  system_call(SYS_write, 2, as_word(line), at - line);
}

}  // namespace berth::guard
