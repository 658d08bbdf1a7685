// SPDX-License-Identifier: Apache-2.0
#include "core/event.h"

namespace berth::core {

Event::Event(const Event& other) = default;
Event::Event(Event&& other) noexcept = default;
Event& Event::operator=(const Event& other) = default;
Event& Event::operator=(Event&& other) noexcept = default;
Event::~Event() = default;

}  // namespace berth::core
