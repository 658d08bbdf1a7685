// SPDX-License-Identifier: Apache-2.0
#include "guard/ledger.h"

// Note [A slot a process]
//
// Each process writes its own slot and reads all others. To charge n bytes it adds n to its slot,
// then sums up all slots. If the sum is within the budget the charge stands; else it takes n back.
// All of this is sequentially consistent, so of two processes that charge at once at least one sees
// the other: the budget is never exceeded, whatever the order. A process that is killed at any
// instruction leaves what it charged in its own slot, which is cleared once it is dead; there is no
// total that could be left wrong.
//
// Two that charge at once may both see too much and both take it back, although one of them would
// have fitted. `undecided` tells the cases apart: what is refused even without the undecided part
// of the others is refused for good; else it is tried again.

//
// Note [Who is alive]
//
// A pid and a start time say who a process is among those that share its PID namespace, its time
// namespace and a /proc of that PID namespace. Among these they decide, as /proc has them: they are
// right about a process that lost its lock (it closed all descriptors), and about a dead one whose
// child has inherited it. Between all others the lock decides, which needs no pid: the owner
// of a slot holds its byte of `use` alone, and the kernel drops that when the process ends.
//
// A process that clears the slot of an owner that locks takes the byte first, as one of several: so
// no other can take the slot meanwhile, all see that its owner is dead, and if it is killed the
// slot is again one of a dead process. `namespaces` is exchanged before anything is cleared: so of
// one that judges by the lock and one that judges by the pid only one clears. Where a child still
// holds the lock of a dead owner, the slot is first made one without locks, and cleared as those
// are: the identity is exchanged for the clearer's.
//
// Note [What the dead have]
//
// A process is gone some time before the driver has freed its memory, and only the daemon asks the
// driver. So where it does (`looks` is not 0), the slot of a dead process that has something
// charged is left to the daemon, which clears it once the driver lists nothing of it. A process
// that needs the room waits for that (guard/waiting.h), and clears it itself if no daemon is there.
//
// So does one that needs what a process has that was killed and is not gone yet: on a busy machine
// it takes a while to run its last, and the driver frees its memory before it is a zombie.
//
namespace berth::guard {
namespace {

constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 46U;  // No device has that; a sum fits.
constexpr int kTriesMax = 2000;
constexpr std::uint64_t kFirstTimeNamespace = 0xeffffffa;  // In which a machine starts.

// Long enough to let the other one finish, and not the same for two that run in step.
void wait_a_little(int tries) {
  if (tries > 8) {
    yield();
    return;
  }
  const std::uint64_t spins = ticks() % (std::uint64_t{16} << tries);
  for (std::uint64_t i = 0; i < spins; ++i) __builtin_ia32_pause();
}

bool is_limit_file(const LimitFile& file, std::size_t bytes) {
  return bytes >= sizeof(LimitFile) && file.magic == kLimitMagic && file.layout == kLayout &&
         file.size <= bytes && file.device_size == sizeof(LimitDevice) && file.device_count > 0 &&
         file.device_count <= kDevicesMax;
}

bool is_use_file(const UseFile& file, std::size_t bytes) {
  return bytes >= use_file_size(1) && file.magic == kUseMagic && file.layout == kLayout &&
         file.slot_count == kSlotsMax && file.device_count > 0 &&
         file.device_count <= kDevicesMax && bytes >= use_file_size(file.device_count);
}

}  // namespace

std::uint64_t flags_of(const void* limit, std::size_t bytes) {
  const auto* file = static_cast<const LimitFile*>(limit);
  return is_limit_file(*file, bytes) ? file->flags.load() : 0;
}

Ledger::Attached Ledger::attach(const void* limit, std::size_t limit_bytes, void* use,
                                std::size_t use_bytes, const Census& census) {
  limit_ = static_cast<const LimitFile*>(limit);
  use_ = static_cast<UseFile*>(use);
  census_ = census;
  slot_ = kSlotsMax;
  if (use_bytes < use_file_size(1) || !is_backed(static_cast<char*>(use) + use_bytes - 8))
    return Attached::kBadFile;
  if (!is_limit_file(*limit_, limit_bytes) || !is_use_file(*use_, use_bytes) ||
      use_->device_count != limit_->device_count) {
    return Attached::kBadFile;
  }
  device_count_ = limit_->device_count;
  backing_ = Backing(static_cast<char*>(use) + use_file_size(device_count_) - 8);
  return take_slot() ? Attached::kYes : Attached::kNoSlot;
}

std::uint64_t Ledger::own_namespaces() const {
  return census_.locks == nullptr ? census_.pid_namespace
                                  : namespaces_of(census_.pid_namespace, census_.time_namespace);
}

bool Ledger::take_slot() {
  return take_slot_again() || take_free_slot(Sweep::kFreed) || take_free_slot(Sweep::kAll);
}

bool Ledger::take_free_slot(Sweep what) {
  for (std::uint32_t i = 0; i < kSlotsMax; ++i) {
    clear_if_dead(i, what);
    if (!claim(i)) continue;
    std::uint32_t highest = use_->slots_seen.load();
    while (highest < i + 1 && !use_->slots_seen.compare_exchange_weak(highest, i + 1)) {
    }
    slot_ = i;
    return true;
  }
  return false;
}

// A program that replaced itself by another one (exec) is the same process: its slot is its own
// still, and what it had charged was freed when it was replaced. Its lock ended then; a child that
// it left may hold that still, and then another slot is taken.
bool Ledger::take_slot_again() {
  for (std::uint32_t i = 0; i < slots_seen(); ++i) {
    SlotOwner& owner = use_->owners[i];
    const std::uint64_t namespaces = owner.namespaces.load();
    if (owner.identity.load() != census_.self) continue;
    if (namespaces != own_namespaces() && namespaces != census_.pid_namespace) continue;
    if (census_.locks == nullptr || census_.locks->take(i)) {
      clear(i);
      owner.namespaces.store(own_namespaces());
      slot_ = i;
      return true;
    }
    if (census_.sees_pids) (void)clear_locked(i, census_.self, namespaces);
  }
  return false;
}

// A guard that does not lock may take it at the same time: so the identity decides.
bool Ledger::claim(std::uint32_t slot) {
  SlotOwner& owner = use_->owners[slot];
  if (owner.identity.load() != 0) return false;
  if (census_.locks != nullptr && !census_.locks->take(slot)) return false;
  Identity nobody = 0;
  if (owner.identity.compare_exchange_strong(nobody, census_.self)) {
    owner.namespaces.store(own_namespaces());
    return true;
  }
  if (census_.locks != nullptr) census_.locks->drop(slot);
  return false;
}

std::uint32_t Ledger::slots_seen() const {
  const std::uint32_t seen = use_->slots_seen.load();
  return seen < kSlotsMax ? seen : kSlotsMax;
}

Ledger::Sums Ledger::sums(std::uint32_t device) const {
  Sums sums{.all = limit_->devices[device].unaccounted.load(), .decided = 0};
  if (sums.all > kBytesMax) sums.all = kBytesMax;
  std::uint64_t undecided = 0;
  const std::uint32_t seen = slots_seen();
  const SlotUse* row = use_->slots[device];
  for (std::uint32_t i = 0; i < seen; ++i) {
    const std::uint64_t used = row[i].used.load();
    sums.all += used < kBytesMax ? used : kBytesMax;
    const std::uint64_t open = row[i].undecided.load(std::memory_order_relaxed);
    undecided += open < used ? open : used;
  }
  sums.decided = sums.all > undecided ? sums.all - undecided : 0;
  return sums;
}

std::uint64_t Ledger::used(std::uint32_t device) const {
  return is_there() ? sums(device).all : 0;
}

Ledger::Charged Ledger::charge(std::uint32_t device, std::uint64_t bytes) {
  const Charged charged = try_charge(device, bytes);
  if (charged == Charged::kFull) count_refusal(device, bytes);
  return charged;
}

// Two at the same moment may mix what they say: the figures are for people.
void Ledger::count_refusal(std::uint32_t device, std::uint64_t bytes) {
  if (!is_there()) return;
  use_->refused[device].fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t known = bytes < kBytesMax ? bytes : kBytesMax;
  use_->refused_bytes.store(known | std::uint64_t{device} << kRefusedDeviceAt);
  use_->refused_used.store(sums(device).all);
  use_->refused_at.store(boottime_ns());
}

Ledger::Charged Ledger::try_charge(std::uint32_t device, std::uint64_t bytes) {
  if (!is_there()) return Charged::kBroken;
  SlotUse& ours = slot(device);
  int full = 0;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const std::uint64_t budget = this->budget(device);
    if (bytes > budget) break;
    ours.undecided.fetch_add(bytes);
    ours.used.fetch_add(bytes);
    const Sums sums = this->sums(device);
    if (sums.all <= budget) {
      ours.undecided.fetch_sub(bytes);
      note_success(device, sums.all);
      return Charged::kYes;
    }
    ours.used.fetch_sub(bytes);
    ours.undecided.fetch_sub(bytes);
    if (sums.decided + bytes <= budget) {
      full = 0;
      wait_a_little(tries);
      continue;
    }
    // A sum is not of one moment, so it is asked twice; and who is dead does not count.
    if (sweep() > 0) continue;
    if (++full == 2) break;
  }
  return is_sane() ? Charged::kFull : Charged::kBroken;
}

void Ledger::note_success(std::uint32_t device, std::uint64_t all) {
  SlotUse& ours = slot(device);
  ours.changes.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t used = ours.used.load(std::memory_order_relaxed);
  if (ours.peak.load(std::memory_order_relaxed) < used) ours.peak.store(used);
  Word& peak = use_->peak[device];
  std::uint64_t highest = peak.load(std::memory_order_relaxed);
  while (highest < all && !peak.compare_exchange_weak(highest, all)) {
  }
}

// Never below 0: a file that was scribbled on must not wrap around.
void Ledger::release(std::uint32_t device, std::uint64_t bytes) {
  if (!is_there()) return;
  SlotUse& ours = slot(device);
  std::uint64_t used = ours.used.load();
  while (!ours.used.compare_exchange_weak(used, used > bytes ? used - bytes : 0)) {
  }
  ours.changes.fetch_add(1, std::memory_order_relaxed);
  if (use_->wanting.load() != 0) tell_those_who_wait();
}

void Ledger::set_at_most(std::uint32_t device) {
  if (!is_there()) return;
  Word& at_most = slot(device).at_most;
  if (at_most.load(std::memory_order_relaxed) == 0) at_most.store(1);
}

bool Ledger::has_process(std::uint64_t pid) const {
  if (!is_there()) return false;
  for (std::uint32_t i = 0; i < slots_seen(); ++i) {
    const SlotOwner& owner = use_->owners[i];
    const Identity identity = owner.identity.load();
    if (identity != 0 && pid_of(identity) == pid && judges_by_pid(owner.namespaces.load()))
      return true;
  }
  return false;
}

std::uint32_t Ledger::sweep(Sweep what) {
  if (!is_there()) return 0;
  if (census_.locks != nullptr) {
    const Lock lock(census_.locks->mutex());
    census_.locks->mend(slot_);
  }
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < slots_seen(); ++i) {
    if (clear_if_dead(i, what)) ++count;
  }
  return count;
}

// An earlier guard does not say what its time namespace is: its start times are those of the first
// one, or of the one that all of its lease are in.
bool Ledger::judges_by_pid(std::uint64_t namespaces) const {
  if (!census_.sees_pids) return false;
  if (is_locking(namespaces))
    return namespaces == namespaces_of(census_.pid_namespace, census_.time_namespace);
  return namespaces == census_.pid_namespace &&
         (census_.time_namespace == 0 || census_.time_namespace == kFirstTimeNamespace);
}

// kLives, kEnding or kGone.
Life Ledger::life_of(std::uint32_t slot, Identity identity, std::uint64_t namespaces) const {
  const auto by_lock = [&] {
    if (!is_locking(namespaces) || census_.locks == nullptr) return Life::kLives;
    const SlotLocks::Holder holder = census_.locks->holder(slot);
    if (holder == SlotLocks::Holder::kNobody) return Life::kGone;
    return holder == SlotLocks::Holder::kClearing ? Life::kEnding : Life::kLives;
  };
  if (!judges_by_pid(namespaces)) return by_lock();
  const Life life = census_.life_of(identity);
  if (life != Life::kUnseen) return life;
  return census_.has_pid(identity) ? by_lock() : Life::kGone;
}

bool Ledger::has_charged(std::uint32_t slot) const {
  for (std::uint32_t device = 0; device < device_count_; ++device) {
    if (use_->slots[device][slot].used.load() > 0) return true;
  }
  return false;
}

bool Ledger::has_dead(std::uint32_t device) const {
  if (!is_there()) return false;
  for (std::uint32_t i = 0; i < slots_seen(); ++i) {
    const SlotOwner& owner = use_->owners[i];
    const Identity identity = owner.identity.load();
    if (identity == 0 || i == slot_ || use_->slots[device][i].used.load() == 0) continue;
    if (life_of(i, identity, owner.namespaces.load()) != Life::kLives) return true;
  }
  return false;
}

bool Ledger::clear_if_dead(std::uint32_t slot, Sweep what) {
  const SlotOwner& owner = use_->owners[slot];
  const Identity identity = owner.identity.load();
  const std::uint64_t namespaces = owner.namespaces.load();
  if (identity == 0 || slot == slot_ || life_of(slot, identity, namespaces) != Life::kGone)
    return false;
  if (what == Sweep::kFreed && looks() > 0 && has_charged(slot)) return false;
  const bool cleared = is_locking(namespaces) ? clear_locked(slot, identity, namespaces)
                                              : clear_by_identity(slot, identity);
  if (cleared && use_->wanting.load() != 0) tell_those_who_wait();
  return cleared;
}

bool Ledger::clear_locked(std::uint32_t slot, Identity identity, std::uint64_t namespaces) {
  if (census_.locks == nullptr) return clear_behind_lock(slot, identity, namespaces);
  const Lock lock(census_.locks->mutex());
  SlotOwner& owner = use_->owners[slot];
  if (owner.identity.load() != identity) return false;
  if (!census_.locks->take_to_clear(slot)) return clear_behind_lock(slot, identity, namespaces);
  const bool ours = owner.namespaces.compare_exchange_strong(namespaces, kLocks);
  if (ours) give_up(slot);
  census_.locks->drop(slot);
  return ours;
}

// The lock is not to be had: its owner is dead by its pid, and a child of it may hold it.
bool Ledger::clear_behind_lock(std::uint32_t slot, Identity identity, std::uint64_t namespaces) {
  if (!judges_by_pid(namespaces)) return false;  // It was taken for dead by its lock alone.
  Word& word = use_->owners[slot].namespaces;
  const std::uint64_t locking = namespaces;
  if (!word.compare_exchange_strong(namespaces, census_.pid_namespace)) return false;
  if (clear_by_identity(slot, identity)) return true;
  std::uint64_t changed = census_.pid_namespace;  // Another has it by now.
  word.compare_exchange_strong(changed, locking);
  return false;
}

// A process that clears a slot owns it meanwhile: if it is killed in the middle, the slot belongs
// to a dead process again, and the next one clears it.
bool Ledger::clear_by_identity(std::uint32_t slot, Identity identity) {
  if (!use_->owners[slot].identity.compare_exchange_strong(identity, census_.self)) return false;
  give_up(slot);
  return true;
}

// In this order: a guard that does not lock may take it as soon as nobody has it.
void Ledger::give_up(std::uint32_t slot) {
  clear(slot);
  use_->owners[slot].namespaces.store(0);
  use_->owners[slot].identity.store(0);
}

void Ledger::clear(std::uint32_t slot) {
  for (std::uint32_t device = 0; device < device_count_; ++device) {
    SlotUse& use = use_->slots[device][slot];
    use.used.store(0);
    use.undecided.store(0);
    use.peak.store(0);
    use.context.store(0);
    use.at_most.store(0);
    use.wanted.store(0);
    use.waits_since.store(0);
    use.changes.fetch_add(1, std::memory_order_relaxed);
  }
}

// Note [Nobody misses what comes free]
//
// A thread that waits reads `wakes`, then sets `wanting`, then tries to charge, and sleeps only as
// long as `wakes` is what it was. One that gives back does so, then looks at `wanting`, and if that
// is set clears it, counts `wakes` up and wakes all. One of the two therefore sees the other,
// whatever the order: the charge finds the room, or the wake-up comes. Nobody who is killed leaves
// anything but a `wanting` that wakes nobody, once; nothing is counted that could stay wrong, and
// who gives memory back while nobody waits reads one word more. A budget that grew, a process that
// was killed and a version of the guard that does not know this wake nobody: so nobody sleeps for
// long at once.

void Ledger::begin_wait(const Wait& wait) {
  if (!is_there()) return;
  SlotUse& ours = slot(wait.device);
  if (ours.wanted.load() == 0) ours.waits_since.store(wait.since);
  ours.wanted.fetch_add(wait.bytes);
}

void Ledger::end_wait(const Wait& wait) {
  if (is_there()) slot(wait.device).wanted.fetch_sub(wait.bytes);
}

std::uint32_t Ledger::before_try() {
  if (!is_there()) return 0;
  const std::uint32_t before = use_->wakes.load();
  use_->wanting.store(1);
  return before;
}

void Ledger::wait(std::uint32_t before, std::uint64_t nanoseconds) {
  wait_on_shared(use_->wakes, before, nanoseconds);
}

void Ledger::tell_those_who_wait() {
  use_->wanting.store(0);
  use_->wakes.fetch_add(1);
  wake_all_shared(use_->wakes);
}

std::uint64_t Ledger::movement() const {
  if (!is_there()) return 0;
  std::uint64_t sum = 0;
  const std::uint32_t seen = slots_seen();
  for (std::uint32_t device = 0; device < device_count_; ++device) {
    sum += budget(device);
    for (std::uint32_t i = 0; i < seen; ++i) sum += use_->slots[device][i].changes.load();
  }
  return sum;
}

bool Ledger::has_one_owner(std::uint32_t one, std::uint32_t other) const {
  const SlotOwner& a = use_->owners[one];
  const SlotOwner& b = use_->owners[other];
  return a.identity.load() == b.identity.load() && a.namespaces.load() == b.namespaces.load();
}

// Of the process that has this slot, in all slots that it has.
Ledger::Stand Ledger::stand_of(std::uint32_t slot) const {
  Stand stand;
  const std::uint32_t seen = slots_seen();
  for (std::uint32_t i = 0; i < seen; ++i) {
    if (!has_one_owner(i, slot)) continue;
    for (std::uint32_t device = 0; device < device_count_; ++device) {
      const SlotUse& use = use_->slots[device][i];
      stand.holds = stand.holds || use.used.load() > 0;
      if (use.wanted.load() == 0) continue;
      const std::uint64_t since = use.waits_since.load();
      stand.waits_since = since < stand.waits_since ? since : stand.waits_since;
    }
  }
  return stand;
}

// Of two that began at once the one in the higher slot counts as the later.
bool Ledger::is_last_of_a_circle() const {
  if (!is_there()) return false;
  const std::uint32_t seen = slots_seen();
  const std::uint64_t ours = stand_of(slot_).waits_since;
  bool others = false;
  for (std::uint32_t i = 0; i < seen; ++i) {
    if (use_->owners[i].identity.load() == 0 || has_one_owner(i, slot_)) continue;
    const Stand theirs = stand_of(i);
    if (!theirs.holds) continue;
    const bool later = theirs.waits_since == ours ? i > slot_ : theirs.waits_since > ours;
    if (later) return false;  // It waits since a later moment, or not at all.
    others = true;
  }
  return others && stand_of(slot_).holds;
}

// Whether what the files say may be held against a program.
bool Ledger::is_sane() const {
  if (!is_there()) return false;
  if (!is_limit_file(*limit_, sizeof(LimitFile)) ||
      !is_use_file(*use_, use_file_size(device_count_))) {
    return false;
  }
  if (use_->slots_seen.load() > kSlotsMax) return false;
  if (use_->owners[slot_].identity.load() != census_.self) return false;
  for (std::uint32_t device = 0; device < device_count_; ++device) {
    if (budget(device) > kBytesMax) return false;
    for (std::uint32_t i = 0; i < kSlotsMax; ++i) {
      if (use_->slots[device][i].used.load() > kBytesMax) return false;
    }
  }
  return true;
}

}  // namespace berth::guard
