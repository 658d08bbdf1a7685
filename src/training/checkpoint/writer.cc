// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/writer.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "base/json_tree.h"
#include "os/clock.h"
#include "os/errors.h"

namespace berth::checkpoint {
namespace {

double seconds_between(Instant start, Instant end) {
  return static_cast<double>((end - start).ns) / 1e9;
}

CheckpointInfo about(const Snapshot& snapshot) {
  return {.step = snapshot.step, .slot = snapshot.slot, .state = snapshot.state};
}

Status check_words(const Snapshot& snapshot) {
  if (static_cast<unsigned>(snapshot.slot) > static_cast<unsigned>(Slot::kEmergency)) {
    return Error{Errc::kInvalid, "there is no such slot"};
  }
  return Unit{};
}

}  // namespace

// A copy that is given back unless it is kept.
class Writer::Hold {
 public:
  Hold(Writer& writer, std::size_t copy) : writer_(&writer), copy_(copy) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    if (writer_ != nullptr) writer_->give_back(copy_);
  }
  void keep() { writer_ = nullptr; }

 private:
  Writer* writer_;
  std::size_t copy_;
};

Result<std::unique_ptr<Writer>> Writer::start(std::unique_ptr<Disk> disk, const Options& options) {
  if (options.keep_last == 0) {
    return Error{Errc::kInvalid, "keep_last is 0: at least the newest is kept"};
  }
  if ((options.staging.allocate == nullptr) != (options.staging.release == nullptr)) {
    return Error{Errc::kInvalid, "staging has only one of allocate and release"};
  }
  TRY(checkpoints,
      CheckpointDirectory::open(*disk, options.directory,
                                {.last = options.keep_last, .every = options.keep_every}));
  auto writer = std::make_unique<Writer>(std::move(disk), std::move(checkpoints), options);
  // Signals are for the program's own threads: a thread inherits the mask of its starter.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  CHECK(::pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
  int refused = 0;
  try {
    writer->thread_ = std::thread([raw = writer.get()] { raw->run(); });
  } catch (const std::system_error& error) {
    refused = error.code().value();
  }
  CHECK(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
  if (refused != 0) return os::system_error("cannot start a thread", refused);
  return writer;
}

Writer::Writer(std::unique_ptr<Disk> disk, CheckpointDirectory checkpoints, const Options& options)
    : pid_(::getpid()),
      directory_(options.directory),
      stages_all_(options.staging.copy != nullptr),
      disk_(std::move(disk)),
      checkpoints_(std::move(checkpoints)),
      copies_{StagingMemory(options.staging), StagingMemory(options.staging)} {}

Writer::~Writer() {
  if (!thread_.joinable()) return;
  {
    const os::MutexLock lock(mutex_);
    ending_ = true;
  }
  change_.notify();
  thread_.join();
}

bool Writer::in_a_child() const {
  return ::getpid() != pid_;
}

Status Writer::check() const {
  if (!in_a_child()) return Unit{};
  return Error{Errc::kInvalid, "the store of " + directory_ + " was opened by process " +
                                   std::to_string(pid_) +
                                   ", before the fork: it is that process's alone"};
}

Result<Saved> Writer::save(const Snapshot& snapshot) {
  TRY_STATUS(check());
  TRY_STATUS(check_words(snapshot));
  TRY(plan, plan_file(snapshot.tensors));
  Job job{.plan = std::move(plan),
          .about = about(snapshot),
          .copy = {},
          .answer = std::make_unique<std::promise<Result<Saved>>>()};
  if (stages_all_) TRY_STATUS(stage(job));
  std::future<Result<Saved>> answer = job.answer->get_future();
  add(std::move(job));
  return answer.get();
}

Result<Store::Stall> Writer::save_in_background(const Snapshot& snapshot) {
  TRY_STATUS(check());
  TRY_STATUS(check_words(snapshot));
  TRY(plan, plan_file(snapshot.tensors));
  if (!is_json(snapshot.state)) {
    return Error{Errc::kInvalid, "the state is no JSON text"};
  }
  Job job{.plan = std::move(plan), .about = about(snapshot), .copy = {}, .answer = nullptr};
  TRY(stall, stage(job));
  add(std::move(job));
  return stall;
}

Status Writer::reserve(std::size_t bytes) {
  TRY_STATUS(check());
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    acquire(copy);
    const Hold hold(*this, copy);
    TRY_STATUS(copies_.at(copy).reserve(bytes));
  }
  return Unit{};
}

Status Writer::wait() {
  TRY_STATUS(check());
  const os::MutexLock lock(mutex_);
  while (at_work_ || !jobs_.empty()) change_.wait(mutex_);
  return Unit{};
}

std::vector<Result<Saved>> Writer::reports() {
  if (in_a_child()) return {};
  const os::MutexLock lock(mutex_);
  std::vector<Result<Saved>> taken(reports_.begin(), reports_.end());
  reports_.clear();
  return taken;
}

std::size_t Writer::acquire_any() {
  const os::MutexLock lock(mutex_);
  for (;;) {
    const auto free = std::ranges::find(in_use_, false);
    if (free != in_use_.end()) {
      *free = true;
      return static_cast<std::size_t>(free - in_use_.begin());
    }
    change_.wait(mutex_);
  }
}

void Writer::acquire(std::size_t copy) {
  const os::MutexLock lock(mutex_);
  while (in_use_.at(copy)) change_.wait(mutex_);
  in_use_.at(copy) = true;
}

void Writer::give_back(std::size_t copy) {
  {
    const os::MutexLock lock(mutex_);
    in_use_.at(copy) = false;
  }
  change_.notify();
}

Result<Store::Stall> Writer::stage(Job& job) {
  const Instant asked = os::PosixClock().now();
  const std::size_t copy = acquire_any();
  Hold hold(*this, copy);  // The given copy function may throw.
  const Instant start = os::PosixClock().now();
  TRY_STATUS(copies_.at(copy).take(job.plan));
  job.copy = copy;
  hold.keep();
  return Store::Stall{.waiting_seconds = seconds_between(asked, start),
                      .copying_seconds = seconds_between(start, os::PosixClock().now())};
}

void Writer::add(Job job) {
  {
    const os::MutexLock lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  change_.notify();
}

void Writer::run() {
  while (std::optional<Job> job = next()) {
    Result<Saved> saved = perform(*job);
    {
      const os::MutexLock lock(mutex_);
      at_work_ = false;
      if (job->copy) in_use_.at(*job->copy) = false;
      if (!job->answer) {
        if (reports_.size() == kReportsMax) reports_.pop_front();
        reports_.push_back(saved);
      }
    }
    change_.notify();
    if (job->answer) job->answer->set_value(std::move(saved));
  }
}

std::optional<Writer::Job> Writer::next() {
  const os::MutexLock lock(mutex_);
  while (jobs_.empty() && !ending_) change_.wait(mutex_);
  if (jobs_.empty()) return std::nullopt;
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  at_work_ = true;
  return job;
}

Result<Saved> Writer::perform(Job& job) noexcept {
  try {
    return checkpoints_.save(job.plan, job.about);
  } catch (const std::exception& thrown) {
    return Error{Errc::kExhausted, thrown.what()};  // Memory that ended is all that can be met.
  }
}

}  // namespace berth::checkpoint
