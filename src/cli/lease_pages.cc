// SPDX-License-Identifier: Apache-2.0
#include "cli/lease_pages.h"

#include <ranges>
#include <utility>

namespace berth::cli {

std::optional<std::vector<std::string>> ask_leases(DaemonSession& session, Leases which) {
  const std::string target =
      wire::target_of(wire::Route::kLeases) + (which == Leases::kAll ? "?all=1" : "");
  std::vector<std::string> pages;
  std::optional<LeaseId> next;
  do {
    const std::string before = next ? "&before=" + to_text(*next) : "";
    auto body = session.get(target + before);
    if (!body) return std::nullopt;
    // A page that cannot be read is the last: its reader will say so.
    const std::optional<LeaseId> older = wire::next_of_leases(*body);
    next = older && (!next || *older < *next) ? older : std::nullopt;
    pages.push_back(*std::move(body));
  } while (next);
  return pages;
}

Result<wire::LeaseList> decode_pages(const std::vector<std::string>& pages) {
  wire::LeaseList all;
  for (const std::string& page : pages | std::views::reverse) {
    TRY(list, wire::decode_leases(page));
    all.time = list.time;
    all.names.merge(list.names);
    for (LeaseView& lease : list.items) all.items.push_back(std::move(lease));
  }
  return all;
}

}  // namespace berth::cli
