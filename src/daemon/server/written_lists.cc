// SPDX-License-Identifier: Apache-2.0
#include "server/written_lists.h"

#include "server/views.h"

namespace berth::server {

std::string WrittenLists::list(const core::Coordinator& coordinator, std::uint64_t version,
                               core::Now at, const wire::Viewer& to) {
  const List::Of of{
      .version = version, .all_commands = to.sees_all_commands, .all_handles = to.sees_all_handles};
  List& list = lists_[to.user];
  if (list.of != of || list.at + kListFor < at.instant || list.body.empty()) {
    list = {.of = of, .at = at.instant, .body = leases_json(coordinator, at, {}, to)};
  }
  std::string body = list.body;
  if (lists_.size() > kListsMax || body.size() > kListMax) lists_.clear();
  return body;
}

}  // namespace berth::server
