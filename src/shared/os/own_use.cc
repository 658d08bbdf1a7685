// SPDX-License-Identifier: Apache-2.0
#include "os/own_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "base/number.h"
#include "os/files.h"

namespace berth::os {
namespace {

Duration duration_of(const timeval& time) {
  return seconds(time.tv_sec) + Duration{time.tv_usec * 1'000};
}

std::optional<Bytes> resident() {
  constexpr std::size_t kMost = 256;
  const Result<std::string> read = read_file("/proc/self/statm", kMost);
  if (!read.ok()) return std::nullopt;
  // "size resident shared …", in pages.
  std::string_view text = *read;
  text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  const auto pages = parse_number<std::uint64_t>(text.substr(0, text.find(' ')));
  if (!pages) return std::nullopt;
  return Bytes{*pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
}

std::optional<std::uint64_t> descriptors() {
  std::error_code failed;
  const std::filesystem::directory_iterator open("/proc/self/fd", failed);
  if (failed) return std::nullopt;
  // One of them is that of the folder.
  return static_cast<std::uint64_t>(std::distance(begin(open), end(open))) - 1;
}

}  // namespace

OwnUse own_use() {
  rusage used{};
  (void)::getrusage(RUSAGE_SELF, &used);
  return {.cpu = duration_of(used.ru_utime) + duration_of(used.ru_stime),
          .resident = resident(),
          .descriptors = descriptors()};
}

}  // namespace berth::os
