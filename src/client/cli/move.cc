// SPDX-License-Identifier: Apache-2.0
// `berth move`: a lease goes on on another GPU; its programs do not know.
#include <cstdint>
#include <string>

#include "base/number.h"
#include "base/quantity.h"
#include "cli/control.h"
#include "cli/render/phrases.h"
#include "cli/run/named_devices.h"
#include "cli/verbs.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

std::string success_text(const LeaseView& lease, const RenderContext&) {
  const std::string where = devices_of(lease.parts);
  if (lease.state != LeaseState::kSuspended) return "has moved to " + where;
  if (lease.flags.resuming) return "waits for room on " + where;
  return "stays paused, and returns to " + where + " (berth resume " + to_text(lease.id) + ")";
}

}  // namespace

int run_move(Invocation& invocation) {
  Control control(invocation);
  std::string to;
  Request paths;
  invocation.about =
      "Has a lease go on on other GPUs, of the same model: its GPU memory goes to host memory, and "
      "from there to the other GPU. Its programs need not know of it; they wait in their next call "
      "of the driver. Processes that they start later still find the GPU that the lease had when "
      "it began. Returns when it runs there. Where there is no room now, or the driver cannot "
      "(one before 580), nothing is done, and the reason is told; what the driver refuses on the "
      "way goes on where it was. A paused lease stays paused, and returns there.";
  invocation.examples = {{"berth move 12 --to 1", "from wherever it is to GPU 1"},
                         {"berth move 12 --to 2,3", "a lease on two GPUs: first the first"},
                         {"berth move 12 --to GPU-5a1c", "by the beginning of its UUID"}};
  invocation.options.add("--to=GPUS", store(to),
                         "where: an index, or a UUID, for each of its GPUs");
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  if (to.empty()) return invocation.usage_error("say where: --to GPU (berth status lists them)");
  const Result<DeviceChoice> choice =
      parse_device_choice(parse_number<std::uint32_t>(to) ? to + "," : to);
  if (!choice.ok()) return invocation.usage_error(choice.error().message);
  if (choice->names.empty()) {
    return invocation.usage_error("--to " + to + " names no GPU (berth status lists them)");
  }
  return control.each(
      [&](const LeaseView& lease, const RenderContext& context) {
        return Control::Operation{
            .dry_run_text = "move " + size_or_dash(used_by(lease), context) + " of GPU memory of " +
                            named(lease, context) + " from " + devices_of(lease.parts) +
                            " to GPU " + to,
            .question = {.route = wire::Route::kMove, .body = MoveBody{.devices = paths.devices}},
            .within = hours(24),
            .success_text = success_text,
        };
      },
      [&](DaemonSession& session) { return fill_devices(*choice, session, paths); });
}

}  // namespace berth::cli
