// SPDX-License-Identifier: Apache-2.0
// `berth status`, which `berth` alone is too.
#include "cli/render/status.h"

#include <string>
#include <utility>

#include "cli/leases.h"
#include "cli/output_mode.h"
#include "cli/verbs.h"
#include "wire/answers.h"

namespace berth::cli {
namespace {

constexpr std::size_t kReasonsShown = 5;

std::optional<std::string> render(OutputMode& output_mode) {
  DaemonSession& session = output_mode.session();
  // The fields of a device, for --fields and the header of CSV.
  static const std::string kSample =
      wire::encode_status({.devices = {DeviceView{}}}, {.names = wire::UserNames{}});
  return output_mode.answer_text(
      {.route = wire::Route::kStatus}, {.items = "devices", .sample = kSample}, wire::decode_status,
      [&](wire::NamedStatus& answer) {
        session.learn(answer.names);
        wire::StatusAnswer& status = answer.status;
        const StatusFacts facts{
            .trouble = std::move(status.trouble),
            .devices = std::move(status.devices),
            .leases = std::move(status.leases),
            .queue = with_reasons(std::move(status.queue), kReasonsShown, session)};
        return status_text(facts, output_mode.context());
      });
}

}  // namespace

int run_status(Invocation& invocation) {
  OutputMode output_mode(invocation);
  invocation.about =
      "Shows each GPU with what is used, granted and grantable, the leases on it, processes that "
      "belong to no lease (unmanaged), and the queue with what each request waits for.\n"
      "For programs, -o json gives all of it; csv, tsv and ndjson give the devices.";
  invocation.examples = {{"berth", "the same"},
                         {"berth status --watch", "a live view"},
                         {"berth status --csv --fields index,vram_used_bytes,vram_grantable_bytes",
                          "a line a device"}};
  output_mode.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  return output_mode.open_and_show([&] { return render(output_mode); });
}

}  // namespace berth::cli
