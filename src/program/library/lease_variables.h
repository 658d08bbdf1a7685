// SPDX-License-Identifier: Apache-2.0
// The variables of a lease that this process has acquired: they go into its environment, for the
// driver and for its children, and out of it when the lease is over. Not while another thread reads
// the environment (setenv(3)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/lease.h"

namespace berth::library {

class LeaseVariables {
 public:
  /// Of what is there already.
  enum class Before : std::uint8_t {
    kNoLease,
    kLeaseThatIsOver,  // Which nothing of is put back.
  };

  LeaseVariables() = default;
  static LeaseVariables set(const wire::LeaseAnswer& lease, const std::string& socket,
                            Before before);
  /// As it was, but for what the program has set itself since.
  void take_back();

 private:
  struct Change {
    std::string name;
    std::optional<std::string> before;
    std::optional<std::string> now;
  };
  std::vector<Change> changes_;
};

}  // namespace berth::library
