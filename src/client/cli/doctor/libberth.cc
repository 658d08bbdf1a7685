// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/libberth.h"

#include <dlfcn.h>

#include <filesystem>

#include "os/files.h"

namespace berth::cli {
namespace {

constexpr const char* kName = "libberth.so.1";

}  // namespace

LibberthFacts look_at_libberth(const std::string& own_path) {
  LibberthFacts facts;
  const std::filesystem::path prefix = std::filesystem::path(own_path).parent_path().parent_path();
  const std::string beside = prefix / "lib" / kName;
  if (!own_path.empty() && os::exists(beside)) facts.beside = beside;
  void* library = ::dlopen(kName, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return facts;
  void* version = ::dlsym(library, "berth_version");
  Dl_info place{};
  if (version != nullptr && ::dladdr(version, &place) != 0) {
    facts.found = place.dli_fname;
    facts.version = reinterpret_cast<const char* (*)()>(version)();
  }
  ::dlclose(library);
  return facts;
}

Finding judge_libberth(const LibberthFacts& facts, const std::string& own_version) {
  constexpr std::string_view kCheck = "libberth";
  const std::string found = "programs find libberth " + facts.version + " (" + facts.found + ")";
  if (!facts.found.empty() && facts.version == own_version) return fine(kCheck, found);
  if (!facts.found.empty()) {
    return warning(kCheck, {.fact = found + ", and this is berth " + own_version,
                            .consequence = "what only one of them knows cannot be used",
                            .cure = "ls -l " + facts.found +
                                    (facts.beside.empty() ? "" : " " + facts.beside)});
  }
  if (facts.beside.empty()) {
    return skipped(kCheck, {.fact = "libberth.so.1 is not installed",
                            .consequence = "programs that use it cannot be started"});
  }
  const std::string folder = std::filesystem::path(facts.beside).parent_path().string();
  return skipped(
      kCheck,
      {.fact = "the dynamic linker does not look for libberth.so.1 in " + folder,
       .consequence = "programs that use it have to name the directory; Python's package does",
       .cure = "export LD_LIBRARY_PATH=" + folder});
}

}  // namespace berth::cli
