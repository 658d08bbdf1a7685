// SPDX-License-Identifier: Apache-2.0
#include "server/log.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include <cstdint>
#include <string_view>

#include "base/letters.h"
#include "os/files.h"
#include "os/prompt_write.h"

namespace berth::server {
namespace {

constexpr const char* kPattern = "%Y-%m-%dT%H:%M:%S.%eZ berthd[%P] %l: %v";

// A line goes out whole or not at all, but for its end, which comes before all else.
class PromptSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit PromptSink(int descriptor) : descriptor_(descriptor) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (!tell_dropped() || !write({line.data(), line.size()})) ++dropped_;
  }
  void flush_() override {}

 private:
  bool write(std::string_view line) {
    rest_.erase(0, os::write_promptly(descriptor_, rest_));
    if (!rest_.empty()) return false;
    const std::size_t written = os::write_promptly(descriptor_, line);
    if (written > 0) rest_ = line.substr(written);
    return written > 0;
  }

  bool tell_dropped() {
    if (dropped_ == 0) return true;
    const std::string text = std::to_string(dropped_) + (dropped_ == 1 ? " line" : " lines") +
                             " of this log are missing here: nobody read it";
    const spdlog::details::log_msg message("berthd", spdlog::level::warn, text);
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (!write({line.data(), line.size()})) return false;
    dropped_ = 0;
    return true;
  }

  const int descriptor_;
  std::string rest_;  // The end of a line of which the beginning went out.
  std::uint64_t dropped_ = 0;
};

spdlog::level::level_enum level_of(config::LogLevel level) {
  switch (level) {
    case config::LogLevel::kError:
      return spdlog::level::err;
    case config::LogLevel::kWarn:
      return spdlog::level::warn;
    case config::LogLevel::kInfo:
      return spdlog::level::info;
    case config::LogLevel::kDebug:
      break;
  }
  return spdlog::level::debug;
}

std::unique_ptr<spdlog::formatter> formatter() {
  return std::make_unique<spdlog::pattern_formatter>(kPattern, spdlog::pattern_time_type::utc);
}

}  // namespace

Log::Log(int descriptor)
    : logger_(
          std::make_shared<spdlog::logger>("berthd", std::make_shared<PromptSink>(descriptor))) {
  logger_->set_formatter(formatter());
  logger_->flush_on(spdlog::level::debug);
}

Log::~Log() = default;

Status Log::move_to_file(const std::string& path) {
  TRY_STATUS(os::refuse_link(path));
  try {
    logger_ = std::make_shared<spdlog::logger>(
        "berthd",
        std::make_shared<spdlog::sinks::rotating_file_sink_st>(path, kFileMax, kFilesMax));
  } catch (const spdlog::spdlog_ex& error) {
    return Error{Errc::kCannotCreate, std::string("cannot write the log: ") + error.what()};
  }
  logger_->set_formatter(formatter());
  logger_->flush_on(spdlog::level::debug);
  set_level(level_);
  return Unit{};
}

void Log::set_level(config::LogLevel level) {
  level_ = level;
  logger_->set_level(level_of(level));
}

void Log::error(const std::string& text) {
  logger_->error("{}", escape_control_line(text));
}
void Log::warn(const std::string& text) {
  logger_->warn("{}", escape_control_line(text));
}
void Log::info(const std::string& text) {
  logger_->info("{}", escape_control_line(text));
}
void Log::debug(const std::string& text) {
  logger_->debug("{}", escape_control_line(text));
}

}  // namespace berth::server
