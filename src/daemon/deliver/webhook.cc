// SPDX-License-Identifier: Apache-2.0
#include "deliver/webhook.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/check.h"
#include "deliver/address.h"
#include "deliver/signature.h"
#include "deliver/url.h"
#include "deliver/verdict.h"
#include "os/secret.h"

namespace berth::deliver {
namespace {

using Outcome = wire::DeliveryOutcome::Kind;

constexpr long kWithinMs = 10'000;  // In all, names resolved and answer read.
constexpr std::size_t kAnswerMax = std::size_t{64} << 10U;  // Of head and body together.

wire::DeliveryOutcome refused(std::string reason) {
  return {.kind = Outcome::kRefused, .reason = std::move(reason)};
}

/// What the library's callbacks look at and leave behind.
struct Exchange {
  bool allow_private = false;
  bool encrypted = true;
  bool connected_to = false;    // Some address was good enough to be tried.
  std::string refused_address;  // Why one was not.
  std::size_t answered = 0;     // Bytes.
};

/// Empty: it may be connected to.
std::string trouble_with(const Exchange& exchange, const sockaddr& address) {
  std::string kind = "unknown";
  if (address.sa_family == AF_INET) {
    kind = special_kind(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  } else if (address.sa_family == AF_INET6) {
    kind = special_kind(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  }
  if (kind.empty()) {
    return exchange.encrypted ? ""
                              : "is a public address: what goes there must be encrypted (https://)";
  }
  if (exchange.allow_private) return {};
  return "is at a " + kind + " address: such are connected to only with allow_private = true";
}

// The address is the one that is connected to next: between this look and that nobody is asked for
// it again.
curl_socket_t open_socket(void* data, curlsocktype /*purpose*/, curl_sockaddr* address) {
  auto& exchange = *static_cast<Exchange*>(data);
  std::string trouble = trouble_with(exchange, address->addr);
  if (!trouble.empty()) {
    exchange.refused_address = std::move(trouble);
    return CURL_SOCKET_BAD;
  }
  exchange.connected_to = true;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// Nothing of the answer but its status is used. It is read as far as it is short, so that the other
// side need not take us for one that hangs up.
std::size_t take(char* /*bytes*/, std::size_t size, std::size_t count, void* data) {
  auto& exchange = *static_cast<Exchange*>(data);
  exchange.answered += size * count;
  return exchange.answered > kAnswerMax ? 0 : size * count;
}

using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

void add(Headers& headers, const std::string& line) {
  curl_slist* longer = ::curl_slist_append(headers.release(), line.c_str());
  CHECK(longer != nullptr);
  headers.reset(longer);
}

Result<Headers> headers_of(const wire::Delivery& delivery, const wire::Webhook& webhook,
                           UnixMs now) {
  const std::int64_t time = now.value / 1'000;
  Headers headers(nullptr, &curl_slist_free_all);
  add(headers, "Content-Type: application/json");
  add(headers, "Expect:");
  add(headers, "Berth-Event: " + delivery.event);
  add(headers, "Berth-Delivery: " + delivery.id);
  add(headers, "Berth-Timestamp: " + std::to_string(time));
  std::string secret = webhook.secret;
  if (secret.empty() && !webhook.secret_file.empty()) {
    TRY(read, os::read_secret(os::secret_file(webhook.secret_file)));
    secret = std::move(read);
  }
  if (!secret.empty()) {
    add(headers, "Berth-Signature: sha256=" +
                     sign(secret, {.id = delivery.id, .time = time, .body = delivery.body}));
  }
  return headers;
}

template <class Value>
void set(CURL* curl, CURLoption option, Value value) {
  CHECK(::curl_easy_setopt(curl, option, value) == CURLE_OK);
}

void set_where(CURL* curl, const std::string& url, Exchange& exchange) {
  set(curl, CURLOPT_URL, url.c_str());
  set(curl, CURLOPT_PROTOCOLS_STR, exchange.encrypted ? "https" : "http");
  set(curl, CURLOPT_FOLLOWLOCATION, 0L);
  set(curl, CURLOPT_PROXY, "");  // A proxy would connect for us to addresses that we do not see.
  set(curl, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(curl, CURLOPT_OPENSOCKETDATA, &exchange);
  set(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  set(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  set(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (const char* file = std::getenv("SSL_CERT_FILE")) set(curl, CURLOPT_CAINFO, file);
  if (const char* folder = std::getenv("SSL_CERT_DIR")) set(curl, CURLOPT_CAPATH, folder);
}

void set_what(CURL* curl, const std::string& body, const Headers& headers, Exchange& exchange) {
  set(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(curl, CURLOPT_USERAGENT, "berth/" BERTH_VERSION);
  set(curl, CURLOPT_HTTPHEADER, headers.get());
  set(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  set(curl, CURLOPT_POSTFIELDS, body.c_str());
  set(curl, CURLOPT_WRITEFUNCTION, &take);
  set(curl, CURLOPT_WRITEDATA, &exchange);
  set(curl, CURLOPT_HEADERFUNCTION, &take);
  set(curl, CURLOPT_HEADERDATA, &exchange);
}

// Once there is a final status it stands, whatever became of the rest of the answer: the other side
// has taken what was sent, or has not.
wire::DeliveryOutcome outcome_of(CURL* curl, CURLcode code, const Exchange& exchange,
                                 const std::string& host, const char* detail) {
  long status = 0;
  (void)::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200) {
    curl_off_t pause = 0;
    (void)::curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &pause);
    HttpAnswer answer{.status = static_cast<std::uint32_t>(status)};
    if (pause > 0) answer.retry_after = seconds(std::min<curl_off_t>(pause, 1'000'000));
    return judge(host, answer);
  }
  if (!exchange.connected_to && !exchange.refused_address.empty()) {
    return refused(host + " " + exchange.refused_address);
  }
  if (code == CURLE_OPERATION_TIMEDOUT) return {.reason = host + ": no answer within 10 s"};
  const std::string why = *detail == '\0' ? ::curl_easy_strerror(code) : detail;
  return {.reason = host + ": " + why};
}

}  // namespace

wire::DeliveryOutcome send_webhook(const wire::Delivery& delivery, const wire::Webhook& webhook,
                                   UnixMs now) {
  Result<std::string> address = webhook.url;
  if (!webhook.url_file.empty()) address = os::read_secret(os::webhook_file(webhook.url_file));
  if (!address.ok()) return refused(address.error().message);
  const auto url = check_url(*address, webhook.allow_private);
  if (!url.ok()) return refused(url.error().message);
  const auto headers = headers_of(delivery, webhook, now);
  if (!headers.ok()) return refused(headers.error().message);

  CHECK(::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(::curl_easy_init(),
                                                                 &curl_easy_cleanup);
  CHECK(curl != nullptr);
  Exchange exchange{.allow_private = webhook.allow_private, .encrypted = url->encrypted};
  std::array<char, CURL_ERROR_SIZE> detail{};
  set(curl.get(), CURLOPT_ERRORBUFFER, detail.data());
  set(curl.get(), CURLOPT_NOSIGNAL, 1L);
  set(curl.get(), CURLOPT_TIMEOUT_MS, kWithinMs);
  set(curl.get(), CURLOPT_QUICK_EXIT, 1L);  // Does not wait for a name server when the time is up.
  set_where(curl.get(), *address, exchange);
  set_what(curl.get(), delivery.body, *headers, exchange);
  const CURLcode code = ::curl_easy_perform(curl.get());
  return outcome_of(curl.get(), code, exchange, url->host, detail.data());
}

}  // namespace berth::deliver
