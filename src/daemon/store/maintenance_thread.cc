// SPDX-License-Identifier: Apache-2.0
#include "store/maintenance_thread.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/errors.h"
#include "os/files.h"

namespace berth::store {
namespace {

struct Question {
  MaintenanceThread::Task task;
  std::uint64_t ticket;
};

// Of fixed size, because it goes through a socket whole.
struct Answer {
  MaintenanceThread::Task task;
  std::uint64_t ticket;
  bool failed;
  Errc code;
  std::array<char, 512> message;
};

Status do_task(MaintenanceThread::Task task, const MaintenancePaths& paths) {
  const char* vfs = paths.vfs.empty() ? nullptr : paths.vfs.c_str();
  TRY(database, Database::open(paths.database, Database::Access::kReadWrite, vfs));
  TRY_STATUS(database.execute("PRAGMA synchronous = OFF"));
  switch (task) {
    case MaintenanceThread::Task::kCheckpoint:
      return checkpoint(database);
    case MaintenanceThread::Task::kCopy:
      return write_copy(database, paths.copy_in_progress, paths.copy);
  }
  CHECK(false);
  return Unit{};
}

// The thread: it ends when the other side is closed.
void work(const os::UniqueFd& far, const MaintenancePaths& paths) {
  for (;;) {
    Question question{};
    const ssize_t count = ::recv(far.get(), &question, sizeof question, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof question) return;
    const Status done = do_task(question.task, paths);
    Answer answer{.task = question.task, .ticket = question.ticket, .failed = !done.ok()};
    if (!done.ok()) {
      answer.code = done.error().code;
      const std::string& text = done.error().message;
      std::memcpy(answer.message.data(), text.data(),
                  std::min(text.size(), answer.message.size() - 1));
    }
    (void)::send(far.get(), &answer, sizeof answer, MSG_NOSIGNAL);
  }
}

}  // namespace

Status checkpoint(Database& database) {
  // What is appended meanwhile is left over, and only a log that was taken over whole is begun
  // anew; each round leaves less.
  constexpr int kRoundsMax = 8;
  for (int round = 0; round < kRoundsMax; ++round) {
    int in_log = 0;
    int taken_over = 0;
    if (sqlite3_wal_checkpoint_v2(database.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &in_log,
                                  &taken_over) != SQLITE_OK) {
      return database.error();
    }
    if (taken_over == in_log) break;
  }
  return Unit{};
}

Status write_copy(Database& from, const std::string& in_progress, const std::string& to) {
  (void)::unlink(in_progress.c_str());  // Of a daemon that was killed while writing it.
  {
    // Made here, so that nobody else can read the command lines in it.
    const os::UniqueFd made(
        ::open(in_progress.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!made) return os::system_error("cannot make " + in_progress, errno);
  }
  TRY_STATUS(from.run("VACUUM INTO ?", in_progress));
  TRY_STATUS(os::sync_file(in_progress));
  if (::rename(in_progress.c_str(), to.c_str()) != 0) {
    return os::system_error("cannot rename " + in_progress + " to " + to, errno);
  }
  return os::sync_file(to.substr(0, to.rfind('/') + 1));
}

Result<MaintenanceThread> MaintenanceThread::start(MaintenancePaths paths) {
  TRY(worker,
      os::Worker::start([paths = std::move(paths)](const os::UniqueFd& far) { work(far, paths); }));
  return MaintenanceThread(std::move(worker));
}

void MaintenanceThread::ask(Task task, std::uint64_t ticket) {
  const Question question{.task = task, .ticket = ticket};
  CHECK(::send(worker_.near().get(), &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT) ==
        sizeof question);
}

std::optional<MaintenanceThread::Report> MaintenanceThread::take_report() {
  Answer answer{};
  if (::recv(worker_.near().get(), &answer, sizeof answer, MSG_DONTWAIT) != sizeof answer) {
    return std::nullopt;
  }
  Report report{.task = answer.task, .ticket = answer.ticket};
  if (answer.failed) report.trouble.push_back({answer.code, answer.message.data()});
  return report;
}

}  // namespace berth::store
