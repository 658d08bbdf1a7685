// SPDX-License-Identifier: Apache-2.0
// Actions on leases, and their authors, as the records of one step of the coordinator tell it.
// Pure. What happens again and again by itself (turns, periodic saves, samples) leaves no entry.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/effect.h"
#include "core/event.h"
#include "model/audit_entry.h"
#include "model/lease.h"

namespace berth::server {

/// A lease as it is after the step.
using LeaseLookup = std::function<std::optional<LeaseView>(LeaseId)>;

/// Empty where a user has no name.
using UserNaming = std::function<std::string(UserId)>;

/// A step of the coordinator: what it was made of, what it has decided, and what else it wants.
struct StepTaken {
  const core::Event& event;
  UnixMs at;
  std::span<const Record> records;
  std::span<const core::Effect> effects;
};
std::vector<AuditEntry> audit_of(const StepTaken& step, const LeaseLookup& lookup);

/// No other event tells of it: Note [Facts that are only told].
bool is_only_told(Verb verb);

/// "pause lease 12 (alice/train) by root: a demo, for 10m", for the log.
std::string log_line(const AuditEntry& entry, const UserNaming& name_of);

/// "for lease 5 (root/urgent)", as it is kept.
std::string reason_of(const AuditEntry& entry, const UserNaming& name_of);

}  // namespace berth::server
