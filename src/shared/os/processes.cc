// SPDX-License-Identifier: Apache-2.0
// Facts of /proc about processes. Each answer about a Process is checked against its start time
// after the reading, so that it is never about a later process of the same pid.
#include "os/processes.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <string_view>

#include "base/number.h"
#include "os/files.h"

namespace berth::os {
namespace {

constexpr std::size_t kStatMax = 4'096;
constexpr std::size_t kStatusMax = 65'536;
constexpr std::size_t kArgumentsMax = std::size_t{8} << 20U;  // Linux allows 6 MiB of both.
constexpr std::size_t kChainMax = 4'096;                      // Parents above a process.

std::string proc_path(std::int32_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

Error gone(std::int32_t pid) {
  return {Errc::kNotFound, "process " + std::to_string(pid) + " has ended"};
}

Error malformed(std::string_view text) {
  return {Errc::kCorrupt,
          "not a line of /proc/PID/stat: '" + std::string(text.substr(0, 80)) + "'"};
}

// So many of the words that a text begins with; less, if it has no more.
std::vector<std::string_view> first_words(std::string_view text, std::size_t count) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\n'; };
  std::vector<std::string_view> words;
  words.reserve(count);
  for (auto at = text.begin(); at != text.end() && words.size() < count;) {
    const auto end = std::find_if(at, text.end(), is_blank);
    if (end != at) words.emplace_back(at, end);
    at = end == text.end() ? end : end + 1;
  }
  return words;
}

// A file of /proc/PID that is certainly of this process: its pid was not given on meanwhile.
Result<std::string> read_proc(Process process, const char* file, std::size_t bytes_max) {
  Result<std::string> text = read_file(proc_path(process.pid, file), bytes_max);
  if (!text.ok() && text.error().code == Errc::kNotFound) return gone(process.pid);
  if (Result<ProcessState> state = process_state(process); !state.ok()) return state.error();
  return text;
}

Result<std::string_view> status_line(std::string_view status, std::string_view name) {
  for (std::size_t at = 0; at < status.size();) {
    const std::size_t end = std::min(status.find('\n', at), status.size());
    const std::string_view line = status.substr(at, end - at);
    if (line.starts_with(name)) return line.substr(name.size());
    at = end + 1;
  }
  return Error{Errc::kCorrupt, "/proc/PID/status has no line " + std::string(name)};
}

std::vector<std::string> split_at_zero(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::map<std::int32_t, ProcessState> all_processes() {
  std::map<std::int32_t, ProcessState> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), &::closedir);
  if (!directory) return all;
  while (const dirent* entry = ::readdir(directory.get())) {
    const auto pid = parse_number<std::int32_t>(entry->d_name);
    if (!pid) continue;
    if (Result<ProcessState> state = process_state(*pid); state.ok()) all.emplace(*pid, *state);
  }
  return all;
}

bool descends_from(const std::map<std::int32_t, ProcessState>& all, const ProcessState& child,
                   Process ancestor) {
  const ProcessState* at = &child;
  for (std::size_t steps = 0; steps < kChainMax; ++steps) {
    const auto parent = all.find(at->parent_pid);
    if (parent == all.end()) return false;
    if (parent->second.process == ancestor) return true;
    at = &parent->second;
  }
  return false;
}

}  // namespace

Result<ProcessState> parse_process_state(std::string_view text) {
  // pid (name) state ppid pgrp session tty tpgid …; the name may hold blanks and parentheses.
  constexpr std::size_t kThreads = 17;     // Field 20, counted from the state, which is field 3.
  constexpr std::size_t kStartTicks = 19;  // Field 22.
  const std::size_t open = text.find(" (");
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2) {
    return malformed(text);
  }
  const std::vector<std::string_view> fields = first_words(text.substr(close + 1), kStartTicks + 1);
  if (fields.size() <= kStartTicks || fields[0].size() != 1) return malformed(text);
  const auto pid = parse_number<std::int32_t>(text.substr(0, open));
  const auto threads = parse_number<std::int64_t>(fields[kThreads]);
  const auto start = parse_number<std::int64_t>(fields[kStartTicks]);
  std::array<std::int32_t, 5> numbers{};  // Parent, group, session, terminal, foreground group.
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto value = parse_number<std::int32_t>(fields[i + 1]);
    if (!value) return malformed(text);
    numbers[i] = *value;
  }
  if (!pid || *pid <= 0 || !threads || !start || *start < 0) return malformed(text);
  // The first thread may end before the others; the process has ended when none is left.
  const bool is_zombie = fields[0] == "Z" || fields[0] == "X";
  return ProcessState{.process = {.pid = *pid, .start_ticks = static_cast<std::uint64_t>(*start)},
                      .name = std::string(text.substr(open + 2, close - open - 2)),
                      .ended = is_zombie && *threads <= 1,
                      .stopped = fields[0] == "T",
                      .blocked = fields[0] == "D",
                      .parent_pid = numbers[0],
                      .group = numbers[1],
                      .session = numbers[2],
                      .terminal = static_cast<std::uint32_t>(numbers[3]),
                      .foreground_group = numbers[4]};
}

Result<ProcessState> process_state(std::int32_t pid) {
  Result<std::string> text = read_file(proc_path(pid, "stat"), kStatMax);
  if (!text.ok()) {
    // A process that ends between open and read makes the read fail with ESRCH.
    if (text.error().code == Errc::kNotFound) return gone(pid);
    return text.error();
  }
  return parse_process_state(*text);
}

Result<ProcessState> process_state(Process process) {
  TRY(state, process_state(process.pid));
  if (state.process != process) return gone(process.pid);
  return state;
}

Process self() {
  Result<ProcessState> state = process_state(::getpid());
  CHECK(state.ok());
  return state->process;
}

std::uint64_t own_pid_namespace() {
  struct stat found{};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

std::uint64_t own_time_namespace() {
  struct stat found{};
  return ::stat("/proc/self/ns/time", &found) == 0 ? found.st_ino : 0;
}

bool is_alive(Process process) {
  if (process.pid <= 0) return false;
  const Result<ProcessState> state = process_state(process.pid);
  if (state.ok()) return state->process == process && !state->ended;
  // Mounted with hidepid, /proc does not show the processes of others, but the kernel answers for
  // them. A lease must not end for what we cannot see.
  return ::kill(process.pid, 0) == 0 || errno == EPERM;
}

std::vector<Process> ancestors(Process process, std::size_t count_max) {
  std::vector<Process> chain;
  Result<ProcessState> at = process_state(process);
  while (at.ok() && at->parent_pid > 0 && chain.size() < count_max) {
    Result<ProcessState> parent = process_state(at->parent_pid);
    // A parent is older than its child; if it is not, the pid was given on while we looked.
    if (!parent.ok() || parent->process.start_ticks > at->process.start_ticks) break;
    chain.push_back(parent->process);
    at = std::move(parent);
  }
  return chain;
}

std::vector<ProcessState> all_process_states() {
  std::vector<ProcessState> found;
  for (const auto& [pid, state] : all_processes()) {
    if (!state.ended) found.push_back(state);
  }
  return found;
}

std::vector<Process> descendants(Process process) {
  const std::map<std::int32_t, ProcessState> all = all_processes();
  std::vector<Process> found;
  for (const auto& [pid, state] : all) {
    if (!state.ended && descends_from(all, state, process)) found.push_back(state.process);
  }
  return found;
}

Result<Process> session_leader(Process process) {
  TRY(state, process_state(process));
  TRY(leader, process_state(state.session));
  // The number of a session outlives its leader, and no later process gets it as its pid before
  // the session is empty; so the process that has it is the leader, if it is alive.
  if (leader.ended || leader.session != state.session) return gone(state.session);
  return leader.process;
}

Result<bool> parse_catches(std::string_view status, int signal) {
  CHECK(signal >= 1 && signal <= 64);
  TRY(line, status_line(status, "SigCgt:\t"));
  std::uint64_t mask = 0;
  const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), mask, 16);
  if (error != std::errc{} || stop != line.data() + line.size()) {
    return Error{Errc::kCorrupt, "SigCgt is not a number"};
  }
  return (mask >> static_cast<unsigned>(signal - 1) & 1U) != 0;
}

Result<bool> catches(Process process, int signal) {
  TRY(status, read_proc(process, "status", kStatusMax));
  return parse_catches(status, signal);
}

std::optional<std::string> parse_environment(std::string_view environ, std::string_view name) {
  const std::string start = std::string(name) + "=";
  for (const std::string& entry : split_at_zero(environ)) {
    if (entry.starts_with(start)) return entry.substr(start.size());
  }
  return std::nullopt;
}

Result<std::optional<std::string>> environment_value(Process process, const std::string& name) {
  TRY(text, read_proc(process, "environ", kArgumentsMax));
  return parse_environment(text, name);
}

Result<std::vector<std::string>> command_line(Process process) {
  TRY(text, read_proc(process, "cmdline", kArgumentsMax));
  return split_at_zero(text);
}

Result<UserIds> parse_user_ids(std::string_view status) {
  TRY(line, status_line(status, "Uid:\t"));
  // Real, effective, saved and file system uid, with tabs between them.
  std::array<std::uint32_t, 3> ids{};
  for (std::uint32_t& id : ids) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    const auto read = parse_number<std::uint32_t>(line.substr(0, end));
    if (!read) return Error{Errc::kCorrupt, "Uid is not four numbers"};
    id = *read;
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return UserIds{.real = {ids[0]}, .effective = {ids[1]}, .saved = {ids[2]}};
}

Result<UserIds> user_ids(Process process) {
  TRY(status, read_proc(process, "status", kStatusMax));
  return parse_user_ids(status);
}

Result<UserId> user_of(Process process) {
  TRY(ids, user_ids(process));
  return ids.effective;
}

Result<UserId> sole_user_of(Process process) {
  TRY(ids, user_ids(process));
  if (ids.real == ids.effective && ids.effective == ids.saved) return ids.real;
  return Error{Errc::kPermission,
               "process " + std::to_string(process.pid) + " has rights of several users (uid " +
                   std::to_string(ids.real.value) + ", effective " +
                   std::to_string(ids.effective.value) + ", saved " +
                   std::to_string(ids.saved.value) + "): only one that is yours alone counts"};
}

}  // namespace berth::os
