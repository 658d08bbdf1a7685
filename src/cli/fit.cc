// SPDX-License-Identifier: Apache-2.0
// `berth fit`: whether a request would be granted now, and if not, when.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "cli/render/why.h"
#include "cli/run/named_devices.h"
#include "cli/run/request.h"
#include "cli/showing.h"
#include "cli/verbs.h"
#include "wire/answers.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

struct Asked {
  std::optional<Bytes> size;
  std::optional<Bytes> as_for_run;  // -m
  bool like = false;
  std::vector<std::string> command;
};

// A sentence, or nothing; then there is a size, or a command for --like.
std::string what_is_wrong(Asked& asked) {
  // A size may stand after `--` too.
  if (!asked.like && !asked.size && asked.command.size() == 1) {
    const Status taken = into(asked.size)(asked.command.front());
    if (!taken.ok()) return "SIZE: " + taken.error().message;
    asked.command.clear();
  }
  if (asked.like && asked.command.empty())
    return "COMMAND is missing, as in berth fit --like -- train.py";
  if (!asked.like && !asked.command.empty())
    return "for a command say --like, as in berth fit --like -- " + command_text(asked.command);
  if (asked.like && (asked.size || asked.as_for_run))
    return "say SIZE or --like, as in berth fit 8G or berth fit --like -- train.py";
  if (asked.size && asked.as_for_run) return "say SIZE once, as in berth fit 8G";
  if (!asked.size) asked.size = asked.as_for_run;
  if (!asked.size && !asked.like) return "SIZE is missing, as in berth fit 8G";
  return {};
}

// Where it fits, or the GPUs of which it is told what they lack.
std::vector<LeasePart> where(const FitView& fit) {
  std::vector<LeasePart> parts;
  for (const Shortage& shortage : fit.shortages) {
    const bool takes_it = std::ranges::find(fit.devices, shortage.device) != fit.devices.end();
    if (fit.fits && !takes_it) continue;
    parts.push_back({.device = shortage.device, .index = shortage.index});
    if (!fit.fits) break;  // The best of them is the one that is named.
  }
  return parts;
}

}  // namespace

int run_fit(Invocation& invocation) {
  Showing showing(invocation);
  Asked asked;
  std::optional<std::string> gpus;
  invocation.about =
      "Ends with 0 if a request of this size would be granted now, and with 75 if it would wait; "
      "says when. It asks for nothing and holds no place: what it says is true of this moment.";
  invocation.examples = {{"berth fit 14G", "14 GiB on any GPU"},
                         {"berth fit 8G --gpus 2", "8 GiB on each of two"},
                         {"berth fit --like -- python train.py", "as much as it used before"}};
  invocation.options.value(
      {.names = "-g,--gpus", .metavar = "GPUS", .help = "how many (2), which (0, or 0,1), or any"},
      into(gpus));
  invocation.options.value(
      {.names = "-m,--vram", .metavar = "SIZE", .help = "the same as SIZE, as for run"},
      into(asked.as_for_run));
  invocation.options.operand({.metavar = "SIZE", .help = "memory on each GPU: 8G, 512M"},
                             into(asked.size));
  invocation.options.flag(
      {.names = "--like", .help = "as much as earlier runs of COMMAND used, instead of SIZE"},
      into(asked.like));
  invocation.options.command({.metavar = "COMMAND", .help = "with --like: what was run"},
                             asked.command);
  showing.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;

  if (const std::string wrong = what_is_wrong(asked); !wrong.empty()) {
    return invocation.usage_error(wrong);
  }
  const Result<DeviceChoice> choice = choice_of(gpus);
  if (!choice.ok()) return invocation.usage_error(choice.error().message);
  if (!showing.open()) return showing.conversation().status();
  Conversation& conversation = showing.conversation();
  wire::RequestBody question;
  question.request.vram = asked.size.value_or(Bytes{});
  if (asked.like) {
    question.request.command = command_text(asked.command);
    question.request.learned = true;
    question.request.share = Share::kExclusive;  // Where nothing is known of it.
  }
  if (!fill_devices(*choice, conversation, question.request)) return conversation.status();
  const auto body =
      conversation.ask({.route = wire::Route::kFit, .body = wire::encode_request(question)});
  if (!body) return conversation.status();
  const auto fit = conversation.understood(wire::decode_fit(*body));
  if (!fit) return conversation.status();
  if (showing.choice().is_for_people()) {
    if (asked.like) print(learned_text(*fit) + "\n");
    print(fit_text(*fit, showing.scene()));
    const std::string hint = hint_at_count(gpus, where(*fit), conversation);
    if (!hint.empty() && invocation.terminal.output_is_terminal) print(hint + "\n");
  } else if (const auto text = showing.for_programs({.json = *body, .sample = *body})) {
    print(*text);
  } else {
    return conversation.status();
  }
  return to_status(fit->fits ? ExitCode::kOk : ExitCode::kTryLater);
}

}  // namespace berth::cli
