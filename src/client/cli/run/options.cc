// SPDX-License-Identifier: Apache-2.0
#include "cli/run/options.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/number.h"
#include "base/words.h"
#include "cli/run/start_time.h"
#include "cli/terminal.h"
#include "os/clock.h"
#include "os/users.h"

namespace berth::cli {
namespace {

Setter into_wait(RequestOptions& request) {
  return [&request](std::string_view text) -> Status {
    request.wait = true;
    request.wait_max.reset();
    return text.empty() ? Status(Unit{}) : store(request.wait_max)(text);
  };
}

Setter into_after(RequestOptions& request, Ends ends) {
  return [&request, ends](std::string_view text) -> Status {
    if (text.empty()) return wrong("no lease is named");
    request.after.push_back({ends, std::string(text)});
    return Unit{};
  };
}

// "pause 10m", "refuse" or "none".
Setter into_answer(std::optional<MessageRule>& rule) {
  return [&rule](std::string_view text) -> Status {
    const std::size_t blank = text.find_first_of(" =");
    const std::optional<OnMessage> answer = parse_word<OnMessage>(text.substr(0, blank));
    const bool has_time = blank != std::string_view::npos;
    if (!answer || has_time != (answer == OnMessage::kPause)) {
      return wrong("'" + std::string(text) + "' is not \"pause DURATION\", refuse or none");
    }
    std::optional<Duration> lasts;
    if (has_time) TRY_STATUS(store_positive(lasts)(text.substr(blank + 1)));
    MessageRule& said = rule ? *rule : rule.emplace();
    said.answer = *answer;
    said.lasts = lasts;
    return Unit{};
  };
}

// Names or uids, with commas between them.
Setter into_senders(std::optional<MessageRule>& rule) {
  return [&rule](std::string_view text) -> Status {
    MessageRule& said = rule ? *rule : rule.emplace();
    while (!text.empty()) {
      const std::size_t comma = std::min(text.find(','), text.size());
      const std::string name(text.substr(0, comma));
      text.remove_prefix(std::min(comma + 1, text.size()));
      const std::optional<UserId> user = os::find_user(name);
      const auto number = user ? std::optional(user->value) : parse_number<std::uint32_t>(name);
      if (!number) return wrong("there is no user '" + name + "' here");
      said.users.push_back(*number);
    }
    return said.users.empty() ? wrong("no user is named") : Status(Unit{});
  };
}

Setter into_name(std::string& name) {
  return [&name](std::string_view text) -> Status {
    if (text.find_first_not_of(' ') == std::string_view::npos) return wrong("the name is empty");
    name = text;
    return Unit{};
  };
}

template <class T>
std::vector<std::string_view> choices_of(const T& /*value*/) {
  if constexpr (HasWords<T>) return texts_of<T>();
  return {};
}

}  // namespace

Setter into_start(std::optional<UnixMs>& start) {
  return [&start](std::string_view text) -> Status {
    TRY(when, parse_start_time(text, os::PosixClock().wall()));
    start = when;
    return Unit{};
  };
}

// SIZE, or auto.
Setter into_vram(RequestOptions& request) {
  return [&request](std::string_view text) -> Status {
    request.learned = text == "auto";
    request.vram.reset();
    return request.learned ? Status(Unit{}) : store(request.vram)(text);
  };
}

void declare_room(Options& options, RequestOptions& request) {
  options.add("-m,--vram=SIZE", into_vram(request),
              "memory on each GPU: 8G, 512M; auto: what earlier runs of the command used");
  options.add("-x,--exclusive", store(request.exclusive), "a whole GPU, with no other lease on it");
  options.add("--share=HOW", store(request.share),
              "who else may use the GPU; slice: they take turns", texts_of<Share>());
  options.add("-g,--gpus=GPUS", store(request.gpus),
              "how many (2), which by index (0, or 0,1), by UUID, or any");
  options.add("--mixed", store(request.carried.mixed), "several GPUs may be of different models");
}

void declare_turn(Options& options, RequestOptions& request) {
  options.add("-p,--priority=PRIORITY", store(request.priority), "before or after others of yours",
              texts_of<Priority>());
  options.add("-W,--wait[=DURATION]", into_wait(request),
              "wait for a turn, at most so long; without bound is the default");
  options.add("--no-wait", store(request.no_wait), "now, or end with 75");
}

void declare_start(Options& options, RequestOptions& request) {
  options.add("--after=LEASE", into_after(request, Ends::kAny),
              "start when this one has ended; may be repeated, as the next two");
  options.add("--after-ok=LEASE", into_after(request, Ends::kOk), "start when it has ended well");
  options.add("--after-fail=LEASE", into_after(request, Ends::kFailed), "start when it has failed");
  options.add("--at=TIME", into_start(request.not_before),
              "do not start before: 18:30, 2026-02-07T18:30, or 90m from now");
}

void declare_names(Options& options, RequestOptions& request) {
  options.add("-n,--name=NAME", into_name(request.name), "a name to find it by");
  options.add("-t,--label=KEY=VALUE", store(request.labels), "a label; may be repeated");
  options.add("--session=NAME", store(request.session),
              "who works, for fair sharing; BERTH_SESSION if not given");
}

void name_session(RequestOptions& request) {
  if (!request.session) request.session = environment_text("BERTH_SESSION");
}

void declare_messages(Options& options, Request& request) {
  options.add("--on-message=ANSWER", into_answer(request.on_message),
              "what is said to messages by itself: \"pause 10m\", refuse, or none");
  options.add("--message-from=USER,...", into_senders(request.on_message),
              "whose messages that is for; your own is the default");
}

void declare_carried(Options& options, Request& request, Carried which) {
  for_each_field<Request, side::kBody>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    constexpr const FieldOption& kOption = kField.typed;
    if constexpr (!kOption.name.empty()) {
      using With = FieldOption::With;
      const bool has_command = which == Carried::kWithACommand;
      if (kOption.with == (has_command ? With::kReservations : With::kCommands)) return;
      auto& value = kField.place.reach(request);
      constexpr bool kIsFlag = kOption.metavar.empty();
      options.add({.names = kOption.name,
                   .metavar = kOption.metavar,
                   .help = kOption.help,
                   .value = kIsFlag ? Option::Value::kNone : Option::Value::kNeeded,
                   .choices = choices_of(value),
                   .setter = store(value)});
    }
  });
}

}  // namespace berth::cli
