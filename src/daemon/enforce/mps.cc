// SPDX-License-Identifier: Apache-2.0
// The limit of NVIDIA's Multi-Process Service (MPS), kept by the driver for each client process: a
// variable in the environment of the command, and a control daemon that is not Berth's. Sources:
// docs.nvidia.com/deploy/mps, pages on environment variables and on the control daemon.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "enforce/backend.h"
#include "os/unique_fd.h"

namespace berth::enforce {
namespace {

constexpr std::string_view kPipesDefault = "/tmp/nvidia-mps";
constexpr std::string_view kControlName = "/control";
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;

// Whether a server listens is asked with a socket of another type than it has: the kernel looks
// whether the address is taken before it compares the types, so the server never hears of it.
MpsFacts::Control state_of_control(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) {
    return errno == EACCES ? MpsFacts::Control::kForbidden : MpsFacts::Control::kMissing;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!S_ISSOCK(found.st_mode) || path.size() >= sizeof address.sun_path) {
    return MpsFacts::Control::kGone;
  }
  std::ranges::copy(path, std::begin(address.sun_path));
  const os::UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // The kernel's interface is this cast.
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(socket.get(), where, sizeof address) == 0 || errno == EPROTOTYPE) {
    return MpsFacts::Control::kListens;
  }
  return errno == EACCES ? MpsFacts::Control::kForbidden : MpsFacts::Control::kGone;
}

std::string mps_size(Bytes budget) {
  if (budget.value >= kGibibyte && budget.value % kGibibyte == 0) {
    return std::to_string(budget.value / kGibibyte) + "G";
  }
  return std::to_string(budget.value / kMebibyte) + "M";
}

}  // namespace

MpsFacts look_at_mps(std::string_view pipes) {
  MpsFacts facts;
  facts.socket = std::string(pipes.empty() ? kPipesDefault : pipes) + std::string(kControlName);
  facts.control = state_of_control(facts.socket);
  return facts;
}

Availability mps_availability(const Facts& facts) {
  using Control = MpsFacts::Control;
  Availability result{.available = false,
                      .fact = {},
                      .consequence = "--enforce mps ends with 69",
                      .cure = "nvidia-cuda-mps-control -d"};
  switch (facts.mps.control) {
    case Control::kMissing:
      result.fact = "no control daemon of MPS runs here (there is no " + facts.mps.socket + ")";
      break;
    case Control::kGone:
      result.fact = "the control daemon of MPS is gone; nobody listens at " + facts.mps.socket;
      break;
    case Control::kForbidden:
      result.fact = "the control daemon of MPS is not for this user: " + facts.mps.socket;
      result.cure = "ls -ld " + facts.mps.socket;
      break;
    case Control::kListens:
      return {.available = true,
              .fact = "MPS can limit the memory of each process; its control daemon listens at " +
                      facts.mps.socket,
              .consequence = {},
              .cure = {}};
  }
  return result;
}

std::string mps_limits(std::span<const Bytes> budgets) {
  std::string text;
  for (std::size_t ordinal = 0; ordinal < budgets.size(); ++ordinal) {
    text += (text.empty() ? "" : ",") + std::to_string(ordinal) + "=" + mps_size(budgets[ordinal]);
  }
  return text;
}

}  // namespace berth::enforce
