// SPDX-License-Identifier: Apache-2.0
#include "core/progress.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/quantity.h"
#include "core/limits.h"

namespace berth::core {

// How long the rest takes if it goes on as it went since it was first told of.
std::optional<Duration> ProgressReports::left_at_its_rate(const Reported& reported,
                                                          std::uint64_t total) {
  const std::uint64_t done = reported.last.done - reported.done_first;
  if (done == 0) return std::nullopt;
  const auto each =
      static_cast<double>((reported.at - reported.first_at).ns) / static_cast<double>(done);
  const double left = each * static_cast<double>(total - reported.last.done);
  const double most = static_cast<double>(limits::kReportedEndMax.ns);
  return Duration{static_cast<std::int64_t>(std::min(left, most))};
}

std::optional<Refusal> ProgressReports::refuse(const Lease& lease, const ProgressBody& body) {
  const Held* held = lease.held();
  if (held == nullptr || !held->claimed) {
    return Refusal{RefusalCode::kWrongState,
                   text_of(lease.id) + " does not run: nothing of it can have been done"};
  }
  if (body.total && *body.total < body.done) {
    return Refusal{RefusalCode::kInvalid, "more is done (" + std::to_string(body.done) +
                                              ") than there is to be done (" +
                                              std::to_string(*body.total) + ")"};
  }
  if (body.left && (body.left->ns < 0 || *body.left > limits::kReportedEndMax)) {
    return Refusal{RefusalCode::kInvalid,
                   "what is left takes from nothing to " + to_text(limits::kReportedEndMax)};
  }
  if (body.note.size() > limits::kProgressNote) {
    return Refusal{RefusalCode::kInvalid, "the note has " + std::to_string(body.note.size()) +
                                              " bytes: at most " +
                                              std::to_string(limits::kProgressNote) + " are kept"};
  }
  if (body.phase.size() > limits::kProgressPhase) {
    return Refusal{RefusalCode::kInvalid, "the phase has " + std::to_string(body.phase.size()) +
                                              " bytes: at most " +
                                              std::to_string(limits::kProgressPhase) + " are kept"};
  }
  return std::nullopt;
}

void ProgressReports::on(const ReportProgress& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const ProgressBody& body = event.body;
  if (std::optional<Refusal> refusal = refuse(*lease, body)) {
    core_->refuse(event.token, *std::move(refusal));
    return;
  }
  std::optional<Reported>& reported = reported_[lease->id];
  const bool goes_on = reported && body.done >= reported->last.done &&
                       reported->first_at >= lease->held()->runs_since;
  if (!goes_on) reported = Reported{.done_first = body.done, .first_at = core_->now().instant};
  reported->at = core_->now().instant;
  reported->last = {.done = body.done,
                    .total = body.total,
                    .left = body.left,
                    .note = body.note,
                    .loss = body.loss,
                    .phase = body.phase,
                    .at = core_->now().wall};
  if (!body.left && body.total) reported->last.left = left_at_its_rate(*reported, *body.total);
  courses_[lease->id].add(reported->last);
  core_->derive(lease->id);
  core_->answer(event.token, lease->id);
}

std::optional<Progress> ProgressReports::last(LeaseId id) const {
  const std::optional<Reported>& reported = reported_.at(id);
  return reported ? std::optional(reported->last) : std::nullopt;
}

std::optional<ReportedEnd> ProgressReports::end(LeaseId id) const {
  const std::optional<Reported>& reported = reported_.at(id);
  if (!reported || !reported->last.left) return std::nullopt;
  return ReportedEnd{.at = reported->at, .left = *reported->last.left};
}

}  // namespace berth::core
