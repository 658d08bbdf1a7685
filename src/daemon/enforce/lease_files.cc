// SPDX-License-Identifier: Apache-2.0
#include "enforce/lease_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <system_error>

#include "guard/layout.h"
#include "os/access.h"
#include "os/errors.h"
#include "os/files.h"
#include "os/unique_fd.h"

// The structures of guard/layout.h are made of atomic words, which cannot be copied. What is read
// and written here are bytes in the same places.

namespace berth::enforce {
namespace {

using guard::LimitDevice;
using guard::LimitFile;
using guard::SlotOwner;
using guard::SlotUse;
using guard::UseFile;

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <class T>
T get(const std::string& bytes, std::size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::optional<Use::Refusal> last_refusal(const std::string& head, std::size_t parts) {
  const auto word = get<std::uint64_t>(head, offsetof(UseFile, refused_bytes));
  const std::uint64_t part = word >> guard::kRefusedDeviceAt;
  const std::uint64_t bytes = word & ((std::uint64_t{1} << guard::kRefusedDeviceAt) - 1);
  if (bytes == 0 || part >= parts) return std::nullopt;
  return Use::Refusal{.part = part,
                      .bytes = {bytes},
                      .used = {get<std::uint64_t>(head, offsetof(UseFile, refused_used))},
                      .at = {get<std::int64_t>(head, offsetof(UseFile, refused_at))}};
}

constexpr std::size_t kUuidSize = 16;
constexpr std::size_t kEntrySize = sizeof(LimitDevice);

constexpr std::size_t device_at(std::size_t index) {
  return offsetof(LimitFile, devices) + index * sizeof(LimitDevice);
}

std::string uuid_text(DeviceId device) {
  const auto bytes = uuid_bytes(device);
  return {bytes.begin(), bytes.end()};
}

bool is_limit(const std::string& bytes) {
  return bytes.size() == sizeof(LimitFile) && get<std::uint64_t>(bytes, 0) == guard::kLimitMagic &&
         get<std::uint32_t>(bytes, offsetof(LimitFile, layout)) == guard::kLayout &&
         get<std::uint32_t>(bytes, offsetof(LimitFile, device_count)) <= guard::kDevicesMax;
}

// `head`: the part before the owners at least.
bool is_use(const std::string& head, std::size_t file_size) {
  const auto devices = get<std::uint32_t>(head, offsetof(UseFile, device_count));
  return head.size() >= offsetof(UseFile, owners) &&
         get<std::uint64_t>(head, 0) == guard::kUseMagic &&
         get<std::uint32_t>(head, offsetof(UseFile, layout)) == guard::kLayout && devices > 0 &&
         devices <= guard::kDevicesMax && file_size == guard::use_file_size(devices);
}

std::uint32_t device_count(const std::string& limit) {
  return get<std::uint32_t>(limit, offsetof(LimitFile, device_count));
}

std::uint64_t flags_of(const Shown& shown) {
  return (shown.physical_total ? guard::kTotalIsPhysical : 0) |
         (shown.by_nvml ? guard::kByNvmlToo : 0);
}

std::string limit_bytes(const std::vector<Budget>& budgets, const LeaseFiles::Settings& settings) {
  std::string bytes(sizeof(LimitFile), '\0');
  put(bytes, 0, guard::kLimitMagic);
  put(bytes, offsetof(LimitFile, layout), guard::kLayout);
  put(bytes, offsetof(LimitFile, size), static_cast<std::uint32_t>(sizeof(LimitFile)));
  put(bytes, offsetof(LimitFile, device_count), static_cast<std::uint32_t>(budgets.size()));
  put(bytes, offsetof(LimitFile, device_size), static_cast<std::uint32_t>(sizeof(LimitDevice)));
  put(bytes, offsetof(LimitFile, epoch), std::uint64_t{1});
  put(bytes, offsetof(LimitFile, flags), flags_of(settings.shown));
  put(bytes, offsetof(LimitFile, looks), std::uint64_t{1});
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    bytes.replace(device_at(i), 16, uuid_text(budgets[i].device));
    put(bytes, device_at(i) + offsetof(LimitDevice, budget), budgets[i].bytes.value);
    put(bytes, device_at(i) + offsetof(LimitDevice, context),
        budgets[i].context.value_or(settings.context).value);
  }
  return bytes;
}

std::string use_bytes(std::uint32_t devices) {
  const std::size_t size = guard::use_file_size(devices);
  std::string bytes(size, '\0');  // Written whole, so that no write to it can lack space later.
  put(bytes, 0, guard::kUseMagic);
  put(bytes, offsetof(UseFile, layout), guard::kLayout);
  put(bytes, offsetof(UseFile, size), static_cast<std::uint32_t>(size));
  put(bytes, offsetof(UseFile, device_count), devices);
  put(bytes, offsetof(UseFile, slot_count), guard::kSlotsMax);
  return bytes;
}

struct flock lock_of(std::uint32_t slot, short kind) {
  struct flock range{};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(guard::lock_of_slot(slot));
  range.l_len = 1;
  return range;
}

// Whether a process holds the lock on its slot. Nothing is locked here, so nobody is disturbed.
bool is_locked(const os::UniqueFd& file, std::uint32_t slot) {
  struct flock range = lock_of(slot, F_RDLCK);
  return ::fcntl(file.get(), F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

bool set_lock(const os::UniqueFd& file, std::uint32_t slot, short kind) {
  struct flock range = lock_of(slot, kind);
  return ::fcntl(file.get(), F_OFD_SETLK, &range) == 0;
}

// As one who clears it, beside guards that do: see Note [Who is alive].
bool lock_slot(const os::UniqueFd& file, std::uint32_t slot) {
  return set_lock(file, slot, F_RDLCK);
}

void unlock_slot(const os::UniqueFd& file, std::uint32_t slot) {
  (void)set_lock(file, slot, F_UNLCK);
}

// Less where the file ends before; what lacks reads as 0.
std::string read_at(const os::UniqueFd& file, std::size_t at, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t count = ::pread(file.get(), bytes.data(), size, static_cast<off_t>(at));
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

Status write_at(const os::UniqueFd& file, const std::string& path, std::size_t at,
                std::string_view bytes) {
  const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
  if (written == static_cast<ssize_t>(bytes.size())) return Unit{};
  return os::system_error("cannot write " + path, errno);
}

Status write_word(const os::UniqueFd& file, const std::string& path, std::size_t at,
                  std::uint64_t value) {
  // Eight bytes in their natural place: a program that has the file mapped sees all or none.
  std::array<char, sizeof value> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return write_at(file, path, at, {bytes.data(), bytes.size()});
}

constexpr std::size_t owner_at(std::uint32_t slot) {
  return offsetof(UseFile, owners) + slot * sizeof(SlotOwner);
}

constexpr std::size_t slot_at(std::size_t device, std::uint32_t slot) {
  return offsetof(UseFile, slots) + (device * guard::kSlotsMax + slot) * sizeof(SlotUse);
}

// `use` of a lease, and the part of it before the owners.
struct OpenLedger {
  os::UniqueFd file;
  std::string head;
};
// kNotFound or kCorrupt where there is nothing to be read.
Result<OpenLedger> open_ledger(const std::string& path, int access) {
  OpenLedger ledger{
      .file = os::UniqueFd(::open(path.c_str(), access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)),
      .head = {}};
  if (!ledger.file) return os::system_error("cannot open " + path, errno);
  struct stat found{};
  if (::fstat(ledger.file.get(), &found) != 0)
    return os::system_error("cannot stat " + path, errno);
  ledger.head = read_at(ledger.file, 0, offsetof(UseFile, owners));
  if (!is_use(ledger.head, static_cast<std::size_t>(found.st_size)))
    return Error{Errc::kCorrupt, path + " is damaged"};
  return ledger;
}

bool is_of(const os::UniqueFd& file, const Use::Slot& slot) {
  if (slot.index >= guard::kSlotsMax) return false;
  const std::string owner = read_at(file, owner_at(slot.index), sizeof(SlotOwner));
  const guard::Identity identity =
      guard::make_identity(static_cast<std::uint64_t>(slot.process.pid), slot.process.start_ticks);
  return get<guard::Identity>(owner, offsetof(SlotOwner, identity)) == identity &&
         get<std::uint64_t>(owner, offsetof(SlotOwner, namespaces)) == slot.namespaces;
}

// In the order in which guards do it. `changes` grows on, for it tells that something has moved.
Status clear_slot(const os::UniqueFd& file, const std::string& path, std::uint32_t slot,
                  std::uint32_t devices) {
  for (std::uint32_t device = 0; device < devices; ++device) {
    const std::size_t at = slot_at(device, slot);
    std::string use = read_at(file, at, sizeof(SlotUse));
    const auto changes = get<std::uint64_t>(use, offsetof(SlotUse, changes));
    use.assign(sizeof(SlotUse), '\0');
    put(use, offsetof(SlotUse, changes), changes + 1);
    TRY_STATUS(write_at(file, path, at, use));
  }
  const std::size_t owner = owner_at(slot);
  TRY_STATUS(write_word(file, path, owner + offsetof(SlotOwner, namespaces), 0));
  return write_word(file, path, owner + offsetof(SlotOwner, identity), 0);
}

// See Note [The name is not the wall].
Status open_to(UserId user, const std::string& directory) {
  const std::string limit = directory + "/limit";
  const std::string use = directory + "/use";
  Status opened = os::open_to_user(use, user, os::Grant::kReadWrite);
  if (opened.ok()) opened = os::open_to_user(limit, user, os::Grant::kRead);
  if (opened.ok()) opened = os::open_to_user(directory, user, os::Grant::kPass);
  if (opened.ok() || opened.error().code != Errc::kUnavailable || ::geteuid() != 0) return opened;
  const bool given = ::lchown(use.c_str(), user.value, static_cast<gid_t>(-1)) == 0 &&
                     ::chmod(use.c_str(), 0600) == 0 && ::chmod(limit.c_str(), 0644) == 0 &&
                     ::chmod(directory.c_str(), 0711) == 0;
  if (given) return Unit{};
  return os::system_error("cannot give " + use + " to user " + std::to_string(user.value), errno);
}

}  // namespace

std::string LeaseFiles::directory(Handle lease) const {
  return settings_.root + "/" + to_text(lease);
}

// Without `mode` one that is there keeps its own.
Result<LeaseFiles::Was> LeaseFiles::make_directory(const std::string& path,
                                                   std::optional<unsigned> mode) const {
  const Was was = ::mkdir(path.c_str(), 0700) == 0 ? Was::kMissing : Was::kThere;
  if (was == Was::kThere && errno != EEXIST) return os::system_error("cannot make " + path, errno);
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return os::system_error("cannot stat " + path, errno);
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid())
    return Error{Errc::kPermission, path + " is not a directory of ours"};
  if (mode && (found.st_mode & 07777) != *mode && ::chmod(path.c_str(), *mode) != 0)
    return os::system_error("cannot chmod " + path, errno);
  return was;
}

// Note [The name is not the wall]
//
// A lease's directory is called by its handle, which is a secret; but what is secret may become
// known, and a process that can write to `use` can end the programs that have it mapped. So for a
// daemon of all users the directory and both files are closed (0700, 0600), and opened to the
// lease's user by an access control list, which their owner can set without a right of its own.
// Where the file system has none of these, a daemon that is root gives `use` to the user; the
// directory can be passed through then, and `limit` be read, by those who know the name. Any other
// daemon makes no files: a lease that is not held to its budget, and says so, harms nobody but by
// accident.
Status LeaseFiles::set(const Holder& lease, const std::vector<Budget>& budgets) const {
  if (budgets.empty() || budgets.size() > guard::kDevicesMax)
    return Error{Errc::kInvalid, "a lease on " + std::to_string(budgets.size()) + " devices"};
  const bool all = settings_.readers == Readers::kAllUsers;
  TRY_STATUS(make_directory(settings_.root, all ? 0711 : 0700));
  if (!all || lease.user.value == ::geteuid()) return make_files(lease, budgets, 0700);
  TRY_STATUS(make_files(lease, budgets, std::nullopt));
  Status opened = open_to(lease.user, directory(lease.handle));
  if (!opened.ok()) remove(lease.handle);
  return opened;
}

Status LeaseFiles::make_files(const Holder& lease, const std::vector<Budget>& budgets,
                              std::optional<unsigned> mode) const {
  const std::string path = directory(lease.handle);
  TRY(was, make_directory(path, mode));
  TRY_STATUS(make_use(path + "/use", static_cast<std::uint32_t>(budgets.size()), was));
  return make_limit(path + "/limit", budgets, was);
}

Status LeaseFiles::make_limit(const std::string& path, const std::vector<Budget>& budgets,
                              Was folder) const {
  if (folder == Was::kMissing)
    return os::write_new_file(path, limit_bytes(budgets, settings_), 0600);
  const Result<std::string> there = os::read_file(path, sizeof(LimitFile));
  if (!there.ok() || !is_limit(*there) || device_count(*there) != budgets.size()) {
    return os::write_file_atomically(path, limit_bytes(budgets, settings_), 0600, os::Sync::kNone);
  }
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return os::system_error("cannot open " + path, errno);
  const std::string anew = limit_bytes(budgets, settings_);
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    // It was moved to another device. Programs that have the file mapped know it by its place.
    if (there->compare(device_at(i), kUuidSize, uuid_text(budgets[i].device)) != 0) {
      TRY_STATUS(write_at(file, path, device_at(i), anew.substr(device_at(i), kEntrySize)));
      continue;
    }
    TRY_STATUS(write_word(file, path, device_at(i) + offsetof(LimitDevice, budget),
                          budgets[i].bytes.value));
  }
  const auto looks = get<std::uint64_t>(*there, offsetof(LimitFile, looks));
  TRY_STATUS(write_word(file, path, offsetof(LimitFile, looks), looks + 1));
  const auto epoch = get<std::uint64_t>(*there, offsetof(LimitFile, epoch));
  return write_word(file, path, offsetof(LimitFile, epoch), epoch + 1);
}

// One that is there and makes sense is kept: programs have it mapped.
Status LeaseFiles::make_use(const std::string& path, std::uint32_t devices, Was folder) const {
  if (folder == Was::kMissing) return os::write_new_file(path, use_bytes(devices), 0600);
  const std::size_t size = guard::use_file_size(devices);
  const Result<std::string> there = os::read_file(path, size);
  if (there.ok() && there->size() == size && is_use(*there, size)) return Unit{};
  return os::write_file_atomically(path, use_bytes(devices), 0600, os::Sync::kNone);
}

// What still has them mapped waits for nothing any more.
void LeaseFiles::remove(Handle lease) const {
  if (paused(lease) != Paused{}) (void)pause(lease, {});
  std::error_code ignored;
  std::filesystem::remove_all(directory(lease), ignored);
}

void LeaseFiles::keep_only(const std::vector<Handle>& leases) const {
  std::set<Handle> kept(leases.begin(), leases.end());
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(settings_.root, code)) {
    const std::optional<Handle> lease = parse_handle(entry.path().filename().string());
    if (lease && !kept.contains(*lease)) remove(*lease);
  }
}

Status LeaseFiles::set_unaccounted(Handle lease, const std::vector<Bytes>& unaccounted) const {
  std::vector<Word> words;
  words.reserve(unaccounted.size());
  for (std::size_t i = 0; i < unaccounted.size(); ++i)
    words.push_back({device_at(i) + offsetof(LimitDevice, unaccounted), unaccounted[i].value});
  return write_words(lease, unaccounted.size(), words);
}

Status LeaseFiles::set_contexts(Handle lease, const std::vector<ContextCost>& costs) const {
  std::vector<Word> words;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (const auto& first = costs[i].first)
      words.push_back({device_at(i) + offsetof(LimitDevice, context), first->value});
    words.push_back({device_at(i) + offsetof(LimitDevice, measured_context), costs[i].most.value});
  }
  return write_words(lease, costs.size(), words);
}

// A guard that judges by the pid may clear it at the same time: both write zeros. Nobody can take
// it meanwhile, for the lock is ours, or still a child's of the dead one.
Status LeaseFiles::clear(Handle lease, const std::vector<Use::Slot>& dead) const {
  if (dead.empty()) return note_look(lease);
  const std::string path = ledger(lease);
  TRY(opened, open_ledger(path, O_RDWR));
  const os::UniqueFd& file = opened.file;
  const auto devices = get<std::uint32_t>(opened.head, offsetof(UseFile, device_count));
  for (const Use::Slot& slot : dead) {
    const bool locked = lock_slot(file, slot.index);
    if (is_of(file, slot)) TRY_STATUS(clear_slot(file, path, slot.index, devices));
    if (locked) unlock_slot(file, slot.index);
  }
  return note_look(lease);
}

Result<std::string> LeaseFiles::read_limit(Handle lease) const {
  const std::string path = directory(lease) + "/limit";
  TRY(limit, os::read_file(path, sizeof(LimitFile)));
  if (!is_limit(limit)) return Error{Errc::kCorrupt, path + " is damaged"};
  return limit;
}

// A process that waits for it sees in `looks` that a daemon looks after it.
Status LeaseFiles::note_look(Handle lease) const {
  TRY(limit, read_limit(lease));
  const auto looks = get<std::uint64_t>(limit, offsetof(LimitFile, looks));
  return write_words(lease, device_count(limit), {{offsetof(LimitFile, looks), looks + 1}});
}

Status LeaseFiles::pause(Handle lease, Paused paused) const {
  TRY(limit, read_limit(lease));
  const auto before = get<std::uint64_t>(limit, offsetof(LimitFile, flags));
  std::uint64_t flags = before & ~(guard::kAway | guard::kFrozen);
  if (paused.away) flags |= guard::kAway;
  if (paused.frozen) flags |= guard::kFrozen;
  if (flags == before) return Unit{};
  return write_words(lease, device_count(limit), {{offsetof(LimitFile, flags), flags}});
}

Paused LeaseFiles::paused(Handle lease) const {
  const Result<std::string> limit = read_limit(lease);
  if (!limit.ok()) return {};
  const auto flags = get<std::uint64_t>(*limit, offsetof(LimitFile, flags));
  return {.away = (flags & guard::kAway) != 0, .frozen = (flags & guard::kFrozen) != 0};
}

// Into a file of a lease on so many devices.
Status LeaseFiles::write_words(Handle lease, std::size_t devices,
                               const std::vector<Word>& words) const {
  const std::string path = directory(lease) + "/limit";
  TRY(limit, os::read_file(path, sizeof(LimitFile)));
  if (!is_limit(limit) || device_count(limit) != devices) {
    return Error{Errc::kCorrupt, path + " is damaged"};
  }
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return os::system_error("cannot open " + path, errno);
  for (const Word& word : words) TRY_STATUS(write_word(file, path, word.at, word.value));
  return Unit{};
}

// Only as far as slots were ever taken: most of the file never is.
Result<Use> LeaseFiles::read(Handle lease) const {
  TRY(opened, open_ledger(ledger(lease), O_RDONLY));
  const os::UniqueFd& file = opened.file;
  const std::string& head = opened.head;
  const std::uint32_t seen =
      std::min(get<std::uint32_t>(head, offsetof(UseFile, slots_seen)), guard::kSlotsMax);
  const std::string owners = read_at(file, offsetof(UseFile, owners), seen * sizeof(SlotOwner));
  Use use;
  use.parts.resize(get<std::uint32_t>(head, offsetof(UseFile, device_count)));
  use.refusal = last_refusal(head, use.parts.size());
  use.wanting = get<std::uint32_t>(head, offsetof(UseFile, wanting)) != 0;
  for (std::size_t device = 0; device < use.parts.size(); ++device) {
    Use::Part& part = use.parts[device];
    part.peak.value = get<std::uint64_t>(head, offsetof(UseFile, peak) + device * 8);
    part.refused = get<std::uint64_t>(head, offsetof(UseFile, refused) + device * 8);
    const std::string slots = read_at(file, slot_at(device, 0), seen * sizeof(SlotUse));
    for (std::uint32_t i = 0; i < seen; ++i) {
      const std::size_t owner = i * sizeof(SlotOwner);
      const auto identity = get<guard::Identity>(owners, owner);
      if (identity == 0) continue;
      const auto namespaces = get<std::uint64_t>(owners, owner + offsetof(SlotOwner, namespaces));
      const std::size_t slot = i * sizeof(SlotUse);
      part.slots.push_back(
          {.index = i,
           .process = {.pid = static_cast<std::int32_t>(guard::pid_of(identity)),
                       .start_ticks = guard::start_of(identity)},
           .namespaces = namespaces,
           .locked = guard::is_locking(namespaces) && is_locked(file, i),
           .charged = {get<std::uint64_t>(slots, slot + offsetof(SlotUse, used))},
           .changes = get<std::uint64_t>(slots, slot + offsetof(SlotUse, changes)),
           .context = {get<std::uint64_t>(slots, slot + offsetof(SlotUse, context))},
           .exact = get<std::uint64_t>(slots, slot + offsetof(SlotUse, at_most)) == 0 &&
                    get<std::uint64_t>(slots, slot + offsetof(SlotUse, undecided)) == 0,
           .wanted = {get<std::uint64_t>(slots, slot + offsetof(SlotUse, wanted))}});
    }
  }
  return use;
}

Status LeaseFiles::give_up(Handle lease, std::size_t devices) const {
  ::unlink((directory(lease) + "/limit").c_str());
  const std::string path = directory(lease) + "/use";
  const os::UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return os::system_error("cannot open " + path, errno);
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return os::system_error("cannot stat " + path, errno);
  const auto size = static_cast<off_t>(guard::use_file_size(static_cast<std::uint32_t>(devices)));
  if (found.st_size == size || ::ftruncate(file.get(), size) == 0) return Unit{};
  return os::system_error("cannot truncate " + path, errno);
}

}  // namespace berth::enforce
