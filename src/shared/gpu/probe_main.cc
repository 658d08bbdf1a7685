// SPDX-License-Identifier: Apache-2.0
// berth-probe answers the daemon's questions about the devices, a line each way on its standard
// input and output, one at a time. It is a process of its own because a driver may hang for ever in
// any call: then this process is left to it, and the daemon goes on. It ends with its input.
#include <linux/capability.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "gpu/probe_protocol.h"
#include "gpu/sampler.h"
#include "os/capabilities.h"
#include "os/clock.h"

namespace berth::gpu {
namespace {

constexpr int kBadQuestion = 65;
constexpr std::size_t kReadBytes = 4'096;

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// The next line without its end; empty if there is none any more.
std::string read_line(std::string& buffer) {
  std::array<char, kReadBytes> chunk{};
  for (;;) {
    if (const std::size_t end = buffer.find('\n'); end != std::string::npos) {
      std::string line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      return line;
    }
    if (buffer.size() > kQuestionMax) return "";
    const ssize_t length = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return "";
    buffer.append(chunk.data(), static_cast<std::size_t>(length));
  }
}

int run() {
  // Handed on by the daemon of all users, which ends processes. Whose they are is all this one
  // asks.
  CHECK(os::give_up_capability(CAP_KILL).ok());
  const char* spec = std::getenv("BERTH_SIM");
  const char* sysfs = std::getenv("BERTH_SIM_SYSFS");
  const os::PosixClock clock;
  Sampler::Options options{.simulated = spec != nullptr && *spec != '\0'};
  if (options.simulated && sysfs != nullptr) options.sysfs = sysfs;
  Sampler sampler(std::move(options), clock);
  std::string buffer;
  for (std::string line = read_line(buffer); !line.empty(); line = read_line(buffer)) {
    const Result<Question> question = decode_question(line);
    if (!question.ok()) return kBadQuestion;
    sampler.remember(question->known);
    if (!write_all(encode({.number = question->number, .sample = sampler.sample()}))) break;
  }
  // NVML is not shut down: what hangs in there must not keep this process.
  ::_exit(0);
}

}  // namespace
}  // namespace berth::gpu

int main() {
  return berth::gpu::run();
}
