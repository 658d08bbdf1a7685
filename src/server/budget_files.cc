// SPDX-License-Identifier: Apache-2.0
#include "server/budget_files.h"

#include <algorithm>
#include <utility>

namespace berth::server {

BudgetFiles::BudgetFiles(enforce::LeaseFiles::Settings settings, const os::Clock& clock,
                         std::function<void(const std::string&)> warn)
    : files_(std::move(settings)), clock_(clock), warn_(std::move(warn)) {}

void BudgetFiles::hold_to(Handle lease, const std::vector<enforce::Budget>& budgets, When when) {
  if (budgets.empty()) {
    new_.erase(lease);
    if (made_.erase(lease) == 0) return;
    old_.push_back(lease);
    tidy_at_ = clock_.now() + kQuietFor;
  } else if (made_.contains(lease)) {
    set(lease, budgets);
  } else if (when == When::kSoon) {
    new_[lease] = budgets;
  } else {
    new_.erase(lease);
    make(lease, budgets);
  }
}

void BudgetFiles::catch_up() {
  for (const auto& [lease, budgets] : std::exchange(new_, {})) make(lease, budgets);
  while (old_.size() > kOldMax) remove_oldest();
}

void BudgetFiles::make(Handle lease, const std::vector<enforce::Budget>& budgets) {
  // Offered again: nothing of the earlier offer may be left.
  if (std::erase(old_, lease) > 0) files_.remove(lease);
  set(lease, budgets);
  made_.insert(lease);
  tidy_at_ = clock_.now() + kQuietFor;
}

// One at a time: whoever asks meanwhile does not wait for all of them.
void BudgetFiles::tidy() {
  if (!old_.empty() && clock_.now() >= tidy_at_) remove_oldest();
}

void BudgetFiles::tidy_all() {
  while (!old_.empty()) remove_oldest();
}

void BudgetFiles::remove_oldest() {
  files_.remove(old_.front());
  old_.pop_front();
}

// A lease without these files is a lease all the same; what runs in it is not held to its budget.
void BudgetFiles::set(Handle lease, const std::vector<enforce::Budget>& budgets) const {
  if (const Status made = files_.set(lease, budgets); !made.ok()) {
    warn_("a lease is not held to its budget: " + made.error().message);
  }
}

}  // namespace berth::server
