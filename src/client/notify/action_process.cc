// SPDX-License-Identifier: Apache-2.0
#include "notify/action_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "os/child.h"
#include "os/errors.h"
#include "os/programs.h"

namespace berth::notify {
namespace {

constexpr std::size_t kSaidMax = 2'048;

}  // namespace

Result<ActionProcess> ActionProcess::start(const Alert::Action& action) {
  TRY(program, os::sibling_program("berth"));
  const os::UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return os::system_error("cannot open /dev/null", errno);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os::system_error("cannot make a pipe", errno);
  os::UniqueFd ours(ends[0]);
  const os::UniqueFd theirs(ends[1]);
  (void)::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  const std::string verb(to_text(action.verb));
  const std::string lease = to_text(action.lease);
  TRY(pid, os::spawn({.words = {program, verb, lease},
                      .standard = {nothing.get(), theirs.get(), theirs.get()}}));
  return ActionProcess(pid, std::move(ours), "berth " + verb + " " + lease);
}

bool ActionProcess::read() {
  std::array<char, 4'096> piece{};
  for (;;) {
    const ssize_t count = ::read(output_.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) break;
    said_.append(piece.data(), static_cast<std::size_t>(count));
    if (said_.size() > kSaidMax) said_.resize(kSaidMax);
  }
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  return false;
}

}  // namespace berth::notify
