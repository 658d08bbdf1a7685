// SPDX-License-Identifier: Apache-2.0
#include "deliver/url.h"

#include <curl/curl.h>

#include <cstddef>
#include <memory>

namespace berth::deliver {
namespace {

constexpr std::size_t kUrlMax = 2'048;

using Handle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

/// Empty if the address has no such part.
std::string part_of(const Handle& url, CURLUPart part) {
  char* text = nullptr;
  if (::curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owned(text, &curl_free);
  return text;
}

}  // namespace

Result<HookUrl> check_url(const std::string& url, bool allow_private) {
  const auto invalid = [](const std::string& why) {
    return Error{Errc::kInvalid, "the webhook's URL " + why};
  };
  if (url.size() > kUrlMax) return invalid("is longer than 2048 letters");
  const Handle parts(::curl_url(), &curl_url_cleanup);
  if (!parts) return Error{Errc::kExhausted, "no memory is left"};
  const CURLUcode code = ::curl_url_set(parts.get(), CURLUPART_URL, url.c_str(),
                                        CURLU_NON_SUPPORT_SCHEME | CURLU_DISALLOW_USER);
  if (code == CURLUE_USER_NOT_ALLOWED) {
    return invalid("holds a user or a password: sign what is sent with secret_file instead");
  }
  if (code != CURLUE_OK) return invalid("is none: https://HOST/PATH");
  const std::string scheme = part_of(parts, CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") return invalid("must begin with https://");
  // curl takes a third slash for a slip and what follows it, which is a path, for the host.
  if (url.compare(scheme.size(), 4, ":///") == 0) return invalid("is none: https://HOST/PATH");
  if (scheme == "http" && !allow_private) {
    return invalid(
        "must begin with https:// (http:// goes to private addresses only, with "
        "allow_private = true)");
  }
  std::string host = part_of(parts, CURLUPART_HOST);
  if (host.empty()) return invalid("names no host: https://HOST/PATH");
  return HookUrl{.host = std::move(host), .encrypted = scheme == "https"};
}

}  // namespace berth::deliver
