// SPDX-License-Identifier: Apache-2.0
#include "cli/render/waiting_line.h"

#include "base/quantity.h"
#include "cli/render/obstacles.h"
#include "cli/render/phrases.h"
#include "cli/render/why.h"

namespace berth::cli {
namespace {

// "GPU 0: 1.4 GiB of 6.0 GiB free; me/train holds 11.0 GiB"
std::string in_short(const Request& request, const WhyView& why, const Scene& scene) {
  const Shortage& best = *lacking(why);
  std::string text = "GPU " + std::to_string(best.index) + ": " + to_text(best.grantable) + " of " +
                     to_text(request.vram) + " free";
  const auto [holder, charged] = largest_on(why, best);
  if (holder == nullptr) return text;
  return text + "; " + session_of(holder->user, holder->name, scene) + " holds " + to_text(charged);
}

}  // namespace

std::vector<std::string> waiting_lines(const Request& request, const WhyView& why,
                                       const Scene& scene) {
  const std::string whole = waiting_line(request, why, scene);
  std::vector<std::string> lines = {whole + ". Ctrl-C to leave.", whole};
  if (why.reason == WhyView::Reason::kMemory && !why.shortages.empty()) {
    const std::string least = in_short(request, why, scene);
    const std::string less = "waiting, " + least;
    const Holder* holder = largest_on(why, *lacking(why)).holder;
    if (holder != nullptr && holder->expected_end) {
      lines.push_back(less + ", " + about(*holder->expected_end, scene));
    }
    lines.push_back(less);
    lines.push_back(least);
  }
  return lines;
}

}  // namespace berth::cli
