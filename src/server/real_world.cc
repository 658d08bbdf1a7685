// SPDX-License-Identifier: Apache-2.0
#include "server/real_world.h"

#include <variant>

namespace berth::server {

Status RealWorld::append(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (const auto* end = std::get_if<LeaseEnded>(&record.fact)) parts_.history.ended(end->id);
    if (const auto* again = std::get_if<LeaseRequeued>(&record.fact)) {
      parts_.history.requeued(again->id, record.wall);
    }
  }
  return parts_.journal.append(records);
}

void RealWorld::ask_probe() {
  parts_.files.before_question();
  parts_.probe.ask();
}

void RealWorld::hold_to(const LeaseView& lease, const std::vector<Part>& budgets, Taken taken) {
  std::vector<enforce::Budget> wanted;
  wanted.reserve(budgets.size());
  for (const Part& part : budgets) wanted.push_back({part.device, part.budget});
  parts_.files.hold_to({.handle = lease.handle, .number = lease.id, .user = lease.user}, wanted,
                       taken == Taken::kTaken ? BudgetFiles::When::kNow : BudgetFiles::When::kSoon);
}

}  // namespace berth::server
