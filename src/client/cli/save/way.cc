// SPDX-License-Identifier: Apache-2.0
#include "cli/save/way.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "cli/options.h"

namespace berth::cli {
namespace {

constexpr std::string_view kForms =
    "it is written signal:USR1, signal:USR1,file=GLOB, cmd:'COMMAND', http://HOST:PORT/PATH or "
    "library";

Error wrong_way(std::string_view text, std::string_view why) {
  return wrong("--checkpoint " + std::string(text) + ": " + std::string(why));
}

// Takes `prefix` from the beginning of `text`, if it is there.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<int> find_signal(std::string_view name) {
  take(name, "SIG");
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    const char* known = ::sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  return std::nullopt;
}

Result<SaveWay> parse_signal(std::string_view text, std::string_view rest) {
  SignalWay way;
  const std::size_t comma = rest.find(',');
  if (comma != std::string_view::npos) {
    std::string_view files = rest.substr(comma + 1);
    if (!take(files, "file=") || files.empty()) {
      return wrong_way(text, "after the comma comes file=GLOB, which files are written");
    }
    way.files = files;
  }
  std::string_view name = rest.substr(0, comma);
  if (name.ends_with("@all")) {
    way.all = true;
    name.remove_suffix(4);
  }
  const std::optional<int> signal = find_signal(name);
  if (!signal) return wrong_way(text, "there is no signal \"" + std::string(name) + "\"");
  if (*signal == SIGKILL || *signal == SIGSTOP) {
    return wrong_way(text, "no program can catch that signal");
  }
  way.signal = *signal;
  return SaveWay(std::move(way));
}

bool is_port(std::string_view text) {
  const bool digits = !text.empty() && text.size() <= 5 &&
                      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return false;
  int number = 0;
  for (const char c : text) number = number * 10 + (c - '0');
  return number >= 1 && number <= 65'535;
}

// HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT.
bool parse_authority(std::string_view authority, HttpWay& way) {
  if (authority.find('@') != std::string_view::npos) return false;
  way.port = "80";
  std::string_view after;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return false;
    way.host = authority.substr(1, close - 1);
    after = authority.substr(close + 1);
  } else {
    const std::size_t colon = authority.find(':');
    way.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) after = authority.substr(colon);
  }
  if (way.host.empty()) return false;
  if (after.empty()) return true;
  if (after[0] != ':' || !is_port(after.substr(1))) return false;
  way.port = after.substr(1);
  return true;
}

Result<SaveWay> parse_url(std::string_view text, std::string_view url) {
  const bool escape_control = std::ranges::all_of(
      url, [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; });
  if (!escape_control) return wrong_way(text, "a URL has no blanks; write them as %20");
  HttpWay way;
  const std::size_t slash = url.find_first_of("/?#");
  if (!parse_authority(url.substr(0, slash), way)) {
    return wrong_way(text, "is no URL of the form http://HOST:PORT/PATH");
  }
  way.target = slash == std::string_view::npos ? "" : url.substr(slash, url.find('#') - slash);
  if (!way.target.starts_with('/')) way.target.insert(0, "/");
  return SaveWay(std::move(way));
}

Result<SaveWay> parse_unix(std::string_view text, std::string_view rest) {
  HttpWay way;
  const std::size_t colon = rest.find(':');
  way.socket = rest.substr(0, colon);
  way.target = colon == std::string_view::npos ? "/" : rest.substr(colon + 1);
  const bool escape_control = way.target.find_first_of(" \t\r\n") == std::string::npos;
  if (!way.socket.starts_with('/') || !way.target.starts_with('/') || !escape_control) {
    return wrong_way(text, "over a Unix socket it is written http:unix:/PATH/OF/SOCKET:/TARGET");
  }
  return SaveWay(std::move(way));
}

}  // namespace

Result<SaveWay> parse_save_way(std::string_view text) {
  std::string_view rest = text;
  if (take(rest, "signal:")) return parse_signal(text, rest);
  if (take(rest, "cmd:")) {
    if (rest.find_first_not_of(" \t\n") == std::string_view::npos) {
      return wrong_way(text, "the command is missing");
    }
    return SaveWay(CmdWay{.line = std::string(rest)});
  }
  if (text == "library") return SaveWay(LibraryWay{});
  take(rest, "http:");  // Before a whole URL, too.
  if (text.starts_with("https:") || rest.starts_with("https:")) {
    return wrong_way(text, "https is not in this version; cmd:'curl -fsS -X POST URL' does it");
  }
  if (rest.size() < text.size()) {
    if (take(rest, "unix:")) return parse_unix(text, rest);
    take(rest, "http:");
    if (take(rest, "//")) return parse_url(text, rest);
  }
  return wrong_way(text, kForms);
}

Result<std::optional<CheckpointWay>> checkpoint_way_of(const SaveOptions& options) {
  if (!options.way) {
    if (options.every)
      return wrong("--checkpoint-every needs --checkpoint: how is it to be asked?");
    if (options.grace && !options.requeue) {
      return wrong(
          "--grace is how long a save, or a stop, may take: it needs --checkpoint or --requeue");
    }
    return std::optional<CheckpointWay>();
  }
  CheckpointWay way;
  way.kind = static_cast<CheckpointKind>(options.way->index());
  if (options.grace) way.grace = *options.grace;
  way.every = options.every;
  return std::optional(way);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

}  // namespace berth::cli
