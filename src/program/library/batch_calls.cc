// SPDX-License-Identifier: Apache-2.0
// The C functions of batches. Any thread.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "berth/berth.h"
#include "library/batch.h"
#include "library/error.h"
#include "library/handles.h"
#include "library/session.h"
#include "vram/batch.h"

namespace berth::library {
namespace {

constexpr std::size_t kFingerprintMax = 1'024;
constexpr std::uint64_t kSearchMax = 65'536;
constexpr double kFactor = 2.5;
constexpr double kMargin = 0.05;

Result<Batch::Options> batch_options(const berth_batch_options& given) {
  Batch::Options options{
      .device = given.device, .settings = {}, .fingerprint = {}, .directory = {}};
  options.settings.batch = given.batch;
  options.settings.micro_max = given.micro_max;
  options.settings.micro_min = given.micro_min;
  if (given.grow_after > 0) options.settings.grow_after = given.grow_after;
  if (given.bytes_per_sample > 0) options.settings.bytes_per_sample = Bytes{given.bytes_per_sample};
  if (given.fingerprint == nullptr) return options;
  options.fingerprint = given.fingerprint;
  if (options.fingerprint.size() > kFingerprintMax ||
      options.fingerprint.find('\n') != std::string::npos) {
    return Error{Errc::kInvalid, "a fingerprint is one line of 1024 bytes at most"};
  }
  options.directory = given.directory == nullptr ? default_batch_directory() : given.directory;
  if (options.directory.empty()) options.fingerprint.clear();  // There is no place for it.
  return options;
}

Ending create_batch(berth_session session, const berth_batch_options* options, berth_batch* batch) {
  if (batch == nullptr) return fail(BERTH_INVALID, "batch is null");
  *batch = 0;
  TRY(given, read_sized(options, "options"));
  TRY(read, batch_options(given));
  std::shared_ptr<Session> found;  // The batch may outlive its handle.
  if (!find_session(session, found)) return BERTH_STALE;
  TRY(made, Batch::create(std::move(found), std::move(read)));
  return hand_out(std::move(made), batch);
}

berth_batch_plan plan_to_c(const Batch::Plan& plan) {
  return {.remembered = plan.remembered ? 1U : 0U,
          .micro = plan.plan.micro,
          .accumulation = plan.plan.accumulation,
          .failures = plan.failures};
}

// Runs use(batch), and tells the plan that is then.
template <class Use>
berth_status with_batch(berth_batch handle, berth_batch_plan* plan, Use use) {
  return with<Batch>(handle, [&](Batch& batch) -> Ending {
    TRY_STATUS(check_sized(plan, "plan"));
    const berth_status status = use(batch);
    write_sized(plan, plan_to_c(batch.current()));
    return status;
  });
}

// 0: it fits. Anything else as the callback has it.
berth_status try_size(const berth_batch_search& search, std::uint64_t size) {
  try {
    return search.trial(search.user, size);
  } catch (...) {
    return BERTH_CALLBACK;
  }
}

Ending find_size(berth_session session, const berth_batch_search* options, std::uint64_t* batch) {
  if (batch == nullptr) return fail(BERTH_INVALID, "batch is null");
  *batch = 0;
  TRY(given, read_sized(options, "search"));
  const double margin = given.margin == 0 ? kMargin : given.margin;
  const double factor = given.factor == 0 ? kFactor : given.factor;
  if (!(margin > 0 && margin < 1)) return fail(BERTH_INVALID, "margin is above 0 and below 1");
  if (!(factor > 0)) return fail(BERTH_INVALID, "factor is above 0");
  std::shared_ptr<Session> found;  // Its handle may be closed meanwhile.
  if (!find_session(session, found)) return BERTH_STALE;
  const std::optional<Bytes> free =
      found == nullptr ? std::nullopt : free_for_us(*found, given.device);
  const std::uint64_t guess = vram::first_guess({.free = free.value_or(Bytes{}),
                                                 .overhead = {given.overhead_bytes},
                                                 .model = {given.model_bytes},
                                                 .factor = factor});
  vram::BatchSearch search({.guess = guess,
                            .max = given.batch_max == 0 ? kSearchMax : given.batch_max,
                            .margin = margin});
  if (given.trial == nullptr) {
    *batch = search.next().value_or(1);
    return BERTH_OK;
  }
  while (const auto size = search.next()) {
    const berth_status tried = try_size(given, *size);
    if (tried != BERTH_OK && tried != BERTH_OUT_OF_MEMORY) {
      return fail(BERTH_CALLBACK, "the trial with a batch of " + std::to_string(*size) +
                                      " failed, and not for want of memory");
    }
    search.tried(*size, tried == BERTH_OK);
  }
  const std::optional<std::uint64_t> best = search.best();
  if (!best) {
    return fail(BERTH_OUT_OF_MEMORY,
                "not even a batch of one fits: give the program more memory, shorten the "
                "sequences, or take a smaller model");
  }
  *batch = *best;
  return BERTH_OK;
}

}  // namespace
}  // namespace berth::library

using berth::library::Batch;
using berth::library::fail;
using berth::library::guarded;
using berth::library::with_batch;

extern "C" {

berth_status berth_batch_create(berth_session session, const berth_batch_options* options,
                                berth_batch* batch) {
  return guarded([=] { return berth::library::create_batch(session, options, batch); });
}

berth_status berth_batch_destroy(berth_batch batch) {
  return berth::library::close_handle<Batch>(batch);
}

berth_status berth_batch_current(berth_batch batch, berth_batch_plan* plan) {
  return with_batch(batch, plan, [](Batch&) { return BERTH_OK; });
}

berth_status berth_batch_out_of_memory(berth_batch batch, berth_batch_plan* plan) {
  return with_batch(batch, plan, [](Batch& found) {
    const auto next = found.out_of_memory();
    return next.ok() ? BERTH_OK : fail(BERTH_OUT_OF_MEMORY, next.error().message);
  });
}

berth_status berth_batch_step_done(berth_batch batch, berth_batch_plan* plan) {
  return with_batch(batch, plan, [](Batch& found) {
    const auto done = found.step_done();
    return done.ok() ? BERTH_OK : fail(BERTH_IO, done.error().message);
  });
}

berth_status berth_find_batch_size(berth_session session, const berth_batch_search* search,
                                   uint64_t* batch) {
  return guarded([=] { return berth::library::find_size(session, search, batch); });
}

}  // extern "C"
