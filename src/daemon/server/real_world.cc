// SPDX-License-Identifier: Apache-2.0
#include "server/real_world.h"

#include <variant>

#include "os/users.h"
#include "server/audit.h"

namespace berth::server {

Status RealWorld::append(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (const auto* leaving = std::get_if<LeaseReleasing>(&record.fact)) {
      metrics_.leaves(leaving->id, parts_.clock.now());
    }
    if (const auto* end = std::get_if<LeaseEnded>(&record.fact)) parts_.history.ended(end->id);
    if (const auto* again = std::get_if<LeaseRequeued>(&record.fact)) {
      parts_.history.requeued(again->id, record.wall);
    }
  }
  return parts_.journal.append(records);
}

// An error but this one says that it has ended, which is reported as such.
bool RealWorld::signal(const core::Signal& signal) {
  const Status sent = parts_.processes.signal(signal.user, signal.process, signal.signal);
  if (sent.ok() || sent.error().code != Errc::kPermission) return true;
  parts_.log.warn("no signal " + std::to_string(signal.signal) + ": " + sent.error().message);
  return false;
}

void RealWorld::did(const AuditEntry& entry) {
  const auto name_of = [&](UserId user) {
    const auto found = parts_.user_names.find(user);
    return found == parts_.user_names.end() ? os::user_name(user) : found->second;
  };
  parts_.log.info(log_line(entry, name_of));
  metrics_.did(entry);
  AuditEntry kept = entry;
  kept.reason = reason_of(entry, name_of);
  parts_.history.did(kept);
  parts_.happened(kept);
}

void RealWorld::ask_probe() {
  parts_.files.before_question();
  parts_.probe.ask();
}

void RealWorld::set_budgets(const LeaseView& lease, const std::vector<Part>& budgets, Taken taken) {
  std::vector<enforce::Budget> wanted;
  wanted.reserve(budgets.size());
  for (const Part& part : budgets) wanted.push_back({part.device, part.budget});
  parts_.files.set_budgets(
      {.handle = lease.handle, .number = lease.id, .user = lease.user}, wanted,
      taken == Taken::kTaken ? BudgetFiles::When::kNow : BudgetFiles::When::kSoon);
}

}  // namespace berth::server
