// SPDX-License-Identifier: Apache-2.0
#include "cli/run/options.h"

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
               store(request.mixed));
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

}  // namespace berth::cli
