// SPDX-License-Identifier: Apache-2.0
// `berth fit`: whether a request would be granted now, and if not, when.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/output_mode.h"
#include "cli/render/why.h"
#include "cli/run/named_devices.h"
#include "cli/run/request.h"
#include "cli/verbs.h"
#include "wire/answers.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

struct FitArgs {
  std::optional<Bytes> size;
  std::optional<Bytes> as_for_run;  // -m
  bool like = false;
  std::vector<std::string> command;
};

// A sentence, or nothing; then there is a size, or a command for --like.
std::string what_is_wrong(FitArgs& asked) {
  // A size may stand after `--` too.
  if (!asked.like && !asked.size && asked.command.size() == 1) {
    const Status taken = store(asked.size)(asked.command.front());
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
  OutputMode output_mode(invocation);
  FitArgs asked;
  std::optional<std::string> gpus;
  invocation.about =
      "Ends with 0 if a request of this size would be granted now, and with 75 if it would wait; "
      "says when. It asks for nothing and holds no place: what it says is true of this moment.";
  invocation.examples = {{"berth fit 14G", "14 GiB on any GPU"},
                         {"berth fit 8G --gpus 2", "8 GiB on each of two"},
                         {"berth fit --like -- python train.py", "as much as it used before"}};
  invocation.options.add("-g,--gpus=GPUS", store(gpus), "how many (2), which (0, or 0,1), or any");
  invocation.options.add("-m,--vram=SIZE", store(asked.as_for_run), "the same as SIZE, as for run");
  invocation.options.operand("[SIZE]", store(asked.size), "memory on each GPU: 8G, 512M");
  invocation.options.add("--like", store(asked.like),
                         "as much as earlier runs of COMMAND used, instead of SIZE");
  invocation.options.command("[COMMAND]", asked.command, "with --like: what was run");
  output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;

  if (const std::string wrong = what_is_wrong(asked); !wrong.empty()) {
    return invocation.usage_error(wrong);
  }
  const Result<DeviceChoice> choice = choice_of(gpus);
  if (!choice.ok()) return invocation.usage_error(choice.error().message);
  if (!output_mode.open()) return output_mode.session().status();
  DaemonSession& session = output_mode.session();
  RequestBody question;
  question.request.vram = asked.size.value_or(Bytes{});
  if (asked.like) {
    question.request.command = command_text(asked.command);
    question.request.learned = true;
    question.request.share = Share::kExclusive;  // Where nothing is known of it.
  }
  if (!fill_devices(*choice, session, question.request)) return session.status();
  const auto body = session.ask({.route = wire::Route::kFit, .body = question});
  if (!body) return session.status();
  const auto fit = session.understood(wire::decode_fit(*body));
  if (!fit) return session.status();
  if (output_mode.choice().is_for_people()) {
    if (asked.like) print(learned_text(*fit) + "\n");
    print(fit_text(*fit, output_mode.context()));
    const std::string hint = hint_at_count(gpus, where(*fit), session);
    if (!hint.empty() && invocation.terminal.output_is_terminal) print(hint + "\n");
  } else if (const auto text = output_mode.for_programs({.json = *body})) {
    print(*text);
  } else {
    return session.status();
  }
  return to_status(fit->fits ? ExitCode::kOk : ExitCode::kTryLater);
}

}  // namespace berth::cli
