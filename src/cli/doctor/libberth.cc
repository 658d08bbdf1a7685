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
  Finding finding{.check = "libberth"};
  if (!facts.found.empty() && facts.version == own_version) {
    finding.fact = "programs find libberth " + facts.version + " (" + facts.found + ")";
  } else if (!facts.found.empty()) {
    finding.level = Level::kWarn;
    finding.fact = "programs find libberth " + facts.version + " (" + facts.found +
                   "), and this is berth " + own_version;
    finding.consequence = "what only one of them knows cannot be used";
    finding.cure =
        facts.beside.empty() ? "ls -l " + facts.found : "ls -l " + facts.found + " " + facts.beside;
  } else if (!facts.beside.empty()) {
    const std::string folder = std::filesystem::path(facts.beside).parent_path().string();
    finding.level = Level::kSkip;
    finding.fact = "the dynamic linker does not look for libberth.so.1 in " + folder;
    finding.consequence = "programs that use it have to name the directory; Python's package does";
    finding.cure = "export LD_LIBRARY_PATH=" + folder;
  } else {
    finding.level = Level::kSkip;
    finding.fact = "libberth.so.1 is not installed";
    finding.consequence = "programs that use it cannot be started";
  }
  return finding;
}

}  // namespace berth::cli
