// SPDX-License-Identifier: Apache-2.0
// A lease as JSON: written for those who may look at it, read leniently by clients. Any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
};

std::string encode_lease(const LeaseView& view, const Viewer& viewer, LeaseExtras extras = {});
Result<LeaseAnswer> decode_lease(std::string_view text);

/// {"schema":…,"time":…,"items":[…],"next":…}: ps ("berth/ps/v1") and the queue ("berth/queue/v1").
inline constexpr std::string_view kPsSchema = "berth/ps/v1";
inline constexpr std::string_view kQueueSchema = "berth/queue/v1";
struct LeaseList {
  UnixMs time;
  std::vector<LeaseView> items;
  UserNames names;
  std::optional<LeaseId> next = {};  // There are older ones: those before this.
};
std::string encode_leases(std::string_view schema, UnixMs time, const std::vector<LeaseView>& items,
                          const Viewer& viewer, std::optional<LeaseId> next = {});
Result<LeaseList> decode_leases(std::string_view text);
/// LeaseList::next alone; absent also where `text` is no list.
std::optional<LeaseId> next_of_leases(std::string_view text);

// For the other files of this folder.
void write_lease(JsonWriter& writer, const LeaseView& view, const Viewer& viewer,
                 LeaseExtras extras = {});
LeaseAnswer read_lease(ObjectReader& reader);

}  // namespace berth::wire
