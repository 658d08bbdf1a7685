// SPDX-License-Identifier: Apache-2.0
#include "agents/server.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "agents/catalog.h"
#include "mcp/message.h"
#include "os/clock.h"

namespace berth::agents {

Server::Server(Toolbox::Ports ports, int in, int out)
    : catalog_(catalog(ports.starter ? Running::kStarts : Running::kLineOnly)),
      toolbox_(std::move(ports)),
      connection_(catalog_),
      in_(in),
      out_(out) {}

Status Server::run() {
  while (written_.ok()) {
    wait();
    const bool goes_on = read();
    take_lines();
    toolbox_.look(os::PosixClock().now());
    tell_news();
    if (!goes_on) break;
  }
  perform(connection_.close());
  return written_;
}

void Server::wait() const {
  std::vector<pollfd> wanted = {{in_, POLLIN, 0}};
  for (const int descriptor : toolbox_.descriptors()) wanted.push_back({descriptor, POLLIN, 0});
  const Instant at = toolbox_.wake_at();
  const Instant now = os::PosixClock().now();
  const auto left_ms = std::max<std::int64_t>((at - now).ns / 1'000'000 + 1, 0);
  ::poll(wanted.data(), wanted.size(), at == Instant::never() ? -1 : static_cast<int>(left_ms));
}

// False: the client has gone.
bool Server::read() {
  pollfd wanted{in_, POLLIN, 0};
  if (::poll(&wanted, 1, 0) <= 0) return true;
  std::array<char, 65'536> block{};
  const ssize_t count = ::read(in_, block.data(), block.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  buffer_.append(block.data(), static_cast<std::size_t>(count));
  return count > 0;
}

void Server::take_lines() {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = buffer_.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string_view line = std::string_view(buffer_).substr(begin, end - begin);
    if (!std::exchange(skips_, false) && !line.empty()) perform(connection_.receive(line));
    begin = end + 1;
  }
  buffer_.erase(0, begin);
  // Refused as too long, before it is over.
  if (buffer_.size() <= mcp::kLineMax) return;
  if (!std::exchange(skips_, true)) perform(connection_.receive(buffer_));
  buffer_.clear();
}

void Server::perform(const mcp::Effects& effects) {
  const Instant now = os::PosixClock().now();
  for (const mcp::Effect& effect : effects) {
    if (const auto* send = std::get_if<mcp::Send>(&effect)) write(send->line + "\n");
    if (const auto* call = std::get_if<mcp::BeginCall>(&effect)) toolbox_.begin(*call, now);
    if (const auto* call = std::get_if<mcp::CancelCall>(&effect)) toolbox_.cancel(call->call);
    if (const auto* answer = std::get_if<mcp::Answered>(&effect)) toolbox_.answered(*answer, now);
  }
}

void Server::tell_news() {
  for (std::vector<News> all = toolbox_.take_news(); !all.empty(); all = toolbox_.take_news()) {
    for (const News& news : all) {
      if (const auto* done = std::get_if<Finished>(&news)) {
        perform(connection_.finish(done->call, done->outcome));
      } else if (const auto* far = std::get_if<Advanced>(&news)) {
        perform(connection_.progress(far->call, far->progress));
      } else if (const auto* asks = std::get_if<Asks>(&news)) {
        perform(connection_.ask(asks->call, asks->question));
      } else if (const auto* tells = std::get_if<Tells>(&news)) {
        perform(connection_.tell(tells->call, tells->method, tells->params));
      } else if (const auto* changed = std::get_if<Changed>(&news)) {
        perform(connection_.resource_changed(changed->uri));
      }
    }
  }
}

void Server::write(const std::string& line) {
  std::string_view left = line;
  while (!left.empty() && written_.ok()) {
    const ssize_t count = ::write(out_, left.data(), left.size());
    if (count < 0 && errno != EINTR) {
      written_ =
          Error{Errc::kIo, std::string("the client cannot be written to: ") + std::strerror(errno)};
    }
    if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace berth::agents
