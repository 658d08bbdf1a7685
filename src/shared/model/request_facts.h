// SPDX-License-Identifier: Apache-2.0
// Facts of requests, of those of model/facts.h.
#pragma once

#include <optional>
#include <string>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "model/request.h"

namespace berth {

/// After it the programs of the lease are held to other budgets, are stopped or go on: their guard
/// is told.
template <class Fact>
concept TellsGuard = requires { requires Fact::kTellsGuard; };

struct RequestQueued {
  LeaseId id;
  Handle handle;
  UserId user;
  std::optional<Process> supervisor;
  Request request;
};
constexpr auto fields_of(Is<RequestQueued> auto*) {
  return fields({"request_queued", "A request was made, and waits."},
                field("id", &RequestQueued::id).required(),
                field("handle", &RequestQueued::handle).required(),
                field("user_id", &RequestQueued::user).required(),
                field("supervisor", &RequestQueued::supervisor),
                field("request", &RequestQueued::request).required());
}
struct RequestPassed {
  LeaseId id;
};
constexpr auto fields_of(Is<RequestPassed> auto*) {
  return fields(
      {"request_passed", "The first time that a later request was granted before this one."},
      field("id", &RequestPassed::id).required());
}
struct RequestParked {
  LeaseId id;
  bool parked = true;  // False: it is back in its place.
};
constexpr auto fields_of(Is<RequestParked> auto*) {
  return fields({"request_parked", "It is set aside, or back in its place."},
                field("id", &RequestParked::id).required(),
                field("parked", &RequestParked::parked).required());
}
struct RequestOnHold {
  LeaseId id;
  bool on_hold = true;  // False: it may be granted again.
  std::optional<UserId> by = {};
  std::string reason = {};  // Where nobody asked for it.
};
constexpr auto fields_of(Is<RequestOnHold> auto*) {
  return fields({"request_on_hold", "It is kept from being granted, or may be granted again."},
                field("id", &RequestOnHold::id).required(),
                field("on_hold", &RequestOnHold::on_hold).required(),
                field("by", &RequestOnHold::by),
                field("reason", &RequestOnHold::reason).left_out(side::kJournal));
}
struct RequestEdited {
  LeaseId id;
  RequestEdit edit;
  std::optional<UserId> by = {};
};
constexpr auto fields_of(Is<RequestEdited> auto*) {
  return fields({"request_edited", "It asks for something else from now on, in its place."},
                field("id", &RequestEdited::id).required(),
                field("edit", &RequestEdited::edit).required(), field("by", &RequestEdited::by));
}
struct RequestKept {
  LeaseId id;
};
constexpr auto fields_of(Is<RequestKept> auto*) {
  return fields({"request_kept", "It is a job from now on: it stays when its requester leaves."},
                field("id", &RequestKept::id).required());
}
struct JobQueuedAgain {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
  Duration waited;  // Before, since it was asked for or queued again.
};
constexpr auto fields_of(Is<JobQueuedAgain> auto*) {
  return fields({"job_queued_again", "The machine was started anew: it waits in its place."},
                field("id", &JobQueuedAgain::id).required(),
                field("waited", &JobQueuedAgain::waited).required());
}

}  // namespace berth
