// SPDX-License-Identifier: Apache-2.0
#include "mcp/subscriptions.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/json_writer.h"
#include "mcp/answer.h"
#include "mcp/client.h"

namespace berth::mcp {
namespace {

void write_tag(JsonWriter& out, const Id& request) {
  out.plain_key("_meta").begin_object();
  out.plain_key(meta::kSubscription).json(request.json).end_object();
}

}  // namespace

std::variant<Send, Fault> Subscriptions::listen(const Id& request, Uris uris) {
  CHECK(!is_listening(request));
  if (uris.size() > kSubscribedMax) {
    return invalid("one request listens for at most " + std::to_string(kSubscribedMax) +
                   " resources");
  }
  if (listeners_.size() == kListenersMax) return full("requests that listen", kListenersMax);
  JsonWriter params;
  params.begin_object();
  write_tag(params, request);
  params.plain_key("notifications").begin_object();
  if (!uris.empty()) {
    params.plain_key("resourceSubscriptions").begin_array();
    for (const std::string& uri : uris) params.text(uri);
    params.end_array();
  }
  params.end_object().end_object();
  listeners_.push_back({request, std::move(uris)});
  return Send{notification_line("notifications/subscriptions/acknowledged", params.take()),
              request.json};
}

bool Subscriptions::is_listening(const Id& request) const {
  return std::ranges::find(listeners_, request, &Listener::request) != listeners_.end();
}

void Subscriptions::cancel(const Id& request) {
  std::erase_if(listeners_, [&](const Listener& one) { return one.request == request; });
}

std::optional<Fault> Subscriptions::subscribe(std::string_view uri) {
  if (subscribed_.contains(uri)) return std::nullopt;
  if (subscribed_.size() == kSubscribedMax) return full("subscriptions", kSubscribedMax);
  subscribed_.emplace(uri);
  return std::nullopt;
}

void Subscriptions::unsubscribe(std::string_view uri) {
  const auto found = subscribed_.find(uri);
  if (found != subscribed_.end()) subscribed_.erase(found);
}

std::vector<Send> Subscriptions::changed(std::string_view uri) const {
  std::vector<Send> sends;
  const auto tell = [&](const Id* listener) {
    JsonWriter params;
    params.begin_object();
    if (listener != nullptr) write_tag(params, *listener);
    params.plain_key("uri").text(uri).end_object();
    sends.push_back({notification_line("notifications/resources/updated", params.take()),
                     listener != nullptr ? listener->json : ""});
  };
  if (subscribed_.contains(uri)) tell(nullptr);
  for (const Listener& listener : listeners_) {
    if (listener.uris.contains(uri)) tell(&listener.request);
  }
  return sends;
}

std::vector<Id> Subscriptions::close() {
  std::vector<Id> requests;
  requests.reserve(listeners_.size());
  for (Listener& listener : listeners_) requests.push_back(std::move(listener.request));
  listeners_.clear();
  subscribed_.clear();
  return requests;
}

}  // namespace berth::mcp
