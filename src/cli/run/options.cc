// SPDX-License-Identifier: Apache-2.0
#include "cli/run/options.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/fields.h"
#include "base/words.h"

namespace berth::cli {
namespace {

Setter into_wait(RequestOptions& request) {
  return [&request](std::string_view text) -> Status {
    request.wait = true;
    request.wait_max.reset();
    return text.empty() ? Status(Unit{}) : store(request.wait_max)(text);
  };
}

Setter into_name(std::string& name) {
  return [&name](std::string_view text) -> Status {
    if (text.find_first_not_of(' ') == std::string_view::npos) return wrong("the name is empty");
    name = text;
    return Unit{};
  };
}

Setter into_carried(bool& flag) {
  return store(flag);
}
template <HasWords Enum>
Setter into_carried(Enum& value) {
  return [&value](std::string_view word) -> Status {
    const std::optional<Enum> parsed = parse_word<Enum>(word);
    value = checked(parsed);  // It is one of the choices.
    return Unit{};
  };
}

template <class T>
std::vector<std::string_view> choices_of(const T& /*value*/) {
  if constexpr (HasWords<T>) return texts_of<T>();
  return {};
}

}  // namespace

void declare_room(Options& options, RequestOptions& request) {
  options.value({.names = "-m,--vram", .metavar = "SIZE", .help = "memory on each GPU: 8G, 512M"},
                store(request.vram));
  options.flag({.names = "-x,--exclusive", .help = "a whole GPU, with no other lease on it"},
               store(request.exclusive));
  options.value({.names = "--share",
                 .metavar = "HOW",
                 .help = "who else may use the GPU; slice: they take turns",
                 .choices = texts_of<Share>()},
                store(request.share));
  options.value({.names = "-g,--gpus",
                 .metavar = "GPUS",
                 .help = "how many (2), which by index (0, or 0,1), by UUID, or any"},
                store(request.gpus));
  options.flag({.names = "--mixed", .help = "several GPUs may be of different models"},
               store(request.carried.mixed));
}

void declare_turn(Options& options, RequestOptions& request) {
  options.value({.names = "-p,--priority",
                 .metavar = "PRIORITY",
                 .help = "before or after others of yours",
                 .choices = texts_of<Priority>()},
                store(request.priority));
  options.optional_value({.names = "-W,--wait",
                          .metavar = "DURATION",
                          .help = "wait for a turn, at most so long; without bound is the default"},
                         into_wait(request));
  options.flag({.names = "--no-wait", .help = "now, or end with 75"}, store(request.no_wait));
}

void declare_names(Options& options, RequestOptions& request) {
  options.value({.names = "-n,--name", .metavar = "NAME", .help = "a name to find it by"},
                into_name(request.name));
  options.value({.names = "-t,--label", .metavar = "KEY=VALUE", .help = "a label; may be repeated"},
                store(request.labels));
  options.value({.names = "--session",
                 .metavar = "NAME",
                 .help = "who works, for fair sharing; BERTH_SESSION if not given"},
                store(request.session));
}

void declare_carried(Options& options, Request& request, Carried which) {
  for_each_field<Request, side::kBody>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    constexpr const FieldOption& kOption = kField.typed;
    if constexpr (!kOption.name.empty()) {
      if (kOption.of_commands && which != Carried::kWithACommand) return;
      auto& value = kField.place.reach(request);
      Option option = {.names = kOption.name,
                       .metavar = kOption.metavar,
                       .help = kOption.help,
                       .choices = choices_of(value)};
      if constexpr (kOption.metavar.empty()) {
        options.flag(std::move(option), into_carried(value));
      } else {
        options.value(std::move(option), into_carried(value));
      }
    }
  });
}

}  // namespace berth::cli
