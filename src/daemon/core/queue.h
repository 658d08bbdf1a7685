// SPDX-License-Identifier: Apache-2.0
// The waiting requests in the order of the policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "core/policies/rank.h"
#include "core/settings.h"
#include "core/share.h"
#include "core/state.h"

namespace berth::core {

/// Where a request stands; kept by the part that put it there, to take it out again.
struct Place {
  ShareKey group;
  std::int64_t rank = 0;
  std::uint64_t sequence = 0;
  LeaseId id;
  const Lease* lease = nullptr;  // Valid while the request waits.
  Instant queued_at;
  Bytes need;  // On each device; Bytes::max() for a whole device.
  bool urgent = false;
};

class Queue {
 public:
  /// As Place::need.
  static Bytes need_of(const Request& request) {
    return request.share == Share::kExclusive ? Bytes::max() : request.vram;
  }
  static Place place_of(const Lease& lease, const Settings& settings);

  void insert(const Place& place);
  void erase(const Place& place);

  std::size_t size() const { return size_; }
  /// The least that any request needs on a device; Bytes::max() if none asks for a budget.
  Bytes least_need() const;
  bool has_whole_device_request() const;
  bool has_urgent_request() const { return urgent_ > 0; }

 private:
  friend class InOrder;
  struct Key {
    std::int64_t rank;
    std::uint64_t sequence;
    LeaseId id;
    Bytes need;
    const Lease* lease;
    // The lease may be gone when its key is looked for.
    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.rank, a.sequence, a.id) < std::tie(b.rank, b.sequence, b.id);
    }
  };
  using Group = std::set<Key>;
  using ByAge = std::map<std::pair<Instant, LeaseId>, const Lease*>;

  std::map<ShareKey, Group> groups_;
  ByAge by_age_;
  std::multiset<Bytes> needs_;
  std::size_t size_ = 0;
  std::size_t urgent_ = 0;
};

/// The waiting requests, one after the other in the order of the policy. With `fair`, groups are
/// merged as if each grant were made: the user who has had least comes next, with that session of
/// theirs that has, and both are then charged for what is given. The queue must not change
/// meanwhile.
class InOrder {
 public:
  InOrder(const Queue& queue, Instant now, const Settings& settings, const Shares& shares);

  /// Null after the last.
  const Lease* next();

 private:
  struct Session {
    double share;
    Queue::Group::const_iterator head;
    Queue::Group::const_iterator end;
  };
  struct User {
    double share;
    // Of sessions_; a heap: the next one's turn is in front.
    std::size_t first;
    std::size_t end;
  };
  struct SessionIsLater {
    bool operator()(const Session& a, const Session& b) const;
  };
  struct UserIsLater {
    const std::vector<Session>& sessions;
    bool operator()(const User& a, const User& b) const;
  };
  std::span<Session> sessions_of(const User& user);

  const Queue& queue_;
  std::optional<Instant> aged_before_;  // Who asked no later than this comes before everybody.
  Queue::ByAge::const_iterator aged_;
  std::vector<Session> sessions_;
  std::vector<User> users_;  // A heap: the next one's turn is in front.
};

}  // namespace berth::core
