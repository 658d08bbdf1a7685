// SPDX-License-Identifier: Apache-2.0
#include "cli/render/alerts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "cli/render/phrases.h"
#include "cli/render/table.h"

namespace berth::cli {
namespace {

Colour colour_for(std::string_view state) {
  if (state == "firing") return Colour::kRed;
  return state == "pending" ? Colour::kYellow : Colour::kPlain;
}

std::string channels_text(const wire::RuleView& rule) {
  std::string text;
  for (const std::string& channel : rule.channels) text += (text.empty() ? "" : " ") + channel;
  return text;
}

std::string since_text(const wire::RuleStateView& state, const RenderContext& context) {
  const std::int64_t ago = std::max<std::int64_t>(context.now.value - state.since.value, 0);
  return "for " + to_text(seconds(ago / 1'000));
}

std::string delivery_text(const wire::Delivered& delivered, const RenderContext& context) {
  std::string text = delivered.outcome == "retry" ? "not delivered" : delivered.outcome;
  if (delivered.outcome == "nobody") text = "nobody listens";
  if (delivered.status) text += ", " + std::to_string(*delivered.status);
  if (!delivered.reason.empty())
    text += " (" + escape_control(delivered.reason, context.charset) + ")";
  return text;
}

}  // namespace

std::string test_lines(const wire::AlertTest& test, const RenderContext& context) {
  std::string text;
  for (const wire::Delivered& outcome : test.outcomes) {
    text += escape_control(outcome.channel, context.charset) + ": " +
            delivery_text(outcome, context) + "\n";
  }
  return text;
}

std::string alert_lines(const wire::AlertList& list, const RenderContext& context) {
  Table table{.columns = {{.title = "RULE"},
                          {.title = "STATE"},
                          {.title = "WHEN", .shrinks_to = 20},
                          {.title = "TELLS", .importance = 5}},
              .rows = {}};
  for (const wire::RuleView& rule : list.items) {
    const std::string state(to_text(state_of(rule)));
    table.rows.push_back({{escape_control(rule.name, context.charset)},
                          {state, colour_for(state)},
                          {escape_control(rule.when, context.charset)},
                          {escape_control(channels_text(rule), context.charset)}});
  }
  std::string text = render(std::move(table), context.width, context.charset);
  for (const wire::RuleView& rule : list.items) {
    for (const wire::RuleStateView& state : rule.states) {
      if (!state.firing) continue;
      text += rule.name + ": " + escape_control(state.text, context.charset) + ", " +
              since_text(state, context) + "\n";
    }
  }
  for (const wire::RuleView& rule : list.items) {
    if (rule.undelivered == 0) continue;
    text += rule.name + ": " + counted(rule.undelivered, "message") + " not delivered yet";
    if (rule.last_delivery && rule.last_delivery->outcome == "retry") {
      text +=
          "; " + rule.last_delivery->channel + ": " + delivery_text(*rule.last_delivery, context);
    }
    text += "\n";
  }
  return text;
}

}  // namespace berth::cli
