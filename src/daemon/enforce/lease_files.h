// SPDX-License-Identifier: Apache-2.0
// The door to the files through which the programs of a lease are held to their budgets: `limit`
// and `use`, in a directory of each lease that has its handle for a name. The guard stands on their
// other side (guard/layout.h). One thread; the files are small and mostly in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"

namespace berth::enforce {

/// Of whom files are, and how they are called where people read it: never by the handle.
struct Holder {
  Handle handle;
  LeaseId number;
  UserId user;
};

struct Budget {
  DeviceId device;
  Bytes bytes;
  std::optional<Bytes> context = {};  // What contexts cost there, if that was measured.
};

/// What contexts cost on one device of a lease.
struct ContextCost {
  std::optional<Bytes> first;  // From now on the first one of a process is taken to cost that.
  Bytes most;                  // What none that is there costs more than; 0: not known.
  friend bool operator==(const ContextCost&, const ContextCost&) = default;
};

/// What the programs of a lease have charged, by their own account: not to be trusted further than
/// it agrees with the driver's.
struct Use {
  struct Slot {
    std::uint32_t index = 0;       // In the file.
    Process process;               // As its own namespaces have it.
    std::uint64_t namespaces = 0;  // guard/layout.h says how to read it.
    bool locked = false;           // Its owner lives, for sure.
    Bytes charged;
    std::uint64_t changes = 0;  // Grows with each charge and release.
    Bytes context;              // What of the charge is for contexts that are there.
    bool exact = true;          // What the rest is of, the driver takes.
    friend bool operator==(const Slot&, const Slot&) = default;
    Bytes wanted;  // By allocations that wait for room.
  };
  struct Part {               // Of one device.
    std::vector<Slot> slots;  // Of all processes that have one, dead ones included.
    Bytes peak;
    std::uint64_t refused = 0;  // How often an allocation was.
  };
  /// The last allocation that was refused.
  struct Refusal {
    std::size_t part = 0;
    Bytes bytes;
    Bytes used;  // Of its budget, then.
    Instant at;
    friend bool operator==(const Refusal&, const Refusal&) = default;
  };
  std::vector<Part> parts;  // In the order of the lease's budgets.
  std::optional<Refusal> refusal = {};
  bool wanting = false;  // A process waits for what comes free, or did so a moment ago.
};

/// What programs are told of a pause of their lease.
struct Paused {
  bool away = false;    // Its memory is not on the devices, or on the way.
  bool frozen = false;  // Its processes are stopped.
  friend constexpr bool operator==(const Paused&, const Paused&) = default;
};

/// What programs are told of a device's memory: as a card of the budget's size, or as it is.
struct Shown {
  bool physical_total = false;  // Only what is free is by the budget.
  bool by_nvml = false;         // By NVML as by CUDA; else it tells what there is.
};

class LeaseFiles {
 public:
  enum class Readers : std::uint8_t {
    kOwnUser,   // All is private.
    kAllUsers,  // What is of a lease is open to its user, by access control lists, and to no other.
  };
  struct Settings {
    std::string root;  // The directory of all leases' directories.
    Readers readers = Readers::kOwnUser;
    Bytes context;  // What a process's first context is taken to cost where it was not measured.
    Shown shown = {};
  };
  explicit LeaseFiles(Settings settings) : settings_(std::move(settings)) {}

  /// Makes the files of a lease, or gives it other budgets. Programs that run see them at once, and
  /// keep what they have charged, part by part: also where a part is on another device by now.
  /// Where they cannot be opened to its user alone, there are none afterwards.
  Status set(const Holder& lease, const std::vector<Budget>& budgets) const;
  void remove(Handle lease) const;
  /// Of leases whose files are made from now on.
  void set_shown(const Shown& shown) { settings_.shown = shown; }
  /// Removes the files of all leases that are not named: a daemon that was killed left them.
  void keep_only(const std::vector<Handle>& leases) const;

  /// What the driver counts on each device, in the order of the budgets, beyond what the programs
  /// have charged: it is used all the same.
  Status set_unaccounted(Handle lease, const std::vector<Bytes>& unaccounted) const;

  Status set_contexts(Handle lease, const std::vector<ContextCost>& costs) const;

  /// What dead processes had charged is given back, for the driver has freed it: their slots are
  /// nobody's, but those that are another's by now. `looks` grows in any case: see guard/layout.h.
  Status clear(Handle lease, const std::vector<Use::Slot>& dead) const;

  Status pause(Handle lease, Paused paused) const;
  /// Not paused where there is no such file.
  Paused paused(Handle lease) const;

  /// Where the programs of a lease charge what they take.
  std::string ledger(Handle lease) const { return directory(lease) + "/use"; }
  /// kNotFound or kCorrupt where there is nothing to be read.
  Result<Use> read(Handle lease) const;
  /// Gives `use` the size again that it has on so many devices, whatever that does to its content;
  /// and no program that starts from now on is held.
  Status give_up(Handle lease, std::size_t devices) const;

 private:
  std::string directory(Handle lease) const;
  enum class Was : std::uint8_t { kMissing, kThere };
  Result<Was> make_directory(const std::string& path, std::optional<unsigned> mode) const;
  Status make_files(const Holder& lease, const std::vector<Budget>& budgets,
                    std::optional<unsigned> mode) const;
  Status make_limit(const std::string& path, const std::vector<Budget>& budgets, Was folder) const;
  struct Word {
    std::size_t at = 0;  // In the file.
    std::uint64_t value = 0;
  };
  Result<std::string> read_limit(Handle lease) const;
  Status note_look(Handle lease) const;
  Status write_words(Handle lease, std::size_t devices, const std::vector<Word>& words) const;
  Status make_use(const std::string& path, std::uint32_t devices, Was folder) const;

  Settings settings_;
};

}  // namespace berth::enforce
