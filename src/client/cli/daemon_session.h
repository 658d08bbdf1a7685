// SPDX-License-Identifier: Apache-2.0
// A verb's talk with the daemon: asks, and says on stderr what went wrong, so that a verb needs to
// look at one thing only: whether it got what it asked for. The first failure is the exit status.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.h"
#include "cli/render/context.h"
#include "cli/verb.h"
#include "client/client.h"
#include "wire/error.h"
#include "wire/lease.h"

namespace berth::cli {

class DaemonSession {
 public:
  explicit DaemonSession(const Invocation& invocation) : invocation_(invocation) {}

  /// That a daemon was started is not said.
  void be_quiet() { quiet_ = true; }
  /// Finds the daemon, or starts one if the verb may. False: it was said why not.
  bool open(client::Autostart autostart);
  bool open();  // As the options and the environment have it.
  /// Looks for a daemon and starts none. That there is none is for the caller to say.
  enum class Found : std::uint8_t { kDaemon, kNobody, kFailed };
  Found find();

  /// The body of an answer; nothing if there was none or it was a no, which was said.
  std::optional<std::string> ask(const client::HttpRequest& question,
                                 Duration within = client::Connection::kAnswerWithin);
  std::optional<std::string> get(const std::string& target);
  /// What `decode` reads in an answer; nothing likewise, or if it is not understood.
  template <class T>
  std::optional<T> ask(const client::HttpRequest& question, Result<T> (*decode)(std::string_view),
                       Duration within = client::Connection::kAnswerWithin) {
    const auto body = ask(question, within);
    return body ? understood(decode(*body)) : std::nullopt;
  }
  /// The same of an answer that is there: `understood(wire::decode_status(body))`.
  template <class T>
  std::optional<T> understood(Result<T> result) {
    if (result.ok()) return *std::move(result);
    fail(ExitCode::kVersion, "the daemon's answer is not understood: " + result.error().message);
    return std::nullopt;
  }

  /// Reads events of a lease until it has ended, `within` has passed, or `goes_on` says no of what
  /// was told. The lease as last told.
  std::optional<wire::LeaseAnswer> wait_for_end(
      const std::string& handle, Duration within,
      const std::function<bool(const LeaseView&)>& goes_on);

  /// Says it and notes it.
  void fail(ExitCode code, std::string_view sentence);
  void fail(const wire::ApiError& error);
  /// Keeps it if it is the first failure.
  void note(ExitCode code);
  int status() const { return status_; }

  /// Whether the GPUs are, as the last answer said; absent before the first.
  std::optional<bool> is_simulated() const { return simulated_; }
  /// Names the daemon gave; those it did not are looked up when a text needs them.
  void learn(const wire::UserNames& names) { names_.insert(names.begin(), names.end()); }
  RenderContext context() const;
  client::Client& client() { return checked(client_); }

 private:
  Result<client::Client> connect(const os::Environment& env, client::Autostart autostart) const;
  bool is_lost(const Result<client::Answer>& answer);
  std::optional<std::string> body_of(Result<client::Answer> answer);
  void fail(const Error& error);

  const Invocation& invocation_;
  std::optional<client::Client> client_;
  client::Autostart autostart_ = client::Autostart::kNever;
  wire::UserNames names_;
  std::optional<bool> simulated_;
  bool quiet_ = false;
  int status_ = to_status(ExitCode::kOk);
};

}  // namespace berth::cli
