// SPDX-License-Identifier: Apache-2.0
// The C functions that say whether something will fit: into what is free now, or before anything
// is tried. Any thread.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "berth/berth.h"
#include "berth/estimate.h"
#include "estimate/memory.h"
#include "estimate/model_shape.h"
#include "library/error.h"
#include "library/handles.h"
#include "library/session.h"
#include "os/clock.h"

namespace berth::library {
namespace {

// Beyond these the products would leave 128 bits.
constexpr std::uint64_t kBatchAtOnceMax = std::uint64_t{1} << 32U;
constexpr std::uint64_t kSequenceMax = std::uint64_t{1} << 24U;

// What the budget has left; unknown without one.
Figure budget_left(const Measured& measured) {
  const Figure& used = measured.lease_used.bytes ? measured.lease_used : measured.own;
  if (!measured.budget.bytes || !used.bytes) return {};
  return {saturating_sub(*measured.budget.bytes, *used.bytes), used.at, used.source};
}

Ending has_room(Session& session, std::uint32_t device, Bytes bytes, Duration age_max,
                berth_room* room) {
  TRY_STATUS(check_sized(room, "room"));
  if (session.device_count() > 0 && session.device(device) == nullptr) {
    return session.no_device(device);
  }
  const Measured measured = session.measure(device, age_max);
  const Figure left = budget_left(measured);
  const auto too_little = [&](const Figure& figure) {
    return figure.bytes && *figure.bytes < bytes;
  };
  const bool all_known = measured.free.bytes && (left.bytes || !session.has_lease());
  const Instant now = os::PosixClock().now();
  berth_room out{};
  out.answer = all_known ? BERTH_ROOM_YES : BERTH_ROOM_UNKNOWN;
  if (too_little(measured.free) || too_little(left)) out.answer = BERTH_ROOM_NO;
  out.device_free = to_c(measured.free, now);
  out.budget_left = to_c(left, now);
  return write_sized(room, out);
}

// A word of the caller's, or the first there is.
template <HasWords Enum>
Status read_word(const char* given, const char* name, Enum& word) {
  if (given == nullptr) return Unit{};
  const std::optional<Enum> parsed = parse_word<Enum>(given);
  word = parsed.value_or(word);
  if (parsed) return Unit{};
  return Error{Errc::kInvalid,
               std::string(name) + " must be " + choices<Enum>() + ", not '" + given + "'"};
}

berth_estimate estimate_to_c(const estimate::Estimate& from) {
  berth_estimate out{};
  out.parameters = from.parameters;
  out.weights_bytes = from.weights.value;
  out.gradients_bytes = from.gradients.value;
  out.optimizer_bytes = from.optimizer.value;
  out.activations_bytes = from.activations.total().value;
  out.norms_bytes = from.activations.norms.value;
  out.attention_bytes = from.activations.attention.value;
  out.feed_forward_bytes = from.activations.feed_forward.value;
  out.output_bytes = from.activations.output.value;
  out.half_copies_bytes = from.activations.half_copies.value;
  out.peak_bytes = from.peak.value;
  return out;
}

Ending estimate_for(const char* config_json, std::uint64_t parameters,
                    const berth_training* training, berth_estimate* estimate) {
  TRY(given, read_optional(training, "training"));
  TRY_STATUS(check_sized(estimate, "estimate"));
  if (given.batch > kBatchAtOnceMax || given.sequence > kSequenceMax) {
    return fail(BERTH_INVALID, "at most " + std::to_string(kBatchAtOnceMax) + " sequences of " +
                                   std::to_string(kSequenceMax) + " tokens can be estimated");
  }
  estimate::Training wish;
  if (given.batch > 0) wish.batch = given.batch;
  if (given.sequence > 0) wish.sequence = given.sequence;
  if (given.checkpointing != 0) wish.checkpointing = estimate::Checkpointing::kLayers;
  TRY_STATUS(read_word(given.precision, "precision", wish.precision));
  TRY_STATUS(read_word(given.optimizer, "optimizer", wish.optimizer));
  TRY_STATUS(read_word(given.attention, "attention", wish.attention));
  if (config_json == nullptr) {
    if (parameters == 0) return fail(BERTH_INVALID, "neither a config nor parameters are given");
    return write_sized(estimate, estimate_to_c(estimate::estimate_states(parameters, wish)));
  }
  TRY(shape, estimate::parse_model_config(config_json));
  berth_estimate out = estimate_to_c(estimate::estimate_training(shape, wish));
  out.layers_known = 1;
  if (given.room_bytes > 0) {
    out.largest_batch = estimate::largest_batch(shape, wish, Bytes{given.room_bytes});
  }
  return write_sized(estimate, out);
}

}  // namespace
}  // namespace berth::library

using berth::library::Session;

extern "C" {

berth_status berth_has_room(berth_session session, uint32_t device, uint64_t bytes,
                            uint64_t age_max_ns, berth_room* room) {
  return berth::library::with<Session>(session, [=](Session& found) {
    const berth::Duration age_max = berth::library::age_of(age_max_ns);
    return berth::library::has_room(found, device, {bytes}, age_max, room);
  });
}

berth_status berth_estimate_training(const char* config_json, uint64_t parameters,
                                     const berth_training* training, berth_estimate* estimate) {
  return berth::library::guarded(
      [=] { return berth::library::estimate_for(config_json, parameters, training, estimate); });
}

}  // extern "C"
