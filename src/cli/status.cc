// SPDX-License-Identifier: Apache-2.0
// `berth status`, which `berth` alone is too.
#include "cli/render/status.h"

#include <string>
#include <utility>

#include "cli/output_mode.h"
#include "cli/verbs.h"
#include "cli/waiting.h"
#include "wire/answers.h"

namespace berth::cli {
namespace {

constexpr std::size_t kReasonsShown = 5;

// The fields of a device, for --fields and the header of CSV.
const std::string& sample_status() {
  static const std::string kSample =
      wire::encode_status({.devices = {DeviceView{}}}, {.names = wire::UserNames{}});
  return kSample;
}

std::string text_of(wire::NamedStatus answer, OutputMode& output_mode) {
  wire::StatusAnswer& status = answer.status;
  StatusFacts facts{.trouble = std::move(status.trouble),
                    .devices = std::move(status.devices),
                    .leases = std::move(status.leases)};
  facts.queue = with_reasons(std::move(status.queue), kReasonsShown, output_mode.session());
  return status_text(facts, output_mode.context());
}

std::optional<std::string> render(OutputMode& output_mode) {
  const auto body = output_mode.session().ask({.route = wire::Route::kStatus});
  if (!body) return std::nullopt;
  if (!output_mode.choice().is_for_people()) {
    return output_mode.for_programs({.json = *body, .items = "devices", .sample = sample_status()});
  }
  auto answer = output_mode.session().understood(wire::decode_status(*body));
  if (!answer) return std::nullopt;
  output_mode.session().learn(answer->names);
  return text_of(*std::move(answer), output_mode);
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
  if (!output_mode.open()) return output_mode.session().status();
  return output_mode.show([&] { return render(output_mode); });
}

}  // namespace berth::cli
