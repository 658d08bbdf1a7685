// SPDX-License-Identifier: Apache-2.0
// Answers of the coordinator to questions: how the devices stand, why a lease waits, whether a
// request would fit. Plain data; the words for people are made by the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/lease.h"

namespace berth {

/// A process on a device that belongs to no lease there.
struct UnmanagedProcess {
  Process process;
  UserId user;
  std::string name;
  std::optional<Bytes> used;
  std::optional<LeaseId> lease = {};  // It belongs to this one, which was not given the device.
};

/// An unmanaged process has come to a device, or has gone.
struct UnmanagedNews {
  bool gone = false;
  DeviceId device;
  std::uint32_t index = 0;
  UnmanagedProcess unmanaged_process;
};

struct DeviceView {
  DeviceId id;
  std::uint32_t index = 0;
  std::string model;
  std::string pci_bus;
  bool lost = false;
  bool asleep = false;
  bool overcommitted = false;
  std::string trouble;
  std::optional<Bytes> capacity;
  std::optional<Bytes> used;
  std::optional<Bytes>
      unmanaged;  // Used by processes of no lease, and what none can be charged for.
  Bytes ignored;  // Of that; held back from nobody, as configured.
  std::optional<Bytes> driver_reserved;
  Bytes reserve;    // Configured.
  Bytes held_back;  // max(reserve, unmanaged - ignored + driver)
  Bytes charged;    // Sum over leases.
  Bytes granted;    // Sum of the budgets of leases.
  Bytes grantable;
  std::optional<Bytes> owed;  // What its leases may still take of their budgets.
  Pressure pressure = Pressure::kNormal;
  std::optional<Duration> sample_age;
  std::optional<bool> lists_processes = {};  // Whether the driver tells what each one uses.
  std::vector<LeaseId> leases;               // Held and releasing, in order of grant.
  std::vector<UnmanagedProcess> unmanaged_processes;
  std::optional<Bytes> context = {};  // What a CUDA context costs whoever asks; a guess at first.
};

/// One change that would let a waiting request start sooner.
struct Remedy {
  enum class Kind : std::uint8_t {
    kAskLess,       // bytes: what would be granted now, on each device.
    kPauseLease,    // lease: whose memory goes to the host.
    kShrinkLease,   // lease, bytes: what it could be shrunk to.
    kOtherDevice,   // device: where it would fit.
    kRequeueLease,  // lease: whose command is stopped, and started again later.
    kCancelLease,   // lease: which is ended with its processes.
    kEndPrograms,   // lease: one that has ended, and whose programs have not.
    kReleaseLease,  // lease: one that no process needs.
  };
  Kind kind = Kind::kAskLess;
  LeaseId lease = {};
  Bytes bytes = {};
  DeviceId device = {};
  std::vector<LeaseId> also = {};  // The same has to be done to these.
};
constexpr auto words_of(Remedy::Kind) {
  using enum Remedy::Kind;
  return make_words<Remedy::Kind>({{kAskLess, "ask_less"},
                                   {kPauseLease, "pause_lease"},
                                   {kShrinkLease, "shrink_lease"},
                                   {kOtherDevice, "other_device"},
                                   {kRequeueLease, "requeue_lease"},
                                   {kCancelLease, "cancel_lease"},
                                   {kEndPrograms, "end_programs"},
                                   {kReleaseLease, "release_lease"}});
}

/// What a lease holds of one device.
struct HeldThere {
  DeviceId device;
  Bytes charged;
};

/// Who holds what a waiting request waits for.
struct Holder {
  LeaseId lease;
  UserId user;
  std::string name;
  Bytes charged;  // Of all `devices`.
  std::optional<UnixMs> expected_end;
  bool has_ended = false;               // What it holds is used by programs that run on.
  std::vector<HeldThere> devices = {};  // Those that the request waits for.
};

/// How the device looks that a request waits for.
struct Shortage {
  DeviceId device;
  std::uint32_t index = 0;
  Bytes capacity;
  Bytes held_back;
  Bytes charged;
  Bytes grantable;
  Bytes missing;  // What the request lacks there.
  std::optional<Bytes> unmanaged;
};

/// What a waiting request asks is above a bound that was lowered since it was made.
struct LoweredLimit {
  enum class Kind : std::uint8_t {
    kLeases,  // As many as its user may have.
    kVram,    // All budgets of its user together.
    kDevice,  // What is left of a device when its reserve is kept.
  };
  Kind kind = Kind::kVram;
  std::uint64_t allowed = 0;  // Leases, or bytes.
  std::uint64_t asked = 0;    // Likewise.
};
constexpr auto words_of(LoweredLimit::Kind) {
  using enum LoweredLimit::Kind;
  return make_words<LoweredLimit::Kind>(
      {{kLeases, "leases"}, {kVram, "vram"}, {kDevice, "device"}});
}

struct WhyView {
  enum class Reason : std::uint8_t {
    kNotWaiting,      // It holds, or has ended.
    kMemory,          // No device has enough to grant.
    kTurn,            // It would fit, and others are ahead.
    kExclusive,       // It wants a device to itself, or someone has one to himself.
    kUnmanaged,       // Memory used by processes of no lease is in the way.
    kOvercommitted,   // The device is charged above its capacity.
    kDriver,          // The driver has not told how the devices are.
    kParked,          // Its own asker has set it aside.
    kNotReconnected,  // Its asker has not come back since the daemon's restart.
    kClaim,           // Offered to it; it has not taken it up yet.
    kPassed,          // Nothing may pass the first any more.
    kUserLimit,       // The user's own bound on leases.
    kStopped,         // Nothing is granted now: disk full, safe mode.
    kProbing,         // Memory of an ended lease has yet to be seen free.
    kSlices,          // Others that run in turns have theirs.
    kAboveLimit,      // It asks more than may be granted by now: `limit`.
    kOutlived,        // Programs of a lease that has ended run on, and use it.
    // Of one that was granted; `halt` tells the rest.
    kPaused,
    kYields,
    kMoves,
    kMeasure,
    kReturns,
    kNotReturned,
  };
  LeaseId id;
  LeaseState state = LeaseState::kWaiting;
  Reason reason = Reason::kNotWaiting;
  std::uint32_t position = 0;  // 1 is next.
  std::vector<LeaseId> ahead;  // At most limits::kWhyListed.
  std::uint64_t ahead_count = 0;
  Duration waited;
  std::uint32_t devices_wanted = 0;
  std::uint32_t devices_fitting = 0;     // Could take it now; of one model, where it wants that.
  std::vector<Shortage> shortages;       // Best device first.
  std::vector<Holder> holders;           // On those of the devices it would get that lack room.
  std::optional<UnixMs> expected_start;  // Absent: no end known.
  std::vector<Remedy> remedies;          // Tried; only where they were asked for.
  std::optional<LoweredLimit> limit = {};
  std::optional<Halt> halt = {};
};
constexpr auto words_of(WhyView::Reason) {
  using enum WhyView::Reason;
  return make_words<WhyView::Reason>({{kNotWaiting, "not_waiting"},
                                      {kMemory, "memory"},
                                      {kTurn, "turn"},
                                      {kExclusive, "exclusive"},
                                      {kUnmanaged, "unmanaged", "strangers"},
                                      {kOvercommitted, "overcommitted"},
                                      {kDriver, "driver"},
                                      {kParked, "parked"},
                                      {kNotReconnected, "not_reconnected"},
                                      {kClaim, "claim"},
                                      {kPassed, "passed"},
                                      {kUserLimit, "user_limit"},
                                      {kStopped, "stopped"},
                                      {kProbing, "probing"},
                                      {kSlices, "slices"},
                                      {kAboveLimit, "above_limit"},
                                      {kOutlived, "outlived"},
                                      {kPaused, "paused"},
                                      {kYields, "yields"},
                                      {kMoves, "moves"},
                                      {kMeasure, "measure"},
                                      {kReturns, "returns"},
                                      {kNotReturned, "not_returned"}});
}

struct FitView {
  bool fits = false;
  std::vector<DeviceId> devices;  // Where, if it fits.
  std::optional<UnixMs> expected_start;
  Bytes largest;  // The largest budget that would be granted now.
  std::uint64_t ahead_count = 0;
  std::vector<Shortage> shortages;
  std::optional<Bytes> learned = {};  // The budget, where it follows from earlier runs.
  std::uint32_t devices_wanted = 0;
  std::uint32_t devices_fitting = 0;
  std::vector<Holder> holders = {};   // As of a request that waits.
  std::vector<Remedy> remedies = {};  // Likewise.
};

}  // namespace berth
