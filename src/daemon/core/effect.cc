// SPDX-License-Identifier: Apache-2.0
#include "core/effect.h"

namespace berth::core {

Effect::Effect(const Effect& other) = default;
Effect::Effect(Effect&& other) noexcept = default;
Effect& Effect::operator=(const Effect& other) = default;
Effect& Effect::operator=(Effect&& other) noexcept = default;
Effect::~Effect() = default;

}  // namespace berth::core
