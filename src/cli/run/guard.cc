// SPDX-License-Identifier: Apache-2.0
#include "cli/run/guard.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "os/files.h"
#include "os/places.h"
#include "os/program_file.h"

namespace berth::cli {
namespace {

constexpr const char* kDirectory = "BERTH_LEASE_DIR";
constexpr const char* kPreload = "LD_PRELOAD";
constexpr const char* kAsanOptions = "ASAN_OPTIONS";
constexpr std::string_view kSeparators = ": ";

// In a build and in /opt: beside bin/. In a distribution: in its directory for libraries of a kind.
std::string find_guard(const std::string& own_path) {
  const std::string bin = own_path.substr(0, own_path.rfind('/'));
  const std::string top = bin.substr(0, bin.rfind('/'));
  for (const char* folder : {"/lib", "/lib/x86_64-linux-gnu", "/lib64"}) {
    std::string path = top + folder + "/libberth-guard.so";
    if (os::exists(path)) return path;
  }
  return {};
}

// Empty: it can be preloaded into.
std::string obstacle_in(const os::ProgramFile& program) {
  using Kind = os::ProgramFile::Kind;
  if (program.gains_rights) return program.path + " runs with other rights than yours";
  switch (program.kind) {
    case Kind::kDynamic:
      return {};
    case Kind::kStatic:
      return program.path + " is statically linked";
    case Kind::kOtherLibrary:
      return program.path + " uses another C library than glibc";
    case Kind::kOtherMachine:
      return program.path + " is for another kind of machine";
    case Kind::kUnknown:
      break;
  }
  return program.path + " is no program that can be looked into";
}

bool is_sanitizer(const std::string& library) {
  return library.starts_with("libasan.so") || library.starts_with("libtsan.so");
}

// AddressSanitizer ends a program that finds another library before it. Of the command we know that
// it needs its run-time, and put that first; of what the command starts we do not.
std::string tolerant(const std::string& asan_options) {
  constexpr std::string_view kOrder = "verify_asan_link_order";
  if (asan_options.find(kOrder) != std::string::npos) return asan_options;
  return asan_options + (asan_options.empty() ? "" : ":") + std::string(kOrder) + "=0";
}

std::vector<std::string> entries_of(std::string_view list) {
  std::vector<std::string> entries;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(kSeparators), list.size());
    if (end > 0) entries.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return entries;
}

}  // namespace

std::string preload_list(const std::string& preloaded, const std::vector<std::string>& first,
                         const std::string& guard) {
  std::vector<std::string> list = first;
  for (const std::string& entry : entries_of(preloaded)) {
    if (entry != guard && std::ranges::count(list, entry) == 0) list.push_back(entry);
  }
  list.push_back(guard);
  std::string text;
  for (const std::string& entry : list) text += (text.empty() ? "" : ":") + entry;
  return text;
}

GuardLook look_for_guard(const std::string& command, const std::string& own_path) {
  return {.own_path = own_path,
          .guard = find_guard(own_path),
          .stamp = os::stamp_of_program(command),
          .program = os::look_at_program(command)};
}

bool is_outdated(const GuardLook& look, const std::string& command) {
  const Result<os::FileStamp> stamp = os::stamp_of_program(command);
  return !stamp.ok() || !look.stamp.ok() || *stamp != *look.stamp;
}

GuardPlan plan_guard(const GuardInput& input, const GuardLook& look) {
  GuardPlan plan;
  if (input.enforce == Enforce::kNone) return plan;
  const std::string& guard = look.guard;
  const Result<os::ProgramFile>& program = look.program;
  const std::string directory =
      os::leases_directory(input.socket) + "/" + berth::to_text(input.lease);
  if (guard.empty()) {
    plan.not_held = "libberth-guard.so is not installed beside " + look.own_path;
  } else if (guard.find_first_of(kSeparators) != std::string::npos) {
    plan.not_held = "no library can be preloaded from " + guard + ", for the ':' or ' ' in it";
  } else if (!os::exists(directory + "/limit") || !os::exists(directory + "/use")) {
    plan.not_held = "the daemon has made no " + directory + "/limit and use (see its log)";
  } else if (!program.ok()) {
    plan.not_held = program.error().message;
  } else {
    plan.not_held = obstacle_in(*program);
  }
  if (!plan.not_held.empty()) return plan;

  std::vector<std::string> first;
  std::ranges::copy_if(program->needed, std::back_inserter(first), is_sanitizer);
  plan.set[kDirectory] = directory;
  plan.set[kPreload] = preload_list(input.preloaded, first, guard);
  plan.set[kAsanOptions] = tolerant(input.asan_options);
  return plan;
}

}  // namespace berth::cli
