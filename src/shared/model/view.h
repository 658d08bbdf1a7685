// SPDX-License-Identifier: Apache-2.0
// Answers of the coordinator to questions: how the devices stand, why a lease waits, whether a
// request would fit. Plain data; the words for people are made by the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/device.h"
#include "model/lease.h"

namespace berth {

/// A process on a device that belongs to no lease there.
struct UnmanagedProcess {
  Process process;
  UserId user;
  std::string name;
  std::optional<Bytes> used;
  std::optional<std::uint32_t> gpu_utilization = {};  // Percent.
  std::optional<LeaseId> lease = {};  // It belongs to this one, which was not given the device.
};
constexpr auto fields_of(Is<UnmanagedProcess> auto*) {
  return fields({"UnmanagedProcess", "A process on a GPU that belongs to no lease there."},
                all_fields(&UnmanagedProcess::process),
                field("user", &UnmanagedProcess::user, "Whose it is."),
                field("name", &UnmanagedProcess::name, "Of the program."),
                field("vram_used", &UnmanagedProcess::used, "On this GPU."),
                field("gpu_utilization_percent", &UnmanagedProcess::gpu_utilization,
                      "How long it computed there, of the time since the last look.")
                    .to(100),
                field("lease", &UnmanagedProcess::lease,
                      "To which it belongs, though that was not given this GPU."));
}

/// An unmanaged process has come to a device, or has gone.
struct UnmanagedNews {
  bool gone = false;
  DeviceId device;
  std::uint32_t index = 0;
  UnmanagedProcess unmanaged_process;
};
constexpr auto fields_of(Is<UnmanagedNews> auto*) {
  return fields(
      {"UnmanagedNews", "A process without a lease that has come to a GPU, or has gone."},
      field("uuid", &UnmanagedNews::device, "Of the GPU."),
      field("index", &UnmanagedNews::index, "In PCI order."),
      all_fields(&UnmanagedNews::unmanaged_process, &UnmanagedProcess::process),
      field("user", &UnmanagedNews::unmanaged_process, &UnmanagedProcess::user, "Whose it is."),
      field("name", &UnmanagedNews::unmanaged_process, &UnmanagedProcess::name, "Of the program."),
      field("vram_used", &UnmanagedNews::unmanaged_process, &UnmanagedProcess::used,
            "On this GPU, as last seen."));
}

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
  DeviceFigures figures = {};
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
  std::optional<Bytes> context = {};  // What a CUDA context costs this user; a guess at first.
};
constexpr auto fields_of(Is<DeviceView> auto*) {
  return fields(
      {"Device", "A GPU. Unknown is null, never 0."},
      field("uuid", &DeviceView::id, "As the driver names it."),
      field("index", &DeviceView::index, "In PCI order."),
      field("model", &DeviceView::model, "As the driver names it."),
      field("pci_bus", &DeviceView::pci_bus, "Its address."),
      computed("simulated", "Not a real GPU.",
               [](const DeviceView&, const auto& extras) { return extras.simulated; }),
      field("lost", &DeviceView::lost, "It has fallen off the bus, or answers with errors."),
      field("asleep", &DeviceView::asleep, "Suspended, and not woken to be asked."),
      field("overcommitted", &DeviceView::overcommitted,
            "Charged above what there is; nothing is granted on it."),
      field("trouble", &DeviceView::trouble, "For people."),
      field("vram_total", &DeviceView::capacity, "Its memory."),
      field("vram_used", &DeviceView::used, "By everyone."),
      field("vram_unmanaged", &DeviceView::unmanaged, "By processes of no lease.")
          .once_called("vram_external_bytes"),
      field("vram_ignored", &DeviceView::ignored,
            "Of the unmanaged use; granted to leases all the same, because policy.unmanaged is "
            "\"ignore\"."),
      all_fields(&DeviceView::figures),
      field("vram_reserve", &DeviceView::reserve, "As configured."),
      field("vram_held_back", &DeviceView::held_back,
            "max(reserve, unmanaged - ignored + driver): kept from leases."),
      field("vram_charged", &DeviceView::charged,
            "Charged to leases: for each the larger of budget and use."),
      field("vram_granted", &DeviceView::granted, "The budgets of leases."),
      field("vram_grantable", &DeviceView::grantable, "What could be granted now."),
      field("vram_owed", &DeviceView::owed,
            "What its leases may still take of their budgets; null: not known."),
      field("vram_context", &DeviceView::context,
            "What a CUDA context costs a program of the user who asks, gpu.context until one was "
            "measured: no budget may be smaller. Null in events, which are told to all."),
      field("pressure", &DeviceView::pressure,
            "warn: its leases could not all have their budgets; critical: one alone could not."),
      field("sample_age", &DeviceView::sample_age, "How old the figures are."),
      field("processes_listed", &DeviceView::lists_processes,
            "Whether the driver tells what each process uses: where not, no lease is seen above "
            "its budget."),
      field("leases", &DeviceView::leases, "Ids of those on it, in order of grant."),
      field("unmanaged_processes", &DeviceView::unmanaged_processes, "Who else uses it.")
          .once_called("strangers"));
}

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
constexpr auto fields_of(Is<Remedy> auto*) {
  return fields(
      {"Remedy", "One change that would let a request start sooner."},
      field("kind", &Remedy::kind, "What to do.").skipping_unknown(),
      field("id", &Remedy::lease,
            "The lease to pause, shrink, requeue, cancel or release, or whose programs to end.")
          .null_at_default(),
      field("vram", &Remedy::bytes, "What to ask for, or to shrink to, on each GPU.")
          .null_at_default(),
      field("uuid", &Remedy::device, "The GPU where it would fit.").null_at_default(),
      field("also", &Remedy::also, "Leases with which the same has to be done."));
}

/// What a lease holds of one device.
struct HeldThere {
  DeviceId device;
  Bytes charged;
};
constexpr auto fields_of(Is<HeldThere> auto*) {
  return fields({"HeldThere", "What a lease holds of one GPU."},
                field("uuid", &HeldThere::device, "Of the GPU."),
                field("vram_charged", &HeldThere::charged, "Charged to it there."));
}

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
constexpr auto fields_of(Is<Holder> auto*) {
  return fields({"Holder", "Who holds what a request waits for."},
                field("id", &Holder::lease, "Of the lease."),
                field("user", &Holder::user, "Whose it is."),
                field("name", &Holder::name, "Of the lease."),
                field("vram_charged", &Holder::charged, "Charged to it on all of them."),
                field("expected_end", &Holder::expected_end, "Null: no end known."),
                field("has_ended", &Holder::has_ended,
                      "The lease has ended; programs of it run on and use this."),
                field("devices", &Holder::devices, "Which GPUs that is on."));
}

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
constexpr auto fields_of(Is<Shortage> auto*) {
  return fields({"Shortage", "How a GPU stands that a request waits for."},
                field("uuid", &Shortage::device, "Of the GPU."),
                field("index", &Shortage::index, "In PCI order."),
                field("vram_total", &Shortage::capacity, "Its memory."),
                field("vram_held_back", &Shortage::held_back,
                      "Kept from leases: the reserve, or what unmanaged processes and the driver "
                      "use if that is more."),
                field("vram_charged", &Shortage::charged, "Charged to leases."),
                field("vram_grantable", &Shortage::grantable, "What could be granted now."),
                field("vram_missing", &Shortage::missing, "What the request lacks there."),
                field("vram_unmanaged", &Shortage::unmanaged, "Used by processes of no lease.")
                    .once_called("vram_external_bytes"));
}

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
constexpr auto fields_of(Is<LoweredLimit> auto*) {
  using Figure = std::optional<std::uint64_t>;
  const auto is_of_leases = [](const LoweredLimit& limit) {
    return limit.kind == LoweredLimit::Kind::kLeases;
  };
  return fields(
      {"LoweredLimit", "A bound that was lowered below what a waiting request asks."},
      field("kind", &LoweredLimit::kind,
            "`leases` or `vram` of its user in the configuration, or what a GPU can grant beside "
            "its reserve."),
      computed(
          "leases_allowed", "With `leases`.",
          [=](const LoweredLimit& limit) {
            return is_of_leases(limit) ? Figure(limit.allowed) : std::nullopt;
          },
          [](LoweredLimit& limit, std::uint64_t leases) {
            limit.allowed = leases;
            limit.asked = 1;
          }),
      computed(
          "vram_allowed_bytes", "With the others.",
          [=](const LoweredLimit& limit) {
            return is_of_leases(limit) ? std::nullopt : Figure(limit.allowed);
          },
          [](LoweredLimit& limit, std::uint64_t bytes) { limit.allowed = bytes; }),
      computed(
          "vram_asked_bytes", "Likewise; of all GPUs with `vram`.",
          [=](const LoweredLimit& limit) {
            return is_of_leases(limit) ? std::nullopt : Figure(limit.asked);
          },
          [](LoweredLimit& limit, std::uint64_t bytes) { limit.asked = bytes; }));
}

struct WhyView {
  enum class Reason : std::uint8_t {
    kNotWaiting,      // It holds, or has ended.
    kMemory,          // No device has enough to grant.
    kTurn,            // It would fit, and others are ahead.
    kExclusive,       // It wants a device to itself, or another lease has one to itself.
    kUnmanaged,       // Memory used by processes of no lease is in the way.
    kOvercommitted,   // The device is charged above its capacity.
    kDriver,          // The driver has not told how the devices are.
    kParked,          // Its own requester has set it aside.
    kAfter,           // Leases that it is to start after have not ended.
    kNotBefore,       // It is to start later.
    kMembers,         // It is a set: its members wait and run.
    kOnHold,          // A user keeps it from being granted.
    kNotReconnected,  // Its requester has not come back since the restart.
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
  std::vector<LeaseId> retried = {};  // Of those that it is to start after.
  std::optional<Duration> check_again_after = {};
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
                                      {kAfter, "after"},
                                      {kNotBefore, "not_before"},
                                      {kMembers, "members"},
                                      {kOnHold, "on_hold"},
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
constexpr auto fields_of(Is<WhyView> auto*) {
  return fields(
      {"Why", "", "berth/why/v1"},
      field("id", &WhyView::id, "Of the request.").required(side::kAnswer),
      field("state", &WhyView::state, "Where it stands."),
      field("reason", &WhyView::reason, "Why it has not been granted."),
      field("position", &WhyView::position, "1 is next; 0 if it does not wait."),
      field("ahead", &WhyView::ahead, "Requests before it, the next ones at most 16."),
      field("ahead_count", &WhyView::ahead_count, "How many there are."),
      field("waited", &WhyView::waited, "So far."),
      field("devices_wanted", &WhyView::devices_wanted, "How many GPUs it asks for."),
      field("devices_fitting", &WhyView::devices_fitting,
            "How many of those that it could have could take it now."),
      field("shortages", &WhyView::shortages, "The best GPU first."),
      field("holders", &WhyView::holders,
            "On those of the GPUs that it would get which lack room."),
      field("expected_start", &WhyView::expected_start, "If known ends hold; null: no end known."),
      field("check_again_after", &WhyView::check_again_after, kCheckAgainDoc),
      field(
          "remedies", &WhyView::remedies,
          "What would help; each was tried. In the events of a request that waits there are none."),
      field("limit", &WhyView::limit, "With `above_limit`: which."),
      field("retried", &WhyView::retried,
            "With `after`: those of them that have failed and are started again; how the last "
            "attempt ends is what counts."),
      field("halted", &WhyView::halt, "Of a lease that was granted and does not run: why."));
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
  std::optional<Duration> check_again_after = {};
  std::vector<Holder> holders = {};   // As of a request that waits.
  std::vector<Remedy> remedies = {};  // Likewise.
};
constexpr auto fields_of(Is<FitView> auto*) {
  return fields(
      {"Fit", "", "berth/fit/v1"},
      field("fits", &FitView::fits, "Whether it would be granted now.").required(side::kAnswer),
      field("devices", &FitView::devices, "The UUIDs of the GPUs where, if it fits."),
      field("expected_start", &FitView::expected_start,
            "If it had been asked for now and known ends hold."),
      field("check_again_after", &FitView::check_again_after, kCheckAgainDoc),
      field("vram_largest", &FitView::largest,
            "The largest budget that would be granted now, on each of as many GPUs."),
      field("ahead_count", &FitView::ahead_count, "Requests that wait before it."),
      field("vram_learned", &FitView::learned,
            "The size, where it follows from earlier runs of the command."),
      field("devices_wanted", &FitView::devices_wanted, "How many GPUs it asks for."),
      field("devices_fitting", &FitView::devices_fitting,
            "How many of those that it could have could take it now."),
      field("shortages", &FitView::shortages, "The best GPU first."),
      field("holders", &FitView::holders,
            "On those of the GPUs that it would get which lack room."),
      field("remedies", &FitView::remedies,
            "What would help; each was tried. In a stream there are none."));
}

}  // namespace berth
