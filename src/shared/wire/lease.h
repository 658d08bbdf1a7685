// SPDX-License-Identifier: Apache-2.0
// A lease as JSON: written for those who may look at it, read leniently by clients. Any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/lease.h"
#include "model/refusal.h"
#include "wire/error.h"
#include "wire/viewer.h"

namespace berth {
class JsonWriter;
}

namespace berth::wire {

class ObjectReader;

/// Variables for the command. Only CUDA_*, NVIDIA_* and BERTH_* names are read.
using Environment = std::map<std::string, std::string>;

/// What an answer adds to the lease, where it adds anything.
struct LeaseExtras {
  const Environment* env = nullptr;  // To a claim or join.
  const Refusal* refusal = nullptr;  // To the event `ended` of a request that got no grant.
};

/// A lease as a client reads it. `view.members` and `view.supervisor` come without start times,
/// `view.request.ancestors` do not come at all, and `view.handle` is 0 where it was not told.
struct LeaseAnswer {
  LeaseView view;
  std::string user;  // Empty: it has no name.
  Environment env;
  std::optional<ApiError> refusal;
  UserNames names = {};  // Of all who are named in it, as they were read.
};

std::string encode_lease(const LeaseView& view, const Viewer& viewer, LeaseExtras extras = {});
Result<LeaseAnswer> decode_lease(std::string_view text);

/// GET /v1/leases
struct LeaseList {
  UnixMs time;
  std::vector<LeaseView> items;
  std::optional<LeaseId> next = {};  // There are older ones: those before this.
  UserNames names = {};              // As they were read.
};
constexpr auto fields_of(Is<LeaseList> auto*) {
  return fields(
      {"LeaseList", "", "berth/ps/v1"}, field("time", &LeaseList::time, "Of the answer."),
      field("items", &LeaseList::items, "By number."),
      field("next", &LeaseList::next,
            "There are older ones: ask again with `before` and this. Not there in the last page.")
          .left_out()
          .from(1));
}
std::string encode_leases(const LeaseList& list, const Viewer& viewer);
/// A queue as well.
Result<LeaseList> decode_leases(std::string_view text);
/// GET /v1/queue
struct LeaseQueue {
  UnixMs time;
  std::vector<LeaseView> items;
};
constexpr auto fields_of(Is<LeaseQueue> auto*) {
  return fields({"Queue", "", "berth/queue/v1"}, field("time", &LeaseQueue::time, "Of the answer."),
                field("items", &LeaseQueue::items, "All of them."));
}
std::string encode_queue(const LeaseQueue& queue, const Viewer& viewer);
/// LeaseList::next alone; absent also where `text` is no list.
std::optional<LeaseId> next_of_leases(std::string_view text);

// For the other files of this folder.
void write_lease(JsonWriter& writer, const LeaseView& view, const Viewer& viewer,
                 LeaseExtras extras = {});
LeaseAnswer read_lease(ObjectReader& reader);

}  // namespace berth::wire
