// SPDX-License-Identifier: Apache-2.0
#include "agents/job_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/letters.h"
#include "os/unique_fd.h"

namespace berth::agents {
namespace {

constexpr std::size_t kLineMax = 400;
constexpr off_t kReadMax = 64 << 10;

std::string end_of(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  const off_t begin = std::max<off_t>(found.st_size - kReadMax, 0);
  std::string text(static_cast<std::size_t>(found.st_size - begin), '\0');
  const ssize_t count = ::pread(file.get(), text.data(), text.size(), begin);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

}  // namespace

std::vector<std::string> last_lines(std::string_view text, std::uint32_t count) {
  std::vector<std::string> lines;
  if (text.ends_with('\n')) text.remove_suffix(1);
  while (!text.empty() && lines.size() < count) {
    const std::size_t end = text.rfind('\n');
    const std::size_t begin = end == std::string_view::npos ? 0 : end + 1;
    const std::string line = escape_control_line(text.substr(begin));
    lines.emplace_back(whole_letters(line, kLineMax));
    text = end == std::string_view::npos ? std::string_view() : text.substr(0, end);
  }
  std::ranges::reverse(lines);
  return lines;
}

std::vector<std::string> last_lines_of_job(const jobs::JobFolder& jobs, LeaseId job,
                                           std::uint32_t count) {
  const std::uint32_t attempt = jobs.has(job) ? jobs.attempts(job) : 0;
  if (attempt == 0) return {};
  return last_lines(end_of(jobs.log_path(job, attempt)), count);
}

}  // namespace berth::agents
