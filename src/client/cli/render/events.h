// SPDX-License-Identifier: Apache-2.0
// Events of the daemon as lines: for people a sentence, for programs a JSON object. Pure.
#pragma once

#include <string>

#include "cli/render/context.h"
#include "wire/sse.h"

namespace berth::cli {

/// "2026-11-27T18:51:42.000Z  lease 12 (ana/train) has started: 8.0 GiB on GPU 0". What the daemon
/// sent that is not understood, of a newer release for instance, is told by its name.
std::string event_line(const wire::SseEvent& event, const RenderContext& context);

/// {"time":…,"event":"granted","id":7,"data":{…}} with the data as the daemon sent them,
/// but for characters that could drive a terminal, which are escaped.
std::string event_json(const wire::SseEvent& event, const RenderContext& context);

}  // namespace berth::cli
