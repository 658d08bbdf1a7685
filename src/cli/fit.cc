// SPDX-License-Identifier: Apache-2.0
// `berth fit`: whether a request would be granted now, and if not, when.
#include <optional>
#include <string>

#include "base/quantity.h"
#include "cli/render/why.h"
#include "cli/run/named_devices.h"
#include "cli/showing.h"
#include "cli/verbs.h"
#include "wire/answers.h"
#include "wire/request.h"

namespace berth::cli {

int run_fit(Invocation& invocation) {
  Showing showing(invocation);
  std::optional<Bytes> size;
  std::optional<std::string> gpus;
  invocation.about =
      "Ends with 0 if a request of this size would be granted now, and with 75 if it would wait; "
      "says when. It asks for nothing and holds no place: what it says is true of this moment.";
  invocation.examples = {{"berth fit 14G", "14 GiB on any GPU"},
                         {"berth fit 8G --gpus 2", "8 GiB on each of two"}};
  invocation.options.value(
      {.names = "-g,--gpus", .metavar = "GPUS", .help = "how many (2), which (0, or 0,1), or any"},
      into(gpus));
  std::optional<Bytes> as_for_run;
  invocation.options.value(
      {.names = "-m,--vram", .metavar = "SIZE", .help = "the same as SIZE, as for run"},
      into(as_for_run));
  invocation.options.operand({.metavar = "SIZE", .help = "memory on each GPU: 8G, 512M"},
                             into(size));
  showing.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;

  if (size.has_value() == as_for_run.has_value()) {
    return invocation.usage_error(size ? "say SIZE once, as in berth fit 8G"
                                       : "SIZE is missing, as in berth fit 8G");
  }
  if (!size) size = as_for_run;
  const Result<DeviceChoice> choice = choice_of(gpus);
  if (!choice.ok()) return invocation.usage_error(choice.error().message);
  if (!showing.open()) return showing.conversation().status();
  Conversation& conversation = showing.conversation();
  wire::RequestBody question;
  question.request.vram = *size;
  if (!fill_devices(*choice, conversation, question.request)) return conversation.status();
  const auto body =
      conversation.ask({.route = wire::Route::kFit, .body = wire::encode_request(question)});
  if (!body) return conversation.status();
  const auto fit = conversation.understood(wire::decode_fit(*body));
  if (!fit) return conversation.status();
  if (showing.choice().is_for_people()) {
    print(fit_text(*fit, showing.scene()));
  } else if (const auto text = showing.for_programs({.json = *body, .sample = *body})) {
    print(*text);
  } else {
    return conversation.status();
  }
  return to_status(fit->fits ? ExitCode::kOk : ExitCode::kTryLater);
}

}  // namespace berth::cli
