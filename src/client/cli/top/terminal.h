// SPDX-License-Identifier: Apache-2.0
// The terminal of `berth top`: its other screen, keys one by one and the mouse, from when it is
// taken until it is given back. One thread.
#pragma once

#include <termios.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace berth::cli::top {

class Screen {
 public:
  Screen() = default;
  ~Screen() { give_back(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// False: standard input is no terminal, or not ours.
  bool take();
  void give_back();
  /// What it sends until answered() is no key, nor for the shell that comes after us.
  void ask(std::string_view question);
  void answered() { asked_ = false; }
  bool is_asked() const { return asked_; }
  /// As large as it is now: columns and rows.
  static std::optional<std::pair<std::size_t, std::size_t>> size();
  /// All of it, however slow the terminal is.
  static void write(std::string_view bytes);

 private:
  termios before_{};
  bool taken_ = false;
  bool asked_ = false;
};

}  // namespace berth::cli::top
