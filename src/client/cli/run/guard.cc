// SPDX-License-Identifier: Apache-2.0
#include "cli/run/guard.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

#include "enforce/backend.h"
#include "os/files.h"
#include "os/library_file.h"
#include "os/paths.h"
#include "os/program_file.h"

namespace berth::cli {
namespace {

constexpr const char* kDirectory = "BERTH_LEASE_DIR";
constexpr const char* kPreload = "LD_PRELOAD";
constexpr const char* kAudit = "LD_AUDIT";
constexpr const char* kAsanOptions = "ASAN_OPTIONS";
constexpr std::string_view kSeparators = ": ";  // Of LD_PRELOAD; LD_AUDIT has ':' alone.

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

// AddressSanitizer ends a program that finds another library before its run-time. To preload that
// too would put it into all that the command starts: a shell dies of ThreadSanitizer's, and of
// AddressSanitizer's it ends with another code, for what it never frees.
std::string tolerant(const std::string& asan_options) {
  constexpr std::string_view kOrder = "verify_asan_link_order";
  if (asan_options.find(kOrder) != std::string::npos) return asan_options;
  return asan_options + (asan_options.empty() ? "" : ":") + std::string(kOrder) + "=0";
}

std::vector<std::string> entries_of(std::string_view list, std::string_view separators) {
  std::vector<std::string> entries;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(separators), list.size());
    if (end > 0) entries.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return entries;
}

// Ours is the last one, or stands before the first of which that holds.
std::string joined(const std::vector<std::string>& given, const std::string& ours,
                   const std::function<bool(const std::string&)>& comes_later) {
  std::vector<std::string> list;
  for (const std::string& entry : given) {
    if (entry != ours && std::ranges::count(list, entry) == 0) list.push_back(entry);
  }
  list.insert(std::ranges::find_if(list, comes_later), ours);
  std::string text;
  for (const std::string& entry : list) text += (text.empty() ? "" : ":") + entry;
  return text;
}

// Such a library (MangoHud has one) answers programs that look for the driver's functions, if it
// comes before ours; behind ours, it answers us.
bool defines_dlsym(const std::string& entry) {
  constexpr std::size_t kLibraryMax = std::size_t{64} << 20U;
  const char* search = std::getenv("LD_LIBRARY_PATH");
  const auto path = os::find_preloaded(entry, search == nullptr ? "" : search);
  const auto file = path ? os::read_file(*path, kLibraryMax) : Error{Errc::kNotFound, entry};
  return file.ok() && os::defines_symbol(*file, "dlsym");
}

// With any audit library the dynamic linker sets up the memory of threads before it knows what the
// program needs of it, and keeps little room: ThreadSanitizer's programs would not start.
bool can_be_audited(const os::ProgramFile& program) {
  return !program.checks_threads;
}

bool wants_audit(GuardMode mode, const GuardLook& look) {
  if (mode != GuardMode::kAuto) return mode == GuardMode::kAudit;
  return look.program->makes_namespaces && can_be_audited(*look.program) && !look.audit.empty();
}

// Why the command cannot be held to its budget; empty: it can.
std::string obstacle_to(const GuardInput& input, const GuardLook& look,
                        const std::string& directory) {
  if (look.guard.empty()) return "libberth-guard.so is not installed beside " + look.own_path;
  if (look.guard.find_first_of(kSeparators) != std::string::npos)
    return "no library can be preloaded from " + look.guard + ", for the ':' or ' ' in it";
  if (input.mode == GuardMode::kAudit && look.audit.empty())
    return "libberth-audit.so is not installed beside " + look.own_path;
  if (!os::exists(directory + "/limit") || !os::exists(directory + "/use"))
    return "the daemon has made no " + directory + "/limit and use (see its log)";
  if (!look.program.ok()) return look.program.error().message;
  if (input.mode == GuardMode::kAudit && !can_be_audited(*look.program))
    return look.program->path + " is one of ThreadSanitizer, which --guard-mode audit is not for";
  return obstacle_in(*look.program);
}

}  // namespace

std::string on_full_text(Duration wait_max) {
  const std::int64_t count = wait_max.ns / milliseconds(1).ns;
  return count > 0 ? "wait=" + std::to_string(count) + "ms" : "";
}

std::string preload_list(const std::string& preloaded, const std::string& guard,
                         const std::function<bool(const std::string&)>& defines_dlsym) {
  return joined(entries_of(preloaded, kSeparators), guard, defines_dlsym);
}

std::string audit_list(const std::string& audited, const std::string& ours) {
  return joined(entries_of(audited, ":"), ours, [](const std::string&) { return false; });
}

GuardLook look_for_guard(const std::string& command, const std::string& own_path) {
  return {.own_path = own_path,
          .guard = enforce::find_library(own_path, enforce::kGuardLibrary),
          .audit = enforce::find_library(own_path, enforce::kAuditLibrary),
          .stamp = os::stamp_of_program(command),
          .program = os::look_at_program(command)};
}

bool is_outdated(const GuardLook& look, const std::string& command) {
  const Result<os::FileStamp> stamp = os::stamp_of_program(command);
  return !stamp.ok() || !look.stamp.ok() || *stamp != *look.stamp;
}

GuardPlan plan_guard(const GuardInput& input, const GuardLook& look) {
  GuardPlan plan;
  const std::string directory =
      os::leases_directory(input.socket) + "/" + berth::to_text(input.lease);
  plan.not_held = obstacle_to(input, look, directory);
  if (!plan.not_held.empty()) return plan;

  plan.set[kDirectory] = directory;
  plan.set[kPreload] = preload_list(input.preloaded, look.guard, defines_dlsym);
  if (wants_audit(input.mode, look)) plan.set[kAudit] = audit_list(input.audited, look.audit);
  plan.set[kAsanOptions] = tolerant(input.asan_options);
  if (!input.on_full.empty()) plan.set[kOnFull] = input.on_full;
  return plan;
}

}  // namespace berth::cli
