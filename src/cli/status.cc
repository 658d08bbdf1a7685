// SPDX-License-Identifier: Apache-2.0
// `berth status`, which `berth` alone is too.
#include "cli/render/status.h"

#include <string>
#include <utility>

#include "cli/showing.h"
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

std::string text_of(wire::NamedStatus answer, Showing& showing) {
  wire::StatusAnswer& status = answer.status;
  StatusFacts facts{.trouble = std::move(status.trouble),
                    .devices = std::move(status.devices),
                    .leases = std::move(status.leases)};
  facts.queue = with_reasons(std::move(status.queue), kReasonsShown, showing.conversation());
  return status_text(facts, showing.scene());
}

std::optional<std::string> render(Showing& showing) {
  const auto body = showing.conversation().ask({.route = wire::Route::kStatus});
  if (!body) return std::nullopt;
  if (!showing.choice().is_for_people()) {
    return showing.for_programs({.json = *body, .items = "devices", .sample = sample_status()});
  }
  auto answer = showing.conversation().understood(wire::decode_status(*body));
  if (!answer) return std::nullopt;
  showing.conversation().learn(answer->names);
  return text_of(*std::move(answer), showing);
}

}  // namespace

int run_status(Invocation& invocation) {
  Showing showing(invocation);
  invocation.about =
      "Shows each GPU with what is used, granted and grantable, the leases on it, processes that "
      "belong to no lease (external), and the queue with what each request waits for.\n"
      "For programs, -o json gives all of it; csv, tsv and ndjson give the devices.";
  invocation.examples = {{"berth", "the same"},
                         {"berth status --watch", "a live view"},
                         {"berth status --csv --fields index,vram_used_bytes,vram_grantable_bytes",
                          "a line a device"}};
  showing.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  if (!showing.open()) return showing.conversation().status();
  return showing.show([&] { return render(showing); });
}

}  // namespace berth::cli
