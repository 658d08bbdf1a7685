// SPDX-License-Identifier: Apache-2.0
#include "os/machine.h"

#include <sys/resource.h>

#include "os/files.h"

namespace berth::os {
namespace {

constexpr std::size_t kIdMax = 128;

std::string without_newline(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

bool is_machine_id(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

Result<std::string> boot_id() {
  TRY(text, read_file("/proc/sys/kernel/random/boot_id", kIdMax));
  return without_newline(std::move(text));
}

std::string machine_id() {
  for (const char* path : {"/etc/machine-id", "/var/lib/dbus/machine-id"}) {
    if (Result<std::string> text = read_file(path, kIdMax); text.ok()) {
      if (std::string id = without_newline(*std::move(text)); is_machine_id(id)) return id;
    }
  }
  return "unknown";
}

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1'024;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace berth::os
