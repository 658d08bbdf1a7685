// SPDX-License-Identifier: Apache-2.0
#include "server/history_thread.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <utility>

#include "os/files.h"
#include "store/quarantine.h"
#include "wire/audit.h"

namespace berth::server {
namespace {

constexpr Duration kPruneEvery = minutes(10);

/// A letter on its way: its address. The thread that sends one owns it no more; the one that gets
/// it does.
template <class Letter>
struct Parcel {
  Letter* letter = nullptr;
};

template <class Letter>
bool post(const os::UniqueFd& socket, std::unique_ptr<Letter> letter, int flags) {
  const Parcel<Letter> parcel{letter.get()};
  ssize_t sent = 0;
  do {
    sent = ::send(socket.get(), &parcel, sizeof parcel, MSG_NOSIGNAL | flags);
  } while (sent < 0 && errno == EINTR);
  if (sent != sizeof parcel) return false;
  (void)letter.release();
  return true;
}

template <class Letter>
std::unique_ptr<Letter> fetch(const os::UniqueFd& socket, int flags) {
  Parcel<Letter> parcel;
  ssize_t got = 0;
  do {
    got = ::recv(socket.get(), &parcel, sizeof parcel, flags);
  } while (got < 0 && errno == EINTR);
  return std::unique_ptr<Letter>(got == sizeof parcel ? parcel.letter : nullptr);
}

/// As they are numbered; those that are gone come last.
void in_order_of_devices(history::Past& past, const std::map<DeviceId, std::uint32_t>& indices) {
  std::ranges::stable_sort(past.series, {}, [&](const history::Series& series) {
    const auto found = indices.find(series.subject.device);
    return found == indices.end() ? std::uint64_t{1} << 32U : found->second;
  });
}

/// What the thread owns.
class Archive {
 public:
  explicit Archive(store::HistoryOptions options) : options_(std::move(options)) {}

  HistoryReport deal_with(HistoryLetter& letter) {
    findings_.clear();
    HistoryReport report;
    if (auto* write = std::get_if<HistoryWrite>(&letter.what)) {
      this->write(*write, letter.retention);
    } else if (const auto* keep = std::get_if<HistoryKeep>(&letter.what)) {
      this->keep(*keep);
    } else if (const auto* recall = std::get_if<HistoryRecall>(&letter.what)) {
      report.kept = kept(recall->now);
    } else {
      const auto& ask = std::get<HistoryAsk>(letter.what);
      report.ticket = ask.ticket;
      report.answer = answer(ask, letter.retention);
    }
    report.findings = std::move(findings_);
    return report;
  }

 private:
  Status open(UnixMs now) {
    if (file_ && !file_->is_in_place()) {
      file_.reset();
      findings_.push_back(options_.path + " was removed or replaced; what it held is lost");
    }
    if (file_) return Unit{};
    if (refused_) return *refused_;
    options_.wall = now;
    Result<store::HistoryFile> file = store::HistoryFile::open(options_, findings_);
    if (file.ok()) {
      file_ = std::make_unique<store::HistoryFile>(*std::move(file));
      return Unit{};
    }
    // A file of a later release stays one; a full disk may have room again.
    if (file.error().code == Errc::kVersion) refused_ = file.error();
    return file.error();
  }

  void write(const HistoryWrite& write, const history::Retention& retention) {
    Status done = open(write.now);
    if (done.ok()) done = file_->write(write.seconds, write.leases, write.now);
    if (done.ok() && !write.resting.empty()) done = file_->rest(write.resting);
    if (done.ok()) done = file_->keep_audit(write.audit);
    if (done.ok() && write.live) done = file_->end_all_but(*write.live);
    const bool due = std::abs(write.now.value - pruned_ms_) >= kPruneEvery.ns / milliseconds(1).ns;
    if (done.ok() && due) {
      done = file_->prune(retention, write.now);
      pruned_ms_ = write.now.value;
    }
    tell(done, write.now);
  }

  void keep(const HistoryKeep& keep) {
    Status done = open(keep.now);
    if (done.ok())
      done = file_->keep(
          {.put = keep.put, .drop = keep.drop, .firing = keep.firing ? &*keep.firing : nullptr});
    tell(done, keep.now);
  }

  /// What is read where the file can be opened; an error is told as well.
  template <class Read>
  auto look(UnixMs now, Read read) -> decltype(read()) {
    const Status opened = open(now);
    tell(opened, now);
    if (!opened.ok()) return opened.error();
    auto found = read();
    if (!found.ok()) tell(found.error(), now);
    return found;
  }

  // A file that is not there yet has none, and is not made for it.
  KeptAlerts kept(UnixMs now) {
    if (!os::exists(options_.path)) return {};
    Result<KeptAlerts> kept = look(now, [&] { return file_->kept(); });
    return kept.ok() ? *std::move(kept) : KeptAlerts{};
  }

  Result<std::string> answer(const HistoryAsk& ask, const history::Retention& retention) {
    return look(ask.facts.time, [&]() -> Result<std::string> {
      if (ask.what == HistoryAsk::What::kSessions) {
        TRY(sessions, file_->sessions(ask.question));
        return wire::encode_sessions({std::move(sessions), ask.facts});
      }
      if (ask.what == HistoryAsk::What::kAudit) {
        TRY(audit, file_->audit({.since = ask.question.since,
                                 .until = ask.question.until,
                                 .lease = ask.question.lease,
                                 .user = ask.of_user}));
        return wire::encode_audit({std::move(audit), ask.facts});
      }
      TRY(past, file_->read(ask.question, retention, ask.facts.time));
      in_order_of_devices(past, ask.facts.indices);
      return wire::encode_past({std::move(past), ask.facts});
    });
  }

  /// Trouble is told when it begins and when it is over, not with each figure that is lost.
  void tell(const Status& done, UnixMs now) {
    if (done.ok()) {
      if (!std::exchange(trouble_, {}).empty()) findings_.emplace_back("history is kept again");
      return;
    }
    const Error& error = done.error();
    if (error.code == Errc::kCorrupt && file_) {
      file_.reset();
      findings_.push_back(error.message);
      Result<std::string> moved = store::quarantine(options_.path, "corrupt", now);
      findings_.push_back(moved.ok() ? *std::move(moved) : moved.error().message);
      return;
    }
    if (trouble_ == error.message) return;
    trouble_ = error.message;
    findings_.push_back("no history is kept: " + error.message + "; leases are not touched");
  }

  store::HistoryOptions options_;
  std::unique_ptr<store::HistoryFile> file_;
  std::optional<Error> refused_;
  std::int64_t pruned_ms_ = 0;
  std::string trouble_;
  std::vector<std::string> findings_;
};

// The thread: it ends when the other side is closed.
void work(const os::UniqueFd& far, store::HistoryOptions options) {
  Archive archive(std::move(options));
  while (auto letter = fetch<HistoryLetter>(far, 0)) {
    auto report = std::make_unique<HistoryReport>(archive.deal_with(*letter));
    if (!post(far, std::move(report), 0)) return;
  }
}

}  // namespace

Result<HistoryThread> HistoryThread::start(store::HistoryOptions options) {
  TRY(worker, os::Worker::start(
                  [options = std::move(options)](const os::UniqueFd& far) { work(far, options); }));
  return HistoryThread(std::move(worker));
}

HistoryThread::~HistoryThread() {
  if (!worker_.near()) return;  // Moved from.
  finish();
  while (take_report()) {
  }
}

bool HistoryThread::send(HistoryLetter letter) {
  if (under_way_ >= kUnderWayMax) return false;
  auto own = std::make_unique<HistoryLetter>(std::move(letter));
  if (!post(worker_.near(), std::move(own), MSG_DONTWAIT)) return false;
  ++under_way_;
  return true;
}

std::unique_ptr<HistoryReport> HistoryThread::take_report() {
  auto report = fetch<HistoryReport>(worker_.near(), MSG_DONTWAIT);
  if (report) --under_way_;
  return report;
}

}  // namespace berth::server
