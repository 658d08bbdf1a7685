// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/mapped_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "checkpoint/outcome.h"

namespace berth::checkpoint {
namespace {

const std::string& name_of_tensor(const Tensor* tensor) {
  return tensor->name;
}

}  // namespace

Result<TensorsInMemory> map_tensors(const std::string& path) {
  TRY(mapping, os::Mapping::open(path));
  const std::string_view file = mapping.bytes();
  const auto of_file = [&](const Error& error) {
    return Error{error.code, path + ": " + error.message};
  };
  const Result<std::uint64_t> length =
      safetensors::json_length(file.substr(0, safetensors::kPrefixBytes), file.size());
  if (!length.ok()) return of_file(length.error());
  const std::string_view json = file.substr(safetensors::kPrefixBytes, *length);
  const std::string_view buffer = file.substr(safetensors::kPrefixBytes + *length);
  Result<safetensors::Header> header = safetensors::parse(json, buffer.size());
  if (!header.ok()) return of_file(header.error());
  std::vector<Tensor> tensors;
  tensors.reserve(header->tensors.size());
  for (safetensors::Entry& entry : header->tensors) {
    tensors.push_back({.name = std::move(entry.name),
                       .dtype = entry.dtype,
                       .shape = std::move(entry.shape),
                       .data = buffer.data() + entry.begin,
                       .bytes = entry.bytes()});
  }
  return TensorsInMemory{.mapping = std::move(mapping),
                         .json = json,
                         .metadata = std::move(header->metadata),
                         .tensors = std::move(tensors)};
}

MappedFile::Impl::Impl(TensorsInMemory given) : content(std::move(given)) {
  by_name.reserve(content.tensors.size());
  for (const Tensor& tensor : content.tensors) by_name.push_back(&tensor);
  std::ranges::sort(by_name, {}, name_of_tensor);
}

Outcome<MappedFile> MappedFile::open(const std::string& path) {
  return guarded<MappedFile>([&]() -> Outcome<MappedFile> {
    Result<TensorsInMemory> content = map_tensors(path);
    if (!content.ok()) return failure_of(content.error());
    return MappedFile(std::make_unique<Impl>(*std::move(content)));
  });
}

MappedFile::MappedFile(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
MappedFile::MappedFile(MappedFile&&) noexcept = default;
MappedFile& MappedFile::operator=(MappedFile&&) noexcept = default;
MappedFile::~MappedFile() = default;

const std::vector<Tensor>& MappedFile::tensors() const noexcept {
  return impl_->content.tensors;
}

const Tensor* MappedFile::Impl::find(const std::string& name) const noexcept {
  const auto found = std::ranges::lower_bound(by_name, name, {}, name_of_tensor);
  return found != by_name.end() && (*found)->name == name ? *found : nullptr;
}

const Tensor* MappedFile::find(const std::string& name) const noexcept {
  return impl_->find(name);
}

const Metadata& MappedFile::metadata() const noexcept {
  return impl_->content.metadata;
}

Outcome<std::uint64_t> bytes_of(Dtype dtype, const std::vector<std::uint64_t>& shape) {
  return outcome_of(safetensors::tensor_bytes(dtype, shape));
}

}  // namespace berth::checkpoint
