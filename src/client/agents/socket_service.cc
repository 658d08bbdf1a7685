// SPDX-License-Identifier: Apache-2.0
#include "agents/socket_service.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <set>
#include <string_view>

#include "os/child.h"
#include "os/errors.h"
#include "os/signals.h"

namespace berth::agents {
namespace {

constexpr std::string_view kTooMany =
    R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"too many clients are served"}})"
    "\n";

class Serving {
 public:
  explicit Serving(const std::function<Status(int)>& serve) : serve_(serve) {}

  void begin(const os::UniqueFd& connection) {
    const pid_t parent = ::getpid();
    const pid_t child = children_.size() < kClientsMax ? ::fork() : -1;
    if (child < 0) {
      (void)::send(connection.get(), kTooMany.data(), kTooMany.size(), MSG_NOSIGNAL);
      return;
    }
    if (child == 0) {
      os::reset_signals();
      // Its requests are withdrawn when the server ends, however that does.
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(1);
      ::_exit(serve_(connection.get()).ok() ? 0 : 1);
    }
    children_.insert(child);
  }
  void reap() {
    for (pid_t ended = 0; (ended = ::waitpid(-1, nullptr, WNOHANG)) > 0;) children_.erase(ended);
  }
  ~Serving() {
    for (const pid_t child : children_) ::kill(child, SIGTERM);
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
  }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  const std::function<Status(int)>& serve_;
  std::set<pid_t> children_;  // Not reaped yet, so that their numbers are theirs.
};

}  // namespace

Status serve_clients(os::UniqueFd listening, const std::function<Status(int)>& serve) {
  constexpr std::array kSignals = {SIGINT, SIGTERM, SIGCHLD};
  TRY(signals, os::SignalDescriptor::open(kSignals));
  Serving serving(serve);
  while (true) {
    std::array<pollfd, 2> watched = {{{.fd = signals.descriptor(), .events = POLLIN, .revents = 0},
                                      {.fd = listening.get(), .events = POLLIN, .revents = 0}}};
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) {
      return os::system_error("cannot wait for clients", errno);
    }
    while (const auto seen = signals.read()) {
      if (seen->signal != SIGCHLD) return Unit{};
    }
    serving.reap();
    const os::UniqueFd connection(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection) serving.begin(connection);
  }
}

}  // namespace berth::agents
