// SPDX-License-Identifier: Apache-2.0
// Performs what vram::Manager decides: measures, calls the provider and the callbacks, and feeds
// back how that went. Any thread; one step at a time. No lock is held while anything is measured or
// a callback runs, so that one that blocks stops nobody but its own thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "berth/berth.h"
#include "library/session.h"
#include "os/clock.h"
#include "vram/manager.h"

namespace berth::library {

class VramManager {
 public:
  /// `session` may be null. kInvalid: options that make no sense.
  static Result<std::shared_ptr<VramManager>> create(  // As handles are, shared.
      std::shared_ptr<Session> session,                // Which may be closed before this.
      const berth_vram_options& options);

  /// For create().
  VramManager(std::shared_ptr<Session> session, const berth_vram_options& options,  // As above.
              vram::Settings settings);

  void set_provider(const berth_provider& provider);
  void set_callbacks(const berth_vram_callbacks& callbacks);

  berth_status step(berth_vram_report& report);
  berth_status answer(std::uint32_t action, std::int32_t outcome);
  berth_status cleanup(std::uint64_t& freed);
  berth_measurement measure(Duration age_max);

  void count_copy(Bytes bytes);
  berth_status phase(const std::string& name);
  std::vector<vram::Phase> phases();
  berth_vram_counts counts();
  std::string status_line();
  std::optional<vram::Event> next_event();

 private:
  struct Means {
    berth_provider provider{};
    berth_vram_callbacks callbacks{};
  };
  struct Did {
    vram::Outcome outcome = vram::Outcome::kNotDone;
    vram::Sample after;
    Bytes freed;
  };
  class BusyScope;

  vram::Now now() const { return {clock_.now(), clock_.wall()}; }
  Means means();
  vram::Sample sample(const Means& means, Duration age_max);
  void watch(const Measured& measured, const Means& means, vram::Sample& sample) const;
  berth_status run_actions(const Means& means, berth_vram_report& report);
  berth_status perform(const Means& means, vram::Action action, Did& did);
  berth_status clean(const Means& means, Did& did);
  berth_status tell_events(const Means& means);

  const std::shared_ptr<Session> session_;  // Null: none. Its handle may be closed before.
  const berth_vram_options options_;
  const Duration sample_every_;
  const os::PosixClock clock_;

  std::mutex mutex_;  // Of all below.
  vram::Manager manager_;
  Means means_;
  Instant sampled_at_ = {-1};
  std::optional<vram::Action> wanted_;  // The program is to answer.
  bool in_turn_ = false;
};

/// How callers see an event.
berth_event to_c(const vram::Event& event);

}  // namespace berth::library
