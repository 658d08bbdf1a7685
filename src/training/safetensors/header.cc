// SPDX-License-Identifier: Apache-2.0
#include "safetensors/header.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/json_cursor.h"
#include "base/json_string.h"
#include "base/json_writer.h"

namespace berth::safetensors {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::size_t kNameShown = 80;  // Of a name in a message.

Error corrupt(std::string message) {
  return {Errc::kCorrupt, std::move(message)};
}

std::string quoted(std::string_view name) {
  std::string text;
  append_json_string(name.substr(0, kNameShown), text);
  return text;
}

class Parser {
 public:
  explicit Parser(std::string_view json) : json_(json), cursor_(json) {}

  Result<Header> whole() {
    if (!json_.starts_with('{')) return corrupt("the header does not begin with '{'");
    CHECK(cursor_.take('{'));
    if (!cursor_.take('}')) {
      do {
        TRY_STATUS(member());
      } while (cursor_.take(','));
      if (!cursor_.take('}')) return wrong("',' or '}' is missing");
    }
    if (cursor_.rest().find_first_not_of(' ') != std::string_view::npos) {
      return wrong("something other than spaces follows the header's JSON");
    }
    TRY_STATUS(no_name_twice());
    return std::move(header_);
  }

 private:
  Error wrong(const std::string& what) const {
    return corrupt("at byte " + std::to_string(cursor_.at()) + " of the header: " + what);
  }

  Status member() {
    const std::optional<std::string> key = cursor_.text();
    if (!key) return wrong("no name, or one that is no JSON text");
    if (!cursor_.take(':')) return wrong("':' is missing");
    return *key == kMetadataKey ? metadata() : tensor(*key);
  }

  Status metadata() {
    if (std::exchange(metadata_seen_, true)) return wrong("__metadata__ stands there twice");
    if (!cursor_.take('{')) return wrong("__metadata__ is no object");
    if (cursor_.take('}')) return Unit{};
    do {
      std::optional<std::string> key = cursor_.text();
      if (!key || !cursor_.take(':')) return wrong("__metadata__ holds a key that is no text");
      std::optional<std::string> value = cursor_.text();
      if (!value) return wrong("__metadata__ holds a value that is no text: " + quoted(*key));
      const auto added = header_.metadata.emplace(*std::move(key), *std::move(value));
      if (!added.second) return wrong("__metadata__ holds twice: " + quoted(added.first->first));
    } while (cursor_.take(','));
    return cursor_.take('}') ? Status(Unit{}) : wrong("__metadata__ does not end");
  }

  Status tensor(const std::string& name) {
    Entry entry{.name = name};
    std::set<std::string> seen;
    if (!cursor_.take('{')) return wrong("tensor " + quoted(name) + " is no object");
    do {
      const std::optional<std::string> key = cursor_.text();
      if (!key || !cursor_.take(':')) return wrong("tensor " + quoted(name) + " holds no key");
      if (!seen.insert(*key).second) {
        return wrong("tensor " + quoted(name) + " holds twice: " + quoted(*key));
      }
      TRY_STATUS(field(*key, entry));
    } while (cursor_.take(','));
    if (!cursor_.take('}')) return wrong("tensor " + quoted(name) + " does not end");
    if (seen.size() != 3) {
      return wrong("tensor " + quoted(name) + " lacks its dtype, shape or data_offsets");
    }
    header_.tensors.push_back(std::move(entry));
    return Unit{};
  }

  Status field(const std::string& key, Entry& entry) {
    if (key == "dtype") return dtype(entry);
    if (key == "shape") return shape(entry);
    if (key == "data_offsets") return offsets(entry);
    return wrong("tensor " + quoted(entry.name) + " holds an unknown key: " + quoted(key));
  }

  Status dtype(Entry& entry) {
    const std::optional<std::string> name = cursor_.text();
    const std::optional<Dtype> found = name ? parse_dtype(*name) : std::nullopt;
    if (!found) {
      return wrong("tensor " + quoted(entry.name) + " is of no known dtype" +
                   (name ? ": " + quoted(*name) : ""));
    }
    entry.dtype = *found;
    return Unit{};
  }

  Status shape(Entry& entry) {
    const std::string which = "the shape of tensor " + quoted(entry.name);
    if (!cursor_.take('[')) return wrong(which + " is no list");
    if (cursor_.take(']')) return Unit{};
    do {
      const std::optional<std::uint64_t> size = cursor_.natural();
      if (!size) return wrong(which + " holds something other than whole numbers");
      if (entry.shape.size() == kDimensionsMax) {
        return wrong(which + " has more than " + std::to_string(kDimensionsMax) + " dimensions");
      }
      entry.shape.push_back(*size);
    } while (cursor_.take(','));
    return cursor_.take(']') ? Status(Unit{}) : wrong(which + " does not end");
  }

  Status offsets(Entry& entry) {
    if (cursor_.take('[')) {
      const std::optional<std::uint64_t> begin = cursor_.natural();
      const bool comma = cursor_.take(',');
      const std::optional<std::uint64_t> end = cursor_.natural();
      if (begin && comma && end && cursor_.take(']')) {
        entry.begin = *begin;
        entry.end = *end;
        return Unit{};
      }
    }
    return wrong("data_offsets of tensor " + quoted(entry.name) + " are not two whole numbers");
  }

  // Looked for at the end: a list is a fraction of what a set of two million names would take.
  Status no_name_twice() const {
    std::vector<std::string_view> names;
    names.reserve(header_.tensors.size());
    for (const Entry& entry : header_.tensors) names.emplace_back(entry.name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice == names.end()) return Unit{};
    return corrupt("the header holds tensor " + quoted(*twice) + " twice");
  }

  std::string_view json_;
  JsonCursor cursor_;
  Header header_;
  bool metadata_seen_ = false;
};

// Each byte of the buffer belongs to one tensor, and each tensor has the bytes that it needs.
// Empty ones in one place stay in the order in which the header has them, so that what is read can
// be written again as it was.
Status check_cover(std::vector<Entry>& tensors, std::uint64_t buffer_bytes) {
  std::ranges::stable_sort(tensors, {},
                           [](const Entry& entry) { return std::tuple(entry.begin, entry.end); });
  std::uint64_t covered = 0;
  for (const Entry& entry : tensors) {
    const std::string which = "tensor " + quoted(entry.name);
    if (entry.begin != covered || entry.end < entry.begin) {
      return corrupt(which + " lies at " + std::to_string(entry.begin) + " to " +
                     std::to_string(entry.end) +
                     " of the buffer, where the one before it ends at " + std::to_string(covered) +
                     ": there may be neither holes nor overlaps");
    }
    const Result<std::uint64_t> bytes = tensor_bytes(entry.dtype, entry.shape);
    if (!bytes.ok()) return corrupt(which + ": " + bytes.error().message);
    if (*bytes != entry.bytes()) {
      return corrupt(which + " needs " + std::to_string(*bytes) + " bytes and has " +
                     std::to_string(entry.bytes()));
    }
    covered = entry.end;
  }
  if (covered == buffer_bytes) return Unit{};
  return corrupt("the tensors take " + std::to_string(covered) + " bytes, and " +
                 std::to_string(buffer_bytes) + " follow the header" +
                 (covered > buffer_bytes ? ": the file was cut short" : ""));
}

void append_entry(const Entry& entry, JsonWriter& out) {
  out.key(entry.name).begin_object();
  out.key("dtype").text(name_of(entry.dtype));
  out.key("shape").begin_array();
  for (const std::uint64_t size : entry.shape) out.number(size);
  out.end_array();
  out.key("data_offsets").begin_array().number(entry.begin).number(entry.end).end_array();
  out.end_object();
}

Status append_metadata(const checkpoint::Metadata& metadata, JsonWriter& out) {
  out.key(kMetadataKey).begin_object();
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key) || !is_utf8(value)) {
      return Error{Errc::kInvalid, "metadata is no UTF-8: " + quoted(key)};
    }
    out.key(key).text(value);
  }
  out.end_object();
  return Unit{};
}

Error too_long(std::uint64_t bytes) {
  return {Errc::kInvalid, "the header would have " + std::to_string(bytes) +
                              " bytes, more than the " + std::to_string(kHeaderBytesMax) +
                              " allowed"};
}

std::string prefix_of(std::uint64_t length) {
  std::string prefix;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    prefix += static_cast<char>(static_cast<unsigned char>(length >> shift & 0xFFU));
  }
  return prefix;
}

}  // namespace

Result<std::uint64_t> json_length(std::string_view prefix, std::uint64_t file_bytes) {
  if (prefix.size() < kPrefixBytes) {
    return corrupt("it has " + std::to_string(file_bytes) +
                   " bytes, too few for the length of a header");
  }
  std::uint64_t length = 0;
  for (std::size_t i = kPrefixBytes; i-- > 0;) {
    length = length << 8U | static_cast<unsigned char>(prefix[i]);
  }
  if (length > kHeaderBytesMax) {
    return corrupt("its header would have " + std::to_string(length) + " bytes, more than the " +
                   std::to_string(kHeaderBytesMax) + " allowed: this is no safetensors file");
  }
  if (file_bytes < kPrefixBytes || length > file_bytes - kPrefixBytes) {
    return corrupt("its header has " + std::to_string(length) + " bytes, and the file only " +
                   std::to_string(file_bytes) + ": it was cut short");
  }
  return length;
}

Result<Header> parse(std::string_view json, std::uint64_t buffer_bytes) {
  TRY(header, Parser(json).whole());
  TRY_STATUS(check_cover(header.tensors, buffer_bytes));
  return header;
}

Result<Header> parse_file(std::string_view file) {
  TRY(length, json_length(file.substr(0, kPrefixBytes), file.size()));
  return parse(file.substr(kPrefixBytes, length), file.size() - kPrefixBytes - length);
}

Status lay_out(std::vector<Entry>& tensors) {
  std::ranges::sort(tensors, [](const Entry& a, const Entry& b) {
    const unsigned a_bits = bits_of(a.dtype);
    const unsigned b_bits = bits_of(b.dtype);
    return a_bits != b_bits ? a_bits > b_bits : a.name < b.name;
  });
  std::uint64_t at = 0;
  for (Entry& entry : tensors) {
    const Result<std::uint64_t> bytes = tensor_bytes(entry.dtype, entry.shape);
    if (!bytes.ok()) {
      return Error{Errc::kInvalid, "tensor " + quoted(entry.name) + ": " + bytes.error().message};
    }
    entry.begin = at;
    if (__builtin_add_overflow(at, *bytes, &at)) {
      return Error{Errc::kInvalid, "the tensors together are larger than 64 bits can count"};
    }
    entry.end = at;
  }
  return Unit{};
}

Result<std::string> head_of(const Header& header) {
  std::uint64_t least = 0;  // Known before anything is written down.
  for (const auto& [key, value] : header.metadata) least += key.size() + value.size();
  for (const Entry& entry : header.tensors) least += entry.name.size();
  if (least > kHeaderBytesMax) return too_long(least);
  JsonWriter out;
  out.begin_object();
  if (!header.metadata.empty()) TRY_STATUS(append_metadata(header.metadata, out));
  std::set<std::string_view> names;
  for (const Entry& entry : header.tensors) {
    const std::string which = "tensor " + quoted(entry.name);
    if (!is_utf8(entry.name)) return Error{Errc::kInvalid, which + ": its name is no UTF-8"};
    if (entry.name == kMetadataKey) {
      return Error{Errc::kInvalid, "no tensor can be called " + std::string(kMetadataKey)};
    }
    if (!names.insert(entry.name).second) {
      return Error{Errc::kInvalid, "there are two tensors " + quoted(entry.name)};
    }
    if (entry.shape.size() > kDimensionsMax) {
      return Error{Errc::kInvalid,
                   which + " has more than " + std::to_string(kDimensionsMax) + " dimensions"};
    }
    append_entry(entry, out);
  }
  std::string json = out.end_object().take();
  json.append((8 - json.size() % 8) % 8, ' ');
  if (json.size() > kHeaderBytesMax) return too_long(json.size());
  return prefix_of(json.size()) + json;
}

}  // namespace berth::safetensors
