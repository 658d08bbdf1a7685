// SPDX-License-Identifier: Apache-2.0
#include "model/record.h"

namespace berth {

Fact::Fact() = default;
Fact::Fact(const Fact& other) = default;
Fact::Fact(Fact&& other) noexcept = default;
Fact& Fact::operator=(const Fact& other) = default;
Fact& Fact::operator=(Fact&& other) noexcept = default;
Fact::~Fact() = default;

std::string_view name_of(const Fact& fact) {
  return std::visit([]<class T>(const T& /*fact*/) { return kFieldsOf<T>.noun.name; },
                    static_cast<const AnyFact&>(fact));
}

}  // namespace berth
