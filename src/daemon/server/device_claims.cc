// SPDX-License-Identifier: Apache-2.0
#include "server/device_claims.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "os/errors.h"
#include "os/processes.h"
#include "os/users.h"

namespace berth::server {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr std::size_t kLineMax = 512;
constexpr std::chrono::milliseconds kAcceptAgainAfter(100);
constexpr int kAnswerWithinMs = 50;  // The holder of the name may well say nothing.

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Name name_of(DeviceId device) {
  const std::string text = "berth/1/device/" + to_text(device);
  Name name;
  name.address.sun_family = AF_UNIX;
  CHECK(text.size() + 1 < sizeof name.address.sun_path);
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

os::UniqueFd new_name_socket() {
  return os::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Printable bytes only: it is shown to people, and may come from anybody.
std::string line_from(int socket) {
  pollfd wanted{.fd = socket, .events = POLLIN, .revents = 0};
  if (::poll(&wanted, 1, kAnswerWithinMs) <= 0) return {};
  std::array<char, kLineMax> text{};
  const ssize_t count = ::recv(socket, text.data(), text.size(), MSG_DONTWAIT);
  std::string line;
  for (ssize_t i = 0; i < count && text[static_cast<std::size_t>(i)] != '\n'; ++i) {
    const char c = text[static_cast<std::size_t>(i)];
    line += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return line;
}

}  // namespace

struct DeviceClaims::Claim {
  std::unique_ptr<stream_descriptor> listening;      // Ours, if there,
  std::unique_ptr<boost::asio::steady_timer> pause;  // and with it this.
  std::optional<Other> other;                        // Else who has it, as far as is known,
  std::string unknown;                               // or why that is not known.
  Instant try_again_at;                              // 0: not tried yet.
};

DeviceClaims::DeviceClaims(boost::asio::io_context& io, Rank rank, std::string line,
                           std::function<void(const std::string&)> say)
    : io_(io), rank_(rank), line_(std::move(line)), say_(std::move(say)) {}

DeviceClaims::~DeviceClaims() = default;

void DeviceClaims::apply(Instant now, Sample& sample) {
  std::size_t withheld = 0;
  std::string trouble;
  for (DeviceSample& device : sample.devices) {
    if (device.id == DeviceId{}) continue;  // It did not even tell its name.
    Claim& claim = claim_of(device.id);
    if (!claim.listening && now >= claim.try_again_at) try_claim(now, device.id, claim);
    if (is_ours_to_grant(claim)) continue;
    device.lost = true;
    device.trouble = trouble_of(claim);
    trouble = "GPU " + to_text(device.id) + ": " + device.trouble;
    ++withheld;
  }
  const bool all = withheld > 0 && withheld == sample.devices.size();
  if (all && sample.trouble.empty()) sample.trouble = trouble;
}

/// A device without a claim is granted by nobody, but that an ordinary user's process has its name
/// does not keep the machine's daemon from it.
bool DeviceClaims::is_ours_to_grant(const Claim& claim) const {
  if (claim.listening) return true;
  return claim.other ? outranks(*claim.other) : rank_ == Rank::kMachine;
}

std::string DeviceClaims::trouble_of(const Claim& claim) {
  if (!claim.other) return "who coordinates it cannot be found out: " + claim.unknown;
  const std::string line = claim.other->line.empty() ? "" : "; " + claim.other->line;
  return "it is coordinated by the daemon of " + claim.other->name + " (pid " +
         std::to_string(claim.other->pid) + line +
         "): use that one, or ask its owner to run Berth for the whole machine";
}

DeviceClaims::Claim& DeviceClaims::claim_of(DeviceId device) {
  std::unique_ptr<Claim>& claim = claims_[device];
  if (!claim) claim = std::make_unique<Claim>();
  return *claim;
}

void DeviceClaims::try_claim(Instant now, DeviceId device, Claim& claim) {
  claim.try_again_at = now + kRetryEvery;
  const Name name = name_of(device);
  os::UniqueFd question;
  for (int attempts_left = 2; !question; --attempts_left) {
    os::UniqueFd socket = new_name_socket();
    if (::bind(socket.get(), name.generic(), name.size) == 0 && ::listen(socket.get(), 16) == 0) {
      return claimed(device, claim, std::move(socket));
    }
    question = new_name_socket();
    if (::connect(question.get(), name.generic(), name.size) == 0) break;
    const int error = errno;
    claim.unknown = os::system_error("whoever has its name does not answer", error).message;
    // A holder that refuses has just gone, and then the name can be had.
    if (error != ECONNREFUSED || attempts_left <= 1) return;
    question = {};
  }
  const Result<os::Peer> peer = os::peer_of(question.get());
  if (!peer.ok()) return;
  if (claim.other && claim.other->pid == peer->pid) return;
  claim.other = Other{.user = peer->user,
                      .name = os::user_name(peer->user),
                      .pid = peer->pid,
                      .line = line_from(question.get())};
  say_("GPU " + to_text(device) + " is coordinated by pid " + std::to_string(claim.other->pid) +
       " of " + claim.other->name + " already: " +
       (outranks(*claim.other)
            ? "this is the machine's daemon and grants it all the same; sessions of that user "
              "count as unmanaged"
            : "nothing is granted on it here"));
}

void DeviceClaims::claimed(DeviceId device, Claim& claim, os::UniqueFd socket) {
  if (claim.other) say_("GPU " + to_text(device) + " is ours to coordinate now");
  claim.other.reset();
  claim.listening = std::make_unique<stream_descriptor>(io_, socket.release());
  claim.pause = std::make_unique<boost::asio::steady_timer>(io_);
  answer_soon(claim);
}

/// Tells each client that connects in one line whose device it is.
void DeviceClaims::answer_soon(Claim& claim) {
  claim.listening->async_wait(stream_descriptor::wait_read, [this, &claim](const error_code& code) {
    if (code) return;
    const os::UniqueFd connection(::accept4(claim.listening->native_handle(), nullptr, nullptr,
                                            SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
      // Without a descriptor for it the client stays in the backlog; at once it would only fail
      // again.
      claim.pause->expires_after(kAcceptAgainAfter);
      claim.pause->async_wait([this, &claim](const error_code& stopped) {
        if (!stopped) answer_soon(claim);
      });
      return;
    }
    const std::string line = line_ + "\n";
    if (connection) (void)::send(connection.get(), line.data(), line.size(), MSG_NOSIGNAL);
    answer_soon(claim);
  });
}

bool DeviceClaims::outranks(const Other& other) const {
  const bool of_machine = other.user == UserId{0} || other.name == "berth";
  return rank_ == Rank::kMachine && !of_machine;
}

}  // namespace berth::server
