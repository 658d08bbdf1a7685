// SPDX-License-Identifier: Apache-2.0
// `berth resize`: more or less memory for a lease that holds.
#include <string>

#include "base/quantity.h"
#include "cli/control.h"
#include "cli/render/phrases.h"
#include "cli/verbs.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

std::string wish(const ResizeBody& body) {
  return body.vram ? to_text(*body.vram) + " on each GPU" : "its GPUs for itself";
}

std::string success_text(const LeaseView& lease, const RenderContext& context) {
  std::string text = "has " + to_text(granted_to(lease)) + " on " + devices_of(lease.parts);
  // The flag follows with the next look at the driver.
  if (used_by(lease) > granted_to(lease)) {
    text += "; it uses " + size_or_dash(used_by(lease), context) +
            ", and what is above its budget stays charged until it is freed";
  }
  return text;
}

}  // namespace

int run_resize(Invocation& invocation) {
  Control control(invocation);
  ResizeBody body;
  bool exclusive = false;
  invocation.about =
      "Changes the budget of a lease. Less holds at once; what its programs use above it stays "
      "charged until they free it. More is granted now or not at all (75, with what is missing): "
      "it holds no place in the queue, unless --wait says how long it may wait, ahead of new "
      "requests of its priority.";
  invocation.examples = {{"berth resize 12 -m 10G", "10 GiB on each of its GPUs"},
                         {"berth resize 12 -x --wait=5m", "the GPU for itself, within 5 minutes"}};
  invocation.options.add("-m,--vram=SIZE", store(body.vram), "on each GPU");
  invocation.options.add("-x,--exclusive", store(exclusive), "its GPUs for itself");
  invocation.options.add("-W,--wait=DUR", store(body.wait_max), "wait for more this long");
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  if (exclusive == body.vram.has_value()) {
    return invocation.usage_error("say either how much (-m SIZE) or the whole GPU (-x)");
  }
  if (exclusive) body.share = Share::kExclusive;
  return control.each([&](const LeaseView& lease, const RenderContext& context) {
    return Control::Operation{
        .dry_run_text = "resize " + named(lease, context) + " from " + to_text(granted_to(lease)) +
                        " to " + wish(body),
        .question = {.route = wire::Route::kResize, .body = body},
        .within = client::Connection::kAnswerWithin + body.wait_max.value_or(Duration{}),
        .success_text = success_text,
    };
  });
}

}  // namespace berth::cli
