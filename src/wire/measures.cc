// SPDX-License-Identifier: Apache-2.0
#include "wire/measures.h"

#include "base/json_writer.h"
#include "wire/fields.h"
#include "wire/json_reader.h"

namespace berth::wire {

void write_measures(JsonWriter& writer, const LeaseView& view, bool details) {
  writer.key("measures").begin_array();
  for (const MeasureTaken& taken : view.measures) {
    writer.begin_object().key("number").number(taken.number);
    writer.key("measure").text(to_text(taken.measure));
    writer.key("cause").text(to_text(taken.cause));
    writer.key("time").time(taken.at);
    writer.key("outcome").text_or_null(taken.outcome ? to_text(*taken.outcome) : "");
    writer.key("detail").text_or_null(details ? taken.detail : "").end_object();
  }
  writer.end_array();
}

void read_measures(ObjectReader& reader, LeaseView& view) {
  for (ObjectReader& object : reader.objects("measures", kMeasureCount)) {
    MeasureTaken& taken = view.measures.emplace_back();
    object.require("number");
    taken.number = object.number("number", {1, kMax64}).value_or(0);
    object.word("measure", taken.measure);
    object.word("cause", taken.cause);
    object.time("time", taken.at);
    if (object.has("outcome")) {
      object.word("outcome", taken.outcome.emplace(MeasureOutcome::kFailed));
    }
    object.text("detail", taken.detail);
  }
}

}  // namespace berth::wire
