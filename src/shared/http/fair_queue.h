// SPDX-License-Identifier: Apache-2.0
// Queue of the work of several users, of which one piece is taken at a time, of one user after the
// other. Within a user, first come is first served. It knows the pieces by number only, and
// bounds nothing: its callers do. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "base/ids.h"

namespace berth::http {

class FairQueue {
 public:
  void add(UserId user, std::uint64_t piece) { waiting_[user].push_back(piece); }
  /// It is not wanted any more; true: it waited.
  bool remove(UserId user, std::uint64_t piece);
  /// The oldest piece of the next user for whom `may` holds; absent: there is none. It waits no
  /// more.
  std::optional<std::uint64_t> next(const std::function<bool(UserId)>& may);
  bool empty() const { return waiting_.empty(); }
  std::size_t waiting(UserId user) const;

 private:
  std::map<UserId, std::deque<std::uint64_t>> waiting_;  // Of each user one at least.
  UserId last_;                                          // Whose turn it was.
};

}  // namespace berth::http
