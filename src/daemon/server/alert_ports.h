// SPDX-License-Identifier: Apache-2.0
// The ports of the alert service as they are: streams, log, disk, and the children that deliver.
// The event loop's thread.
#pragma once

#include <memory>

#include "os/clock.h"
#include "server/alert_service.h"
#include "server/deliver_runner.h"
#include "server/engine.h"
#include "server/history_recorder.h"
#include "server/log.h"

namespace berth::server {

struct AlertParts {
  const std::unique_ptr<Engine>& engine;  // There when something is told, and not yet before.
  HistoryRecorder& history;
  DeliverRunner& deliver;
  Log& log;
  const os::Clock& clock;
};
AlertService::Ports alert_ports(const AlertParts& parts);

}  // namespace berth::server
