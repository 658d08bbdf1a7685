// SPDX-License-Identifier: Apache-2.0
// HTTP over one connection to the daemon: a question and its answer, or a stream of events to be
// read beside other descriptors. One request at a time. It prints nothing and starts nothing. Not
// shared between threads.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "base/units.h"
#include "client/http_response.h"
#include "os/unique_fd.h"
#include "wire/hello.h"
#include "wire/request.h"
#include "wire/routes.h"
#include "wire/sse.h"

namespace berth::client {

/// What the daemon answered, its no included: wire::decode_error reads that.
struct Answer {
  int status = 0;
  std::string body;
  bool ok() const { return status >= 200 && status < 300; }
};
/// What `decode` reads in an answer; absent where there is none, it is a no, or not understood.
template <class T>
std::optional<T> told(const Result<Answer>& answer, Result<T> (*decode)(std::string_view)) {
  if (!answer.ok() || !answer->ok()) return std::nullopt;
  Result<T> decoded = decode(answer->body);
  return decoded.ok() ? std::optional(*std::move(decoded)) : std::nullopt;
}
/// A stream of events has ended as it should; the connection can be asked again.
struct StreamEnded {};
using Arrival = std::variant<wire::SseEvent, Answer, StreamEnded>;

/// A request to one of the daemon's routes.
struct HttpRequest {
  wire::Route route;
  std::string lease = {};  // Handle or reference, where the route has one.
  AnyBody body = {};       // What the row of the route says, or nothing.
};

class Connection {
 public:
  static constexpr Duration kAnswerWithin = seconds(30);

  /// `hello` is sent with each request.
  Connection(os::UniqueFd socket, wire::ClientHello hello);

  /// Sends a request and waits for the whole answer. An Error says that there was none: kTimedOut,
  /// kUnavailable (the daemon hung up), kVersion, kConflict (another world), kCorrupt.
  Result<Answer> ask(const HttpRequest& question, Duration within = kAnswerWithin);
  /// The same in two steps, for who has something to do meanwhile.
  Status begin(const HttpRequest& question);
  Status begin(const std::string& target);
  Result<Answer> finish(Duration within = kAnswerWithin);
  /// Asks `target` by its text: for what has parameters.
  Result<Answer> get(const std::string& target, Duration within = kAnswerWithin);

  /// Sends a request whose answer is a stream of events, or a plain answer if it is refused.
  Status send(const HttpRequest& question);
  /// The next thing that has arrived, without waiting; absent: nothing whole yet. To be called
  /// until it is absent before waiting on descriptor() again.
  Result<std::optional<Arrival>> receive();
  /// As receive(), waiting until `within` has passed: then kTimedOut.
  Result<Arrival> wait(Duration within);
  int descriptor() const { return socket_.get(); }
  /// Of the last request, or since: some of the answer. Without that, and with the connection lost,
  /// a question that changes nothing may be asked again in another connection.
  bool has_heard() const { return heard_; }

  /// What the daemon said of itself with its last answer; absent before the first.
  const std::optional<wire::ServerHello>& daemon() const { return daemon_; }

 private:
  Status send_text(wire::Method method, const std::string& target, const std::string& body,
                   bool stream);
  Status write_all(std::string_view text);
  std::optional<Arrival> take();
  Status digest(std::string_view bytes);
  Status meet_daemon(const ResponseHead& head);

  os::UniqueFd socket_;
  wire::ClientHello hello_;
  std::optional<wire::ServerHello> daemon_;
  std::optional<ResponseReader> response_;  // Of the request under way.
  bool heard_ = false;                      // A byte of its answer.
  bool met_ = false;                        // Its hello was looked at.
  bool is_stream_ = false;
  wire::SseReader events_reader_;
  std::deque<wire::SseEvent> events_;
};

}  // namespace berth::client
