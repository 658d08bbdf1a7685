// SPDX-License-Identifier: Apache-2.0
// The daemon's log: lines for an operator, on stderr (where a service manager or a terminal takes
// them) or in a file that is bounded in size. Nothing waits for the reader of stderr: what does not
// go out at once is dropped, and counted. One thread. No header of the library is behind it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "config/config.h"

namespace spdlog {
class logger;  // NOLINT(readability-identifier-naming): the library named it.
}

namespace berth::server {

class Log {
 public:
  static constexpr std::size_t kFileMax = std::size_t{4} << 20U;  // Bytes; then it is set aside,
  static constexpr std::size_t kFilesMax = 1;                     // so many times.

  explicit Log(int descriptor = 2);  // Stderr; it stays the caller's.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  Status move_to_file(const std::string& path);
  void set_level(config::LogLevel level);

  void error(const std::string& text);
  void warn(const std::string& text);
  void info(const std::string& text);
  void debug(const std::string& text);

 private:
  // As the library hands it out; nobody else has it.
  std::shared_ptr<spdlog::logger> logger_;
  config::LogLevel level_ = config::LogLevel::kInfo;
};

}  // namespace berth::server
