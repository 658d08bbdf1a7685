// SPDX-License-Identifier: Apache-2.0
// References between parts of the coordinator, and what they know per lease. For core/ alone.
#pragma once

#include <map>
#include <utility>

#include "base/ids.h"

namespace berth::core {

/// A reference from a part to another part of the same coordinator. A coordinator that is made like
/// another takes over what its parts know, and its references stay its own.
template <class T>
class Ref {
 public:
  Ref(T& to) : to_(&to) {}  // NOLINT(google-explicit-constructor): it stands for what it names.
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) { return *this; }  // NOLINT(bugprone-unhandled-self-assignment)
  ~Ref() = default;

  T* operator->() const { return to_; }
  T& operator*() const { return *to_; }

 private:
  T* to_;
};

/// What a part knows of leases beside their state. Of a lease of which nothing was learnt that is
/// the default.
template <class T>
class PerLease {
 public:
  const T& at(LeaseId id) const {
    static const T kNothing{};
    const auto found = of_.find(id);
    return found == of_.end() ? kNothing : found->second;
  }
  T& operator[](LeaseId id) { return of_[id]; }
  void forget(LeaseId id) { of_.erase(id); }
  PerLease& operator=(std::map<LeaseId, T> all) {
    of_ = std::move(all);
    return *this;
  }

 private:
  std::map<LeaseId, T> of_;
};

}  // namespace berth::core
