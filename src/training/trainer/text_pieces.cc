// SPDX-License-Identifier: Apache-2.0
#include "trainer/text_pieces.h"

#include <pcre2.h>

#include <memory>
#include <string>

#include "base/check.h"

namespace berth::trainer {
namespace {

constexpr char kPattern[] =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

class Matcher {
 public:
  Matcher() {
    int error = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern), sizeof kPattern - 1,
                              PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &at, nullptr));
    if (!code_) return;
    (void)pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // Without, it is slower.
    data_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }
  bool is_ready() const { return code_ && data_; }

  /// As much of its beginning is UTF-8.
  std::size_t valid_part(std::string_view text) {
    const int result = match(text, 0, 0);
    const bool is_wrong = result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21;
    return is_wrong ? pcre2_get_startchar(data_.get()) : text.size();
  }
  /// Where the piece that begins there ends. All of it must be UTF-8.
  std::size_t end_of_piece(std::string_view text, std::size_t begin) {
    const int result = match(text, begin, PCRE2_NO_UTF_CHECK);
    const std::size_t end = result > 0 ? pcre2_get_ovector_pointer(data_.get())[1] : begin;
    // The pattern has something for every character. Where it fails all the same (its stack is at
    // its end), the rest is one piece: nothing is lost.
    return end > begin ? end : text.size();
  }

 private:
  int match(std::string_view text, std::size_t begin, std::uint32_t options) {
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), begin,
                       options, data_.get(), nullptr);
  }

  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> data_;
};

}  // namespace

Status for_each_piece(std::string_view text, const std::function<void(std::string_view)>& take) {
  Matcher matcher;
  if (!matcher.is_ready()) return Error{Errc::kExhausted, "no memory for a pattern"};
  while (!text.empty()) {
    const std::string_view valid = text.substr(0, matcher.valid_part(text));
    for (std::size_t begin = 0; begin < valid.size();) {
      const std::size_t end = matcher.end_of_piece(valid, begin);
      take(valid.substr(begin, end - begin));
      begin = end;
    }
    text.remove_prefix(valid.size());
    if (text.empty()) break;
    take(text.substr(0, 1));
    text.remove_prefix(1);
  }
  return Unit{};
}

}  // namespace berth::trainer
