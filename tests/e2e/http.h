// SPDX-License-Identifier: Apache-2.0
// A client of the daemon's socket that sends what a test likes, as `curl --unix-socket` would. For
// tests only, and for one thread.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace berth::e2e {

struct Reply {
  int status = 0;  // 0: there was none.
  std::string body;
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
  std::string error() const { return json().value("/error/code"_json_pointer, ""); }
  std::string message() const { return json().value("/error/message"_json_pointer, ""); }
};

class Http {
 public:
  explicit Http(const std::filesystem::path& socket);
  Http(Http&& other) noexcept;
  Http& operator=(Http&&) = delete;
  ~Http();

  bool connected() const { return fd_ >= 0; }
  /// False: the other side takes no more.
  bool send(std::string_view bytes);
  /// As many of them as it takes now: how many that were.
  std::size_t send_some(std::string_view bytes);
  /// Reads until `text` has come; false if the connection ended or was silent for kPatience first.
  bool receives(std::string_view text);
  const std::string& received() const { return received_; }
  /// Whether something can be read, without waiting.
  bool has_something();
  /// Whether the other side has closed, without waiting.
  bool closed();

  Reply get(const std::string& target);
  Reply post(const std::string& target, const nlohmann::json& body = nlohmann::json::object());

 private:
  bool read_some();
  Reply exchange(const std::string& request);

  int fd_ = -1;
  std::string received_;
};

}  // namespace berth::e2e
