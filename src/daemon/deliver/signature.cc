// SPDX-License-Identifier: Apache-2.0
#include "deliver/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <span>

#include "base/check.h"

namespace berth::deliver {

std::string sign(std::string_view secret, const Signed& what) {
  std::string text(what.id);
  text.append(".").append(std::to_string(what.time)).append(".").append(what.body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  CHECK(::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
               reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
               &size) != nullptr);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : std::span(digest).first(size)) {
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 0xFU];
  }
  return hex;
}

}  // namespace berth::deliver
