// SPDX-License-Identifier: Apache-2.0
// The past for people, and in the form of old logs. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/units.h"
#include "cli/render/context.h"
#include "cli/render/text.h"
#include "wire/audit.h"
#include "wire/history.h"

namespace berth::cli {

/// A line a figure, with its course.
std::string history_text(const wire::PastAnswer& answer, bool header, const RenderContext& context);

/// A row a lease, and their sums.
std::string sessions_text(const wire::SessionsAnswer& answer, bool header,
                          const RenderContext& context);

/// A line a entry: who did what to whose lease.
std::string audit_text(const wire::AuditAnswer& answer, bool header, const RenderContext& context);

/// "timestamp,memory.used" and a line a point. Absent: the figures are of several GPUs.
std::optional<std::string> monitor_lines(const history::Past& past, bool header);

/// Small columns as high as the figures are, one each; a blank where nothing is known. `top`: what
/// a full column stands for.
std::string sparkline(std::span<const std::optional<Bytes>> figures, Bytes top, Charset charset);

}  // namespace berth::cli
