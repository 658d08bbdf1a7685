// SPDX-License-Identifier: Apache-2.0
// Questions that `berth` answers in the daemon's place, since it reads what the daemon does not:
// logs of jobs, and what `berth doctor` looks at. Who may ask, and what is made of what is printed.
// Pure.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/lease.h"
#include "wire/error.h"

namespace berth::server {

/// What is run, after "berth"; refused for anybody but the daemon's own user. Absent `lease`: what
/// `berth doctor` finds.
std::variant<std::vector<std::string>, wire::ApiError> words_for_berth(UserId own_user,
                                                                       UserId asking,
                                                                       const LeaseView* lease);

/// An answer, or the error that it printed.
std::variant<std::string, wire::ApiError> answer_of(const Result<std::string>& printed);

}  // namespace berth::server
