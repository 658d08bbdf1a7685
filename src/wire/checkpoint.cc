// SPDX-License-Identifier: Apache-2.0
#include "wire/checkpoint.h"

#include "base/json_writer.h"
#include "wire/fields.h"
#include "wire/json_reader.h"

namespace berth::wire {
namespace {

void write_way(JsonWriter& writer, const CheckpointWay& way) {
  writer.key("by").text(to_text(way.kind));
  writer.key("grace_ms").milliseconds(way.grace);
}

CheckpointWay read_way(ObjectReader& reader) {
  CheckpointWay way;
  reader.require("by");
  reader.word("by", way.kind);
  reader.milliseconds("grace_ms", way.grace);
  reader.milliseconds("every_ms", way.every);
  return way;
}

// What an ask and its end have in common.
template <class Save>
void read_save(ObjectReader& reader, Save& save) {
  reader.require("number");
  save.number = reader.number("number", {1, kMax64}).value_or(0);
  reader.word("reason", save.reason);
  reader.time("time", save.at);
}

}  // namespace

void write_checkpoint_way(JsonWriter& writer, const CheckpointWay& way) {
  writer.begin_object();
  write_way(writer, way);
  if (way.every) writer.key("every_ms").milliseconds(way.every);
  writer.end_object();
}

std::optional<CheckpointWay> read_checkpoint_way(ObjectReader& reader, std::string_view field) {
  std::optional<ObjectReader> object = reader.object(field);
  if (!object) return std::nullopt;
  const CheckpointWay way = read_way(*object);
  object->done();
  return way;
}

void write_checkpoints(JsonWriter& writer, const LeaseView& view, bool details) {
  writer.key("checkpoint");
  const std::optional<CheckpointWay>& way = view.request.checkpoint;
  if (!way) {
    writer.null();
    return;
  }
  writer.begin_object();
  write_way(writer, *way);
  writer.key("every_ms").milliseconds(way->every);
  writer.key("asked");
  if (const auto& asked = view.checkpoints.asked) {
    writer.begin_object().key("number").number(asked->number);
    writer.key("reason").text(to_text(asked->reason));
    writer.key("time").time(asked->at).end_object();
  } else {
    writer.null();
  }
  writer.key("last");
  if (const auto& last = view.checkpoints.last) {
    writer.begin_object().key("number").number(last->number);
    writer.key("reason").text(to_text(last->reason));
    writer.key("time").time(last->at);
    writer.key("outcome").text(to_text(last->outcome));
    writer.key("detail").text_or_null(details ? last->detail : "").end_object();
  } else {
    writer.null();
  }
  writer.key("saved").time(view.checkpoints.saved);
  writer.end_object();
}

void read_checkpoints(ObjectReader& reader, LeaseView& view) {
  std::optional<ObjectReader> object = reader.object("checkpoint");
  if (!object) return;
  view.request.checkpoint = read_way(*object);
  if (auto asked = object->object("asked")) read_save(*asked, view.checkpoints.asked.emplace());
  if (auto last = object->object("last")) {
    CheckpointEnd& end = view.checkpoints.last.emplace();
    read_save(*last, end);
    last->word("outcome", end.outcome);
    last->text("detail", end.detail);
  }
  object->time("saved", view.checkpoints.saved);
}

}  // namespace berth::wire
