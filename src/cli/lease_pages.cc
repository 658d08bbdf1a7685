// SPDX-License-Identifier: Apache-2.0
#include "cli/lease_pages.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

namespace berth::cli {
namespace {

using List = nlohmann::ordered_json;

// Where the page before begins; nothing, if this is the first one.
std::optional<std::uint64_t> next_of(const List& page) {
  if (!page.is_object() || !page.contains("items") || !page["items"].is_array()) return {};
  const auto found = page.find("next");
  if (found == page.end() || !found->is_number_unsigned()) return {};
  return found->get<std::uint64_t>();
}

}  // namespace

std::optional<std::string> ask_leases(Conversation& conversation, Leases which) {
  const std::string target = wire::target_of(wire::Route::kLeases);
  if (which == Leases::kLive) return conversation.get(target);
  auto body = conversation.get(target + "?all=1");
  if (!body) return std::nullopt;
  List list = List::parse(*body, nullptr, /*allow_exceptions=*/false);
  auto next = next_of(list);
  if (!next) return body;
  while (next) {
    body = conversation.get(target + "?all=1&before=" + std::to_string(*next));
    if (!body) return std::nullopt;
    List page = List::parse(*body, nullptr, /*allow_exceptions=*/false);
    const auto before = next_of(page);
    if (!page.is_object() || !page["items"].is_array()) return body;  // Its reader will say so.
    for (List& item : list["items"]) page["items"].push_back(std::move(item));
    list["items"] = std::move(page["items"]);
    next = before && *before < *next ? before : std::nullopt;
  }
  list.erase("next");
  return list.dump(-1, ' ', false, List::error_handler_t::replace);
}

}  // namespace berth::cli
