// SPDX-License-Identifier: Apache-2.0
// From the options of a command line and the configured defaults to a request. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "config/config.h"
#include "model/bodies.h"
#include "model/request.h"

namespace berth::cli {

/// What was asked for about one request. Absent: nothing was said.
struct RequestOptions {
  std::optional<std::string> gpus;  // -g, as written.
  std::optional<Bytes> vram;
  bool learned = false;  // -m auto
  bool exclusive = false;
  std::optional<std::string> share;
  std::optional<Priority> priority;
  bool wait = false;  // --wait
  std::optional<Duration> wait_max;
  bool no_wait = false;
  std::optional<OnOom> on_oom;  // Absent: grow where the size is learned.
  /// What it starts after, as written.
  struct After {
    Ends ends = Ends::kAny;
    std::string lease;
  };
  std::vector<After> after;
  std::optional<UnixMs> not_before;
  std::optional<Duration> eta;
  std::optional<Duration> limit;
  std::string name;
  std::vector<std::string> labels;  // "KEY=VAL"
  std::optional<std::string> session;
  /// The request begins with it: what an option says as the daemon is told.
  Request carried;

  /// Whether it asks for something that a lease may have too little of.
  bool asks_for_room() const { return gpus || vram || exclusive || share; }
};

struct RequestPlan {
  Request request;            // Its devices are yet to be filled in.
  Named named = {};           // With -p, and -x or --share.
  std::string about_default;  // A sentence, where nothing was said about memory.

  RequestBody body(std::optional<Process> anchor = {}) const {
    return {.request = request, .named = named, .anchor = anchor};
  }
};

/// kInvalid: what was asked makes no sense; the sentence names the option and the cure.
Result<RequestPlan> plan_request(const RequestOptions& options, const config::Config& config);

/// The words as one line that a shell would read back, shortened for people if it is very long.
std::string command_text(const std::vector<std::string>& words);

}  // namespace berth::cli
