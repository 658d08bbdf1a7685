// SPDX-License-Identifier: Apache-2.0
#include "http/fair_queue.h"

#include <deque>

namespace berth::http {

bool FairQueue::remove(UserId user, std::uint64_t piece) {
  const auto found = waiting_.find(user);
  if (found == waiting_.end()) return false;
  const bool waited = std::erase(found->second, piece) > 0;
  if (found->second.empty()) waiting_.erase(found);
  return waited;
}

std::optional<std::uint64_t> FairQueue::next(const std::function<bool(UserId)>& may) {
  auto at = waiting_.upper_bound(last_);
  for (std::size_t left = waiting_.size(); left > 0; --left, ++at) {
    if (at == waiting_.end()) at = waiting_.begin();
    if (!may(at->first)) continue;
    const std::uint64_t piece = at->second.front();
    last_ = at->first;
    at->second.pop_front();
    if (at->second.empty()) waiting_.erase(at);
    return piece;
  }
  return std::nullopt;
}

std::size_t FairQueue::waiting(UserId user) const {
  const auto found = waiting_.find(user);
  return found == waiting_.end() ? 0 : found->second.size();
}

}  // namespace berth::http
