// SPDX-License-Identifier: Apache-2.0
// The daemon's side of berth-probe: starts it, asks it, and gives it up when it does not answer in
// time. Never blocks, reads no clock, has no thread: its owner polls its descriptor and calls it at
// the instant it names. Of the daemon's thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "gpu/probe_protocol.h"
#include "model/device.h"
#include "os/child.h"
#include "os/unique_fd.h"

namespace berth::gpu {

class Probe {
 public:
  struct Options {
    os::ChildPlan child;  // Of berth-probe.
    Duration answer_within = seconds(5);
    Duration first_answer_within = seconds(20);  // A driver without persistence starts in it.
    Duration retry_after_min = seconds(1);       // After a failure, doubled by each one more.
    Duration retry_after_max = minutes(1);
  };

  /// What came of one question.
  struct Outcome {
    std::optional<Sample> sample;  // Absent: there was no answer, and `trouble` says why.
    std::string trouble;
  };

  explicit Probe(Options options);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// Exactly one outcome follows, from on_readable() or on_time(). Not while busy(). Starts the
  /// child if there is none; after a failure, not before its time to retry has come.
  void ask(Instant now);
  bool busy() const { return state_ != State::kIdle; }

  /// To be polled for reading; -1: nothing to poll. It may be another one after each call of a
  /// method here.
  int descriptor() const { return socket_.get(); }
  std::optional<Outcome> on_readable(Instant now);

  /// When on_time() is to be called. Calling it earlier does no harm.
  Instant wake_at() const { return wake_at_; }
  std::optional<Outcome> on_time(Instant now);

  /// Ends an idle child, so that the driver can let the devices sleep. The next question starts
  /// another one.
  void rest();

  pid_t child() const { return child_; }  // 0: none.
  /// How many children were given up, or ended by themselves.
  std::uint64_t given_up() const { return given_up_; }

 private:
  enum class State : std::uint8_t {
    kIdle,     // There may be a child, and nothing is asked.
    kWaiting,  // The question is sent when the time to retry has come.
    kAsked,    // The answer is due by wake_at_.
    kFailed,   // No child could be started; due_ is told at the next chance.
  };

  void begin(Instant now);
  Status start();
  std::optional<Outcome> finish(Instant now, std::string_view line);
  Outcome fail(Instant now, std::string why);
  void abandon();
  void bury();
  void complete(Sample& sample);

  Options options_;
  State state_ = State::kIdle;
  Instant wake_at_ = Instant::never();
  Outcome due_;

  pid_t child_ = 0;
  os::UniqueFd socket_;
  std::string received_;
  bool answered_before_ = false;  // This child has, so the driver is awake.
  std::uint64_t number_ = 0;      // Of the last question.
  Instant asked_at_;

  Instant retry_at_{0};
  Duration retry_after_{0};
  std::vector<pid_t> abandoned_;  // Killed, not yet dead: a call of the driver may hold them.
  std::vector<pid_t> resting_;    // Ending by themselves.
  std::vector<Identity> known_;   // Who the devices were when they last said so.
  std::uint64_t given_up_ = 0;
};

}  // namespace berth::gpu
