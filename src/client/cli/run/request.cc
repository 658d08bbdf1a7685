// SPDX-License-Identifier: Apache-2.0
#include "cli/run/request.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/quantity.h"
#include "base/shell.h"
#include "base/size_argument.h"
#include "cli/options.h"
#include "model/lease.h"

namespace berth::cli {
namespace {

constexpr std::size_t kCommandMax = 4'096;  // As the daemon has it.

Result<std::map<std::string, std::string>> read_labels(const std::vector<std::string>& words) {
  std::map<std::string, std::string> labels;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return wrong("-t " + word + ": a label is written KEY=VALUE");
    }
    labels[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return labels;
}

// As earlier runs of the command used; a whole GPU where nothing is known of it.
void fill_learned(RequestPlan& plan, const std::string& why) {
  plan.request.learned = true;
  plan.request.share = Share::kExclusive;
  plan.about_default =
      why +
      ": asking for what earlier runs of this command used, or for a whole GPU where that is "
      "not known";
}

Status fill_default_share(const config::Config& config, RequestPlan& plan) {
  using Kind = config::DefaultVram::Kind;
  const config::DefaultVram vram = config.request.vram.value_or(config.policy.default_vram);
  switch (vram.kind) {
    case Kind::kExclusive:
      plan.request.share = Share::kExclusive;
      plan.about_default = "no -m: asking for a whole GPU (default_vram = \"exclusive\")";
      return Unit{};
    case Kind::kSize:
      plan.request.vram = vram.size;
      plan.about_default = "no -m: asking for " + to_text(vram.size) + " (default_vram = \"" +
                           size_argument(vram.size) + "\")";
      return Unit{};
    case Kind::kLearned:
      fill_learned(plan, "no -m");
      plan.about_default += " (default_vram = \"learned\")";
      return Unit{};
    case Kind::kAsk:
      break;
  }
  return wrong("how much GPU memory? Say -m SIZE (-m 8G), or -x for a whole GPU");
}

Status fill_share(const RequestOptions& options, const config::Config& config, RequestPlan& plan) {
  const std::string share = options.share.value_or("");
  const bool in_turns = share == "slice";
  const bool exclusive = options.exclusive || share == "exclusive";
  if (options.exclusive && (share == "budget" || in_turns)) {
    return wrong("-x and --share " + share + " exclude each other");
  }
  if (options.learned && (exclusive || in_turns)) {
    return wrong("-m auto is for a share of a GPU beside others: leave out " +
                 std::string(exclusive ? "-x" : "--share slice") + ", or say how much");
  }
  if (options.learned) {
    fill_learned(plan, "-m auto");
    return Unit{};
  }
  if (exclusive && options.vram) {
    return wrong("a whole GPU comes with all of its memory: leave out -m, or -x");
  }
  if (options.vram) {
    if (*options.vram == Bytes{}) return wrong("-m 0 asks for no memory");
    plan.request.vram = *options.vram;
    if (in_turns) plan.request.share = Share::kSlice;
    return Unit{};
  }
  if (exclusive) {
    plan.request.share = Share::kExclusive;
    return Unit{};
  }
  if (share == "budget" || in_turns) {
    return wrong("--share " + share + " needs a size: -m SIZE");
  }
  return fill_default_share(config, plan);
}

Status fill_times(const RequestOptions& options, const config::Config& config, Request& request) {
  if (options.no_wait && options.wait) return wrong("--wait and --no-wait exclude each other");
  request.eta = options.eta ? options.eta : config.request.eta;
  request.limit = options.limit;
  if (options.no_wait) {
    request.wait_max = Duration{};
  } else {
    request.wait_max = options.wait ? options.wait_max : config.request.wait;
  }
  return Unit{};
}

}  // namespace

Result<RequestPlan> plan_request(const RequestOptions& options, const config::Config& config) {
  RequestPlan plan{.request = options.carried, .about_default = {}};
  Request& request = plan.request;
  TRY_STATUS(fill_share(options, config, plan));
  TRY_STATUS(fill_times(options, config, request));
  request.name = options.name.empty() ? config.request.name : options.name;
  request.session = options.session.value_or("");
  request.labels = config.request.labels;
  TRY(labels, read_labels(options.labels));
  for (auto& [key, value] : labels) request.labels[key] = std::move(value);
  request.priority = options.priority.value_or(request.priority);
  plan.named = {.priority = options.priority.has_value(),
                .share = options.exclusive || options.share.has_value()};
  request.not_before = options.not_before;
  request.on_oom = options.on_oom.value_or(request.learned ? OnOom::kGrow : OnOom::kFail);
  return plan;
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + quoted_for_shell(word);
    if (text.size() > kCommandMax) break;
  }
  if (text.size() <= kCommandMax) return text;
  text.resize(kCommandMax - 3);
  return text + "...";
}

}  // namespace berth::cli
