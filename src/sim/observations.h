// SPDX-License-Identifier: Apache-2.0
// Evidence that the judge's rules are applied to: what was written, asked and answered, and how the
// devices and processes truly are. The coordinator's own opinion is no evidence.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/units.h"
#include "core/event.h"
#include "core/settings.h"
#include "model/lease.h"
#include "server/ports.h"
#include "sim/devices.h"
#include "sim/ladders.h"
#include "sim/processes.h"
#include "sim/reference_model.h"

namespace berth::sim {

/// What was asked about a lease beside what the journal says of it.
struct Known {
  ConnectionId requester;            // The youngest connection that asked for it.
  bool requester_gone = false;       // That connection was closed.
  bool released = false;             // By a Release or a Cancel.
  bool resumed_by_somebody = false;  // By a Resume, after it was paused.
  std::set<UserId> pausers = {};     // Who have asked for a pause, or to stop it.
  Instant reconnected_at;
  // The largest budget of each part that it had since a sample could tell what it used. Empty: its
  // present one.
  std::vector<Bytes> largest;
  std::set<Process> leftovers = {};  // Told by its supervisor.
  bool found_free = false;  // It has ended, and a sample asked since lists none of its processes.
  Instant back_at = {};     // When memory of it last came back to a device.
};

struct Observations {
  const Devices& devices;
  const Processes& processes;
  ReferenceModel journal;
  core::Settings settings;    // In force.
  Duration claim_within_max;  // The longest that was in force.
  Bytes reserve_least;        // The least that was in force on any device.
  bool rebooted = false;      // The machine was, and the daemon is recovering from it.
  Instant daemon_since;       // When the daemon started, in this boot.
  Instant behind_at;          // When some records were last known not to be written.
  std::map<LeaseId, Known> known;
  std::set<DeviceId> sampled_lost;                           // By the last sample.
  Instant last_asked_at;                                     // When the last sample was asked for.
  std::set<std::pair<DeviceId, Process>> sampled_uses = {};  // By the same.
  AboveBudget above_budget = {};
  std::map<LeaseId, std::uint64_t> moving = {};  // Which move of each is under way.
  std::set<LeaseId> coming_back = {};            // Whose memory the driver is just moving back.

  const Known& of(LeaseId lease) const;
  /// Of the dead the driver knows the pid alone, and pids come again: whose process of that pid
  /// began last, by the journal or by the word of its supervisor; the inner one's, where it was of
  /// two.
  std::optional<LeaseId> last_with(std::int32_t pid) const;
  Bytes reserve_on(DeviceId device) const;
  /// Records are not written, or were not a moment ago.
  bool is_behind(Instant now) const { return behind_at.ns > 0 && behind_at + seconds(2) > now; }
};

/// By what the request names. Devices have their places in the list of all.
bool may_be_on(const Request& request, DeviceId device, std::size_t index);
/// As many devices as it asks for are of these models: of one, unless it leaves that open.
bool are_enough(const Request& request, std::span<const std::string> models);

// Each rule answers with what is broken, or with nothing.

/// A grant, or a growth, that was just written; `before` is how the lease stood before.
std::string check_grant(const Observations& observations, const ReferenceLease& lease,
                        const ReferenceLease& before);
/// A lease that was just granted: what its user has now.
std::string check_user(const Observations& observations, const ReferenceLease& granted);
/// A process that was just written down as a member of the lease.
std::string check_member(const Observations& observations, const ReferenceLease& lease,
                         Process process);
/// A lease that is just wanted back; `before` is how it stood before.
std::string check_resume(const Observations& observations, const ReferenceLease& before,
                         core::Now now);
/// A lease that was just ended, with a process whose memory is not there yet.
std::string check_end_on_the_way(const Observations& observations, const ReferenceLease& lease,
                                 core::Now now);
/// A lease that was just put on other devices; `before` is how it stood before.
std::string check_migration(const Observations& observations, const ReferenceLease& lease,
                            const ReferenceLease& before);
/// A process of a lease whose memory was just brought back, all of it.
std::string check_place(const Observations& observations, LeaseId lease, Process process);
/// A lease whose charge was just given up, by its end or to wait again; `before` is how it stood.
std::string check_freeing(const Observations& observations, const ReferenceLease& before,
                          core::Now now);
/// A lease that was just ended or released; `lease` is how it stood before.
std::string check_end(const Observations& observations, const ReferenceLease& lease,
                      EndResult result, core::Now now);
/// The end that an answer tells of a lease.
std::string check_expected_end(const ReferenceLease& lease, const LeaseView& view, core::Now now);
/// A time that has passed without what should have happened by then.
std::string check_delay(const Observations& observations, core::Now now);
/// A program was refused memory inside its budget.
std::string check_out_of_memory(const Observations& observations, std::size_t device);

}  // namespace berth::sim
