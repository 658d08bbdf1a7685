// SPDX-License-Identifier: Apache-2.0
#include "cli/run/status_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/json_writer.h"

namespace berth::cli {
namespace {

JsonWriter begin(std::string_view phase, std::optional<LeaseId> lease) {
  JsonWriter json;
  json.begin_object().key("phase").text(phase).key("lease");
  if (lease) {
    json.number(lease->value);
  } else {
    json.null();
  }
  return json;
}

}  // namespace

Result<StatusDescriptor> StatusDescriptor::open(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    return Error{Errc::kInvalid, "descriptor " + std::to_string(descriptor) +
                                     " is not open for writing (--status-fd=3 3>FILE)"};
  }
  if (descriptor > STDERR_FILENO) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return StatusDescriptor(descriptor);
}

void StatusDescriptor::queued(LeaseId lease) {
  lease_ = lease;
  JsonWriter json = begin("queue", lease_);
  json.key("code").null().end_object();
  write_line(json.take());
}

void StatusDescriptor::running(LeaseId lease, const Process& command) {
  lease_ = lease;
  JsonWriter json = begin("run", lease_);
  json.key("code").null().key("pid").integer(command.pid).end_object();
  write_line(json.take());
}

void StatusDescriptor::command_ended(const ExitStatus& exit) {
  if (std::exchange(over_, true)) return;
  JsonWriter json = begin("done", lease_);
  json.key("code");
  if (exit.signal != 0) {
    json.null().key("signal").integer(exit.signal);
  } else {
    json.integer(exit.code).key("signal").null();
  }
  json.key("from").text("command").end_object();
  write_line(json.take());
}

void StatusDescriptor::ended(int code) {
  if (std::exchange(over_, true)) return;
  JsonWriter json = begin("done", lease_);
  json.key("code").integer(code).key("signal").null().key("from").text("berth").end_object();
  write_line(json.take());
}

void StatusDescriptor::write_line(const std::string& line) const {
  if (descriptor_ < 0) return;
  const std::string text = line + "\n";
  // Short enough to be taken whole by a pipe; a reader that went away is no failure of the command.
  while (::write(descriptor_, text.data(), text.size()) < 0 && errno == EINTR) {
  }
}

}  // namespace berth::cli
