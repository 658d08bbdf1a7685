// SPDX-License-Identifier: Apache-2.0
#include "server/alert_ports.h"

#include <utility>

namespace berth::server {

AlertService::Ports alert_ports(const AlertParts& parts) {
  return {.publish = [parts](const Alert& alert,
                             bool to_its_lease) { parts.engine->publish(alert, to_its_lease); },
          .listeners = [parts] { return parts.engine->listeners(); },
          .log = [parts](const std::string& text) { parts.log.info(text); },
          .deliver =
              [parts](const wire::Delivery& delivery, DeliverRunner::Then then) {
                parts.deliver.deliver(delivery, std::move(then));
              },
          .keep =
              [parts](AlertService::Changes changes) {
                return parts.history.keep({.put = std::move(changes.messages.put),
                                           .drop = std::move(changes.messages.drop),
                                           .firing = std::move(changes.firing),
                                           .now = parts.clock.wall()});
              },
          .now = [parts]() -> core::Now {
            return {.instant = parts.clock.now(), .wall = parts.clock.wall()};
          }};
}

}  // namespace berth::server
