// SPDX-License-Identifier: Apache-2.0
// The guard: exact, before the fact, in each program that it can be loaded into. cli/run/guard.h
// plans the variables that a command is given for it.
#include <string>

#include "enforce/backend.h"
#include "os/files.h"
#include "os/program_file.h"

namespace berth::enforce {
namespace {

constexpr std::string_view kMachine = "x86_64";

Availability unusable(const LibraryFacts& library, std::string_view name,
                      const std::string& consequence) {
  const std::string what(name);
  return {.available = false,
          .fact = library.path.empty() ? what + " is not installed beside this program"
                                       : library.path + " " + library.trouble,
          .consequence = consequence,
          .cure = "./dev build"};
}

}  // namespace

// In a build and in /opt: beside bin/. In a distribution: in its directory for libraries of a kind.
std::string find_library(const std::string& own_path, std::string_view name) {
  const std::string bin = own_path.substr(0, own_path.rfind('/'));
  const std::string top = bin.substr(0, bin.rfind('/'));
  for (const char* folder : {"/lib/", "/lib/x86_64-linux-gnu/", "/lib64/"}) {
    std::string path = top + folder + std::string(name);
    if (os::exists(path)) return path;
  }
  return {};
}

LibraryFacts look_at_library(const std::string& own_path, std::string_view name) {
  LibraryFacts facts{.path = find_library(own_path, name), .trouble = {}};
  if (facts.path.empty()) return facts;
  const auto file = os::look_at_program(facts.path);
  using Kind = os::ProgramFile::Kind;
  if (!file.ok()) {
    facts.trouble = "cannot be read";
  } else if (file->kind == Kind::kUnknown || file->path != facts.path) {  // A script names another.
    facts.trouble = "is no library";
  } else if (file->kind == Kind::kOtherMachine) {
    facts.trouble = "is for another kind of machine";
  }
  return facts;
}

Availability guard_availability(const Facts& facts) {
  const std::string instead = "what programs use is only measured, after the fact";
  if (facts.machine != kMachine) {
    return {.available = false,
            .fact = "there is no guard for machines of kind " + facts.machine,
            .consequence = instead,
            .cure = {}};
  }
  if (facts.guard.path.empty() || !facts.guard.trouble.empty()) {
    return unusable(facts.guard, kGuardLibrary, instead);
  }
  return {.available = true,
          .fact = "the guard can be preloaded (glibc " + facts.libc + "): " + facts.guard.path,
          .consequence = {},
          .cure = {}};
}

Availability audit_availability(const Facts& facts) {
  const std::string instead = "--guard-mode audit ends with 69 or is passed over";
  if (facts.machine != kMachine) {
    return {.available = false,
            .fact = "there is no audit for machines of kind " + facts.machine,
            .consequence = instead,
            .cure = {}};
  }
  if (facts.audit.path.empty() || !facts.audit.trouble.empty()) {
    return unusable(facts.audit, kAuditLibrary, instead);
  }
  return {.available = true,
          .fact = "the audit can follow programs past preloaded libraries: " + facts.audit.path,
          .consequence = {},
          .cure = {}};
}

}  // namespace berth::enforce
