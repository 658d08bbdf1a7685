// SPDX-License-Identifier: Apache-2.0
#include "wire/live.h"

#include <utility>

#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace berth::wire {

std::string encode_live_snapshot(const LiveSnapshot& snapshot, const Viewer& viewer) {
  return answer_text(snapshot, viewer, {.simulated = snapshot.status.simulated});
}

std::string encode_live_change(const LiveChange& change, bool simulated, const Viewer& viewer) {
  return answer_text(change, viewer, {.simulated = simulated});
}

Result<NamedSnapshot> decode_live_snapshot(std::string_view text) {
  NamedSnapshot named;
  TRY(snapshot, read_answer<LiveSnapshot>(text, named.names));
  named.snapshot = std::move(snapshot);
  return named;
}

Result<NamedChange> decode_live_change(std::string_view text) {
  NamedChange named;
  TRY(change, read_answer<LiveChange>(text, named.names));
  named.change = std::move(change);
  return named;
}

}  // namespace berth::wire
