// SPDX-License-Identifier: Apache-2.0
#include "cli/output_mode.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "cli/leases.h"
#include "cli/settings.h"
#include "cli/watch_keys.h"

namespace berth::cli {
namespace {

constexpr std::size_t kHeightUnknown = 24;

// The text in the place of the one before: each line is written over the old one, so that nothing
// flickers, and what does not fit the terminal is left out.
std::string over_the_last(std::string_view text, std::size_t lines_max) {
  std::string screen = "\033[H";
  for (std::size_t line = 0; line + 1 < lines_max && !text.empty(); ++line) {
    const auto end = std::min(text.find('\n'), text.size());
    screen.append(text.substr(0, end)).append("\033[K\r\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return screen + "\033[J";
}

}  // namespace

void OutputMode::declare(Watching watching) {
  declare_output(invocation_.options, choice_, watching);
  invocation_.is_for_programs = [this] {
    return choice_.format == Format::kJson || choice_.format == Format::kNdjson;
  };
}

bool OutputMode::open() {
  const auto settings = settings_of(invocation_);
  if (!settings) {
    session_.note(ExitCode::kConfig);
    return false;
  }
  if (!choice_.format_given) choice_.format = settings->client.output;
  return session_.open();
}

std::optional<std::string> OutputMode::for_programs(ItemSource source) {
  source.simulated = session_.is_simulated();
  source.on_terminal = invocation_.terminal.output_is_terminal;
  const RenderContext at = context();
  auto text = render_items(source, choice_, at.charset);
  if (!text.ok()) {
    session_.fail(exit_code(text.error().code), text.error().message);
    return std::nullopt;
  }
  const bool says_so = choice_.format == Format::kJson;
  if (source.simulated.value_or(false) && !says_so && !std::exchange(said_simulated_, true)) {
    complain("berth: the GPU is simulated\n");
  }
  return *std::move(text);
}

int OutputMode::show(const std::function<std::optional<std::string>()>& render) {
  if (choice_.watch) return watch(render);
  if (const auto text = render()) print(*text);
  return session_.status();
}

int OutputMode::show(const std::string& text, std::string_view json) {
  return show(
      [&] { return choice_.is_for_people() ? std::optional(text) : for_programs({.json = json}); });
}

int OutputMode::open_and_show(const std::function<std::optional<std::string>()>& render) {
  return open() ? show(render) : session_.status();
}

int OutputMode::watch(const std::function<std::optional<std::string>()>& render) {
  const Terminal& terminal = invocation_.terminal;
  const bool in_place = terminal.output_is_terminal && choice_.is_for_people();
  WatchKeys keys(in_place);
  while (const auto text = render()) {
    print(in_place ? over_the_last(*text, terminal.height.value_or(kHeightUnknown)) : *text);
    if (!flush()) break;  // Nobody reads any more, or the disk is full.
    if (!keys.wait(checked(choice_.watch))) break;
  }
  return session_.status();
}

int show_leases(
    Invocation& invocation,
    const std::function<std::optional<std::string>(const LeaseView&, OutputMode&)>& render,
    const std::function<std::optional<std::string>(OutputMode&)>& render_alone) {
  OutputMode output_mode(invocation);
  std::vector<std::string> words;
  declare_leases(invocation.options, words, render_alone ? "[LEASE...]" : "LEASE...");
  output_mode.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  return output_mode.open_and_show([&] {
    if (words.empty()) return render_alone(output_mode);
    return render_each(output_mode.session(), words,
                       [&](const LeaseView& lease) { return render(lease, output_mode); });
  });
}

}  // namespace berth::cli
