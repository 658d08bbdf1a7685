// SPDX-License-Identifier: Apache-2.0
// Progress that the program of a lease reports, and the end that is expected from it. It is
// reported again and again, and so is written nowhere: a daemon that starts hears it anew.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/decider.h"
#include "core/ledger.h"
#include "core/part.h"
#include "core/progress_course.h"
#include "model/lease.h"

namespace berth::core {

class ProgressReports {
 public:
  explicit ProgressReports(Decider& core) : core_(core) {}

  void on(const ReportProgress& event);
  void forget(LeaseId id) {
    reported_.forget(id);
    courses_.forget(id);
  }

  std::optional<Progress> last(LeaseId id) const;
  const std::vector<ProgressPoint>& course(LeaseId id) const { return courses_.at(id).points(); }
  std::optional<ReportedEnd> end(LeaseId id) const;

 private:
  struct Reported {
    Progress last;
    Instant at;
    std::uint64_t done_first = 0;  // How fast it goes is counted from here:
    Instant first_at;              // the first report since it runs, or since it began anew.
  };
  static std::optional<Refusal> refuse(const Lease& lease, const ProgressBody& body);
  static std::optional<Duration> left_at_its_rate(const Reported& reported, std::uint64_t total);

  Ref<Decider> core_;
  PerLease<std::optional<Reported>> reported_;
  PerLease<CourseOfProgress> courses_;
};

}  // namespace berth::core
