// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tensor_file.h"

#include <unistd.h>

#include <map>
#include <string_view>
#include <utility>

#include "checkpoint/outcome.h"
#include "os/random.h"

namespace berth::checkpoint {
namespace {

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data), tensor.bytes};
}

Status write_all(Disk& disk, const os::UniqueFd& file, const std::string& path,
                 const std::string& head, const FilePlan& plan) {
  TRY_STATUS(disk.write(file, path, std::as_bytes(std::span(head))));
  for (const std::span<const std::byte> piece : plan.pieces) {
    if (!piece.empty()) TRY_STATUS(disk.write(file, path, piece));
  }
  return disk.sync(file, path);
}

Status write_durably(const std::string& path, const std::vector<Tensor>& tensors,
                     const Metadata& metadata) {
  TRY(plan, plan_file(tensors));
  plan.header.metadata = metadata;
  TRY(head, safetensors::head_of(plan.header));
  PosixDisk disk;
  const std::string temporary = temporary_beside(path);
  TRY_STATUS(write_new(disk, temporary, head, plan));
  return put_in_place(disk, temporary, path);
}

}  // namespace

Result<FilePlan> plan_file(const std::vector<Tensor>& tensors) {
  std::map<std::string_view, const Tensor*> by_name;
  FilePlan plan;
  plan.header.tensors.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    const std::string which = "tensor '" + tensor.name + "'";
    if (!by_name.emplace(tensor.name, &tensor).second) {
      return Error{Errc::kInvalid, "there are two tensors '" + tensor.name + "'"};
    }
    if (static_cast<std::size_t>(tensor.dtype) >= safetensors::kDtypes) {
      return Error{Errc::kInvalid, which + " is of no known dtype"};
    }
    if (tensor.data == nullptr && tensor.bytes > 0) {
      return Error{Errc::kInvalid, which + " has no data"};
    }
    plan.header.tensors.push_back(
        {.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape});
  }
  TRY_STATUS(safetensors::lay_out(plan.header.tensors));
  for (const safetensors::Entry& entry : plan.header.tensors) {
    const Tensor& tensor = *by_name.at(entry.name);
    if (tensor.bytes != entry.bytes()) {
      return Error{Errc::kInvalid, "tensor '" + entry.name + "' has " +
                                       std::to_string(tensor.bytes) + " bytes, and its shape " +
                                       std::to_string(entry.bytes())};
    }
    plan.pieces.push_back(bytes_of(tensor));
  }
  return plan;
}

Status write_new(Disk& disk, const std::string& path, const std::string& head,
                 const FilePlan& plan) {
  TRY(file, disk.make(path));
  Status written = write_all(disk, file, path, head, plan);
  if (!written.ok()) (void)disk.remove(path);  // What it leaves behind is taken away later.
  return written;
}

Status put_in_place(Disk& disk, const std::string& from, const std::string& to) {
  Status renamed = disk.rename(from, to);
  if (!renamed.ok()) {
    (void)disk.remove(from);
    return renamed;
  }
  return disk.sync_directory(directory_of(to));
}

std::string temporary_beside(const std::string& path) {
  return path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(os::random_number());
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Outcome<Nothing> write_file(const std::string& path, const std::vector<Tensor>& tensors,
                            const Metadata& metadata) {
  return guarded<Nothing>([&] { return outcome_of(write_durably(path, tensors, metadata)); });
}

}  // namespace berth::checkpoint
