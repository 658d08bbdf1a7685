// SPDX-License-Identifier: Apache-2.0
#include "guard/process.h"

#include "guard/environment.h"
#include "guard/text.h"
#include "guard/waiting.h"

namespace berth::guard {
namespace {

constexpr std::size_t kPathMax = 4096;
constexpr int kLooksAtOpening = 1000;  // A thread that opens is through in microseconds.

// What the lease says of NVML: 0 is not known yet. A child of fork is in the same lease.
std::atomic<std::uint8_t> by_nvml;
constexpr std::uint8_t kNo = 1;
constexpr std::uint8_t kYes = 2;

// Beside the Process, so that a child of fork does not say it again.
std::atomic<bool> said[static_cast<std::size_t>(Process::Once::kCount)];

// What this thread asked for last: so that threads which allocate need not look into one table at
// the same time.
struct LastContext {
  std::uint64_t epoch;
  std::uint64_t context;
  Place place;
};
constinit thread_local LastContext last_context = {};

struct Mapping {
  void* at = nullptr;
  std::size_t bytes = 0;
};

Mapping map_in(const char* directory, const char* name, Access access) {
  char path[kPathMax];
  Mapping mapping;
  if (join(path, sizeof path, directory, name)) mapping.at = map_file(path, access, mapping.bytes);
  return mapping;
}

}  // namespace

void Process::say_once(Once what, const char* a, const char* b, const char* c) {
  if (said[static_cast<std::size_t>(what)].exchange(true)) return;
  const Piece pieces[] = {{a, 0}, {b, 0}, {c, 0}};
  say(pieces, 3);
}

Process* Process::not_counted() {
  if (*lease_directory() != '\0' && !is_disabled()) {
    say_once(
        Once::kTwoDrivers,
        "this program has two drivers in two namespaces: the second is not held to the budget");
  }
  return nullptr;
}

Process* Process::make() {
  auto* made = static_cast<Process*>(map_memory(sizeof(Process)));
  if (made == nullptr) return nullptr;
  Process* expected = nullptr;
  (void)wipe_on_fork(made, sizeof(Process));
  if (memory_.compare_exchange_strong(expected, made)) return made;
  unmap(made, sizeof(Process));
  return expected;
}

bool Process::shows_budget_by_nvml() {
  if (const std::uint8_t known = by_nvml.load(std::memory_order_relaxed); known != 0)
    return known == kYes;
  look_for_a_lease();
  const char* directory = lease_directory();
  bool yes = false;
  if (*directory != '\0' && !is_disabled()) {
    const Mapping limit = map_in(directory, "/limit", Access::kRead);
    if (limit.at != nullptr) {
      yes = (flags_of(limit.at, limit.bytes) & kByNvmlToo) != 0;
      unmap(limit.at, limit.bytes);
    }
  }
  by_nvml.store(yes ? kYes : kNo, std::memory_order_relaxed);
  return yes;
}

// Of several threads that come first, one opens the files; the others wait for it, but not for
// ever.
Process* Process::begin() {
  Process* process = memory_.load(std::memory_order_acquire);
  if (process == nullptr) process = make();
  if (process == nullptr) {
    if (*lease_directory() != '\0' && !is_disabled())
      say_once(Once::kNoMemory, "no memory to count in: no budget holds this program");
    return nullptr;
  }
  for (int looks = 0; looks < kLooksAtOpening; ++looks) {
    const auto aside = static_cast<std::uint32_t>(Phase::kQuarantined);
    if (process->phase_.load(std::memory_order_acquire) == aside) return nullptr;
    auto phase = static_cast<std::uint32_t>(Phase::kNew);
    if (process->phase_.compare_exchange_strong(phase,
                                                static_cast<std::uint32_t>(Phase::kOpening))) {
      const Phase after = process->open() ? Phase::kActive : Phase::kQuarantined;
      process->phase_.store(static_cast<std::uint32_t>(after), std::memory_order_release);
      wake_all(process->phase_);
      return after == Phase::kActive ? process : nullptr;
    }
    if (phase == static_cast<std::uint32_t>(Phase::kActive)) return process;
    wait_on(process->phase_, phase, 1'000'000);
  }
  return nullptr;
}

bool Process::is_own() const {
  return self_ == own_identity();
}

bool Process::open() {
  look_for_a_lease();
  const char* directory = lease_directory();
  if (*directory == '\0' || is_disabled()) return false;
  const Mapping limit = map_in(directory, "/limit", Access::kRead);
  Mapping use;
  const bool locks = locks_.open(directory, use.at, use.bytes);
  if (limit.at == nullptr || use.at == nullptr) {
    say_once(Once::kNoFiles, "cannot open ", directory,
             limit.at == nullptr ? "/limit: no budget holds this program"
                                 : "/use: no budget holds this program");
    return false;
  }
  const Census census{.self = own_identity(),
                      .pid_namespace = own_pid_namespace(),
                      .time_namespace = own_time_namespace(),
                      .sees_pids = sees_own_pids(),
                      .life_of = &guard::life_of,
                      .has_pid = &guard::has_pid,
                      .locks = locks ? &locks_ : nullptr};
  self_ = census.self;
  wait_on_full_ = guard::wait_on_full(on_full());
  asks_pid_ = !wipe_on_fork(this, sizeof(Process));
  const Ledger::Attached attached =
      census.self == 0 ? Ledger::Attached::kNoSlot
                       : ledger_.attach(limit.at, limit.bytes, use.at, use.bytes, census);
  if (attached == Ledger::Attached::kYes) return true;
  locks_.close();
  unmap(limit.at, limit.bytes);
  unmap(use.at, use.bytes);
  if (attached == Ledger::Attached::kBadFile) {
    say_once(Once::kBadFiles, "what lies in ", directory,
             " is not of this version: no budget holds this program");
  } else if (census.self == 0) {
    say_once(Once::kNoProc, "/proc cannot be read: no budget holds this program");
  } else {
    say_once(Once::kNoSlot, "too many processes use this lease: no budget holds this one");
  }
  return false;
}

void Process::stand_aside() {
  say_once(Once::kBroken,
           "the lease's files are damaged: no budget holds this program from here on");
  phase_.store(static_cast<std::uint32_t>(Phase::kQuarantined), std::memory_order_release);
}

int Process::device_of(const std::uint8_t (&uuid)[16]) const {
  for (std::uint32_t device = 0; device < ledger_.device_count(); ++device) {
    const std::uint8_t* theirs = ledger_.uuid(device);
    bool same = true;
    for (int i = 0; i < 16; ++i) same = same && theirs[i] == uuid[i];
    if (same) return static_cast<int>(device);
  }
  return -1;
}

// Note [What a context costs]
//
// Only the driver knows. The first context of a process is charged as the `limit` file says: a
// guess, until the daemon has measured what contexts cost on such a device. The slot says how much
// of it is for contexts that are there, so that the daemon can tell them from the rest. Once all
// that the lease has on the device is measured, it says in `measured_context` what none of them
// costs more than, and what was charged beyond that is given back here, by the thread that charged
// it.
void Process::correct_context(std::uint32_t device) {
  Contexts& contexts = devices_[device];
  const std::uint64_t measured = ledger_.measured_context(device);
  if (measured == 0 || contexts.charged.load(std::memory_order_relaxed) <= measured) return;
  const Lock lock(contexts.mutex);
  const std::uint64_t charged = contexts.charged;
  const std::uint64_t wanted = pages_of(measured);
  if (!ledger_.has_context(device) || charged <= wanted) return;
  ledger_.release(device, charged - wanted);
  ledger_.set_context(device, wanted);
  contexts.charged = wanted;
}

bool Process::reserve(std::uint32_t device, std::uint64_t bytes) {
  correct_context(device);
  return is_charged(ledger_.charge(device, pages_of(bytes)));
}

bool Process::try_reserve(std::uint32_t device, std::uint64_t bytes) {
  correct_context(device);
  return is_charged(ledger_.try_charge(device, pages_of(bytes)));
}

bool Process::is_charged(Ledger::Charged charged) {
  if (charged == Ledger::Charged::kBroken) stand_aside();
  return charged != Ledger::Charged::kFull;
}

void Process::cancel(std::uint32_t device, std::uint64_t bytes) {
  ledger_.release(device, pages_of(bytes));
}

bool Process::correct(std::uint32_t device, std::uint64_t from, std::uint64_t to) {
  const std::uint64_t charged = pages_of(from);
  const std::uint64_t wanted = pages_of(to);
  if (wanted > charged) return reserve(device, wanted - charged);
  if (wanted < charged) cancel(device, charged - wanted);
  return true;
}

// A small allocation is kMemory, too.
void Process::made(const Place& place, Kind kind, std::uint64_t address, std::uint64_t bytes) {
  if (kind != Kind::kMemory) ledger_.set_at_most(place.device);
  const bool small = kind == Kind::kMemory && bytes <= kSmallMax;
  const Allocations::Added added =
      allocations_.add({.key = address,
                        .bytes = pages_of(bytes),
                        .owner = place.context,
                        .count = 1,
                        .device = static_cast<std::uint16_t>(place.device),
                        .kind = static_cast<std::uint16_t>(small ? Kind::kSmall : kind)});
  if (!added.has_new_pages) ledger_.release(place.device, pages_of(bytes));
  if (!added.kept) {
    say_once(Once::kNoMemory, "no memory to count allocations: some stay charged until the end");
  }
}

void Process::freed(const Entry& entry) {
  if (allocations_.freed(entry)) ledger_.release(entry.device, entry.bytes);
}

bool Process::enter_locked(std::uint32_t device, std::uint64_t cost) {
  Contexts& contexts = devices_[device];
  if (contexts.living == 0) {
    if (!try_reserve(device, cost)) return false;
    contexts.charged = pages_of(cost);
  }
  ++contexts.living;
  return true;
}

void Process::leave_locked(std::uint32_t device) {
  Contexts& contexts = devices_[device];
  if (contexts.living == 0) return;
  --contexts.living;
  if (contexts.living > 0) return;
  ledger_.set_context(device, 0);
  ledger_.release(device, contexts.charged + pools_.forget_device(device));
  contexts.charged = 0;
}

bool Process::enter(std::uint32_t device, std::uint64_t cost) {
  const Lock lock(devices_[device].mutex);
  return enter_locked(device, cost);
}

void Process::leave(std::uint32_t device) {
  const Lock lock(devices_[device].mutex);
  leave_locked(device);
}

bool Process::enter_primary(std::uint32_t device, std::uint64_t cost) {
  Contexts& contexts = devices_[device];
  const Lock lock(contexts.mutex);
  if (!contexts.has_primary && !enter_locked(device, cost)) return false;
  contexts.has_primary = true;
  ++contexts.retaining;
  ++contexts.epoch;
  return true;
}

void Process::primary_retained(std::uint32_t device, std::uint64_t context) {
  Contexts& contexts = devices_[device];
  {
    const Lock lock(contexts.mutex);
    --contexts.retaining;
    if (context != 0) contexts.primary = context;
  }
  if (context != 0) context_made({.device = device, .context = context});
}

std::uint32_t Process::primary_epoch(std::uint32_t device) {
  const Lock lock(devices_[device].mutex);
  return devices_[device].epoch;
}

// A thread that retained it meanwhile made it live again, or will.
void Process::primary_inactive(std::uint32_t device, std::uint32_t epoch) {
  Contexts& contexts = devices_[device];
  std::uint64_t context = 0;
  {
    const Lock lock(contexts.mutex);
    if (!contexts.has_primary || contexts.retaining > 0 || contexts.epoch != epoch) return;
    contexts.has_primary = false;
    context = contexts.primary;
    contexts.primary = 0;
    leave_locked(device);
  }
  if (context != 0) context_gone(context);
}

void Process::context_made(const Place& place) {
  (void)contexts_.insert({.key = place.context,
                          .bytes = 0,
                          .owner = 0,
                          .count = 1,
                          .device = static_cast<std::uint16_t>(place.device),
                          .kind = 0});
  ++contexts_epoch_;
  Contexts& contexts = devices_[place.device];
  const Lock lock(contexts.mutex);
  if (contexts.living > 0) ledger_.set_context(place.device, contexts.charged);
}

void Process::view_made(std::uint64_t view, const Place& place) {
  (void)contexts_.insert({.key = view,
                          .bytes = 0,
                          .owner = place.context,
                          .count = 1,
                          .device = static_cast<std::uint16_t>(place.device),
                          .kind = 0});
  ++contexts_epoch_;
}

void Process::view_gone(std::uint64_t view) {
  (void)contexts_.take(view);
  ++contexts_epoch_;
}

void Process::context_gone(std::uint64_t context) {
  (void)contexts_.take(context);
  contexts_.take_all([&](const Entry& entry) { return entry.owner == context; },
                     [](const Entry&) {});
  ++contexts_epoch_;
  allocations_.context_gone(
      context, [&](const Entry& entry) { ledger_.release(entry.device, entry.bytes); });
}

int Process::device_of_context(std::uint64_t context) {
  const Entry entry = contexts_.find(context);
  return entry.key == 0 ? -1 : entry.device;
}

bool Process::place_of_context(std::uint64_t context, Place& place) {
  const std::uint64_t epoch = contexts_epoch_.load(std::memory_order_acquire);
  if (last_context.context != context || last_context.epoch != epoch) {
    const Entry entry = contexts_.find(context);
    if (entry.key == 0) return false;
    last_context = {
        .epoch = epoch,
        .context = context,
        .place = {.device = entry.device, .context = entry.owner == 0 ? context : entry.owner}};
  }
  place = last_context.place;
  return true;
}

std::uint64_t Process::charged_for_contexts(std::uint32_t device) {
  const Lock lock(devices_[device].mutex);
  return devices_[device].charged;
}

// Programs choose by this how much they take: so what a dead process had is waited for until the
// daemon has asked the driver once.
std::uint64_t Process::bytes_free(std::uint32_t device) {
  collect();
  correct_context(device);
  const std::uint64_t budget = ledger_.budget(device);
  if (ledger_.used(device) > ledger_.used_by_us(device)) {
    (void)ledger_.sweep();
    WaitForDead dead(ledger_, device, {.looks = 1});
    while (dead.goes_on()) {
    }
  }
  const std::uint64_t used = ledger_.used(device);
  return used < budget ? budget - used : 0;
}

}  // namespace berth::guard
