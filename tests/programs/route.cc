// SPDX-License-Identifier: Apache-2.0
#include "route.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

// The name that cuGetProcAddress knows, and a CUDA version at which it means this function.
Route::Query Route::query_of(const std::string& symbol) {
  if (symbol.ends_with("_ptsz")) {
    Query query = query_of(symbol.substr(0, symbol.size() - 5));
    query.flags = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
    return query;
  }
  const char* said = std::getenv("CALLER_CUDA");
  const int version = said == nullptr ? 12090 : static_cast<int>(std::strtol(said, nullptr, 10));
  if (symbol == "cuCtxCreate_v2") return {.name = "cuCtxCreate", .version = 11000};
  if (symbol.ends_with("_v1"))
    return {.name = symbol.substr(0, symbol.size() - 3), .version = 3010};
  const std::size_t end = symbol.rfind("_v");
  return {.name = end == std::string::npos ? symbol : symbol.substr(0, end), .version = version};
}

Route::Route(std::string name) : name_(std::move(name)) {
  if (!is_linked()) open();
}

void Route::open() {
  const char* path = std::getenv("CALLER_DRIVER");
  library_ = ::dlopen(path == nullptr ? "libcuda.so.1" : path, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) std::exit(69);
}

int Route::reopen() {
  const int closed = ::dlclose(library_);
  open();
  return closed;
}

// Those of linked.h.
bool Route::is_linked() const {
  for (const char* name : {"linked", "deepbind", "dlmopen", "namespace", "second", "own_later"}) {
    if (name_.starts_with(name)) return true;
  }
  return false;
}

bool Route::is_by_query() const {
  return name_.starts_with("proc") || name_ == "dlmopen_proc";
}

// "_v1" at the end: the function of CUDA 2, whose name has no end like that.
Any Route::find(const std::string& name) {
  if (is_by_query()) return ask(query_of(name));
  return look_up(name.ends_with("_v1") ? name.substr(0, name.size() - 3) : name);
}

Any Route::find_as(const std::string& symbol, const std::string& name, int since) {
  if (!is_by_query()) return look_up(symbol);
  return ask({.name = name, .version = since, .flags = symbol.ends_with("_ptsz") ? 2U : 0U});
}

Any Route::look_up(const std::string& symbol) {
  if (is_linked()) return linked_call(name_, symbol);
  if (name_ == "dlvsym") {  // The C library's dlsym, past whatever stands in front of it.
    const auto find =
        reinterpret_cast<decltype(&::dlsym)>(::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
    return find(library_, symbol.c_str());
  }
  if (name_ == "default") {
    (void)::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    return ::dlsym(RTLD_DEFAULT, symbol.c_str());
  }
  return ::dlsym(library_, symbol.c_str());
}

// "legacy": with the flag that says so, CU_GET_PROC_ADDRESS_LEGACY_STREAM.
Any Route::ask(const Query& query) {
  const std::uint64_t flags = query.flags == 0 && name_ == "proc_legacy" ? 1 : query.flags;
  void* found = nullptr;
  if (name_ == "proc") {
    const auto get = reinterpret_cast<int (*)(const char*, void**, int, std::uint64_t)>(
        ::dlsym(library_, "cuGetProcAddress"));
    (void)get(query.name.c_str(), &found, query.version, flags);
    return found;
  }
  using Get = int (*)(const char*, void**, int, std::uint64_t, int*);
  constexpr const char* kGet = "cuGetProcAddress_v2";
  auto get = reinterpret_cast<Get>(name_ == "dlmopen_proc" ? linked_call("dlmopen", kGet)
                                                           : ::dlsym(library_, kGet));
  int status = 0;
  if (name_ == "proc_self") {  // As the run-time does: asked for itself first.
    (void)get("cuGetProcAddress", &found, 12000, 0, &status);
    get = reinterpret_cast<Get>(found);
  }
  found = nullptr;
  (void)get(query.name.c_str(), &found, query.version, flags, &status);
  return found;
}

std::string owner_of(Any function) {
  if (function == nullptr) return "none";
  Dl_info info{};
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "other";
  const std::string_view path = info.dli_fname;
  if (path.ends_with("/libberth-guard.so")) return "guard";
  return path.find("/libcuda.so") == std::string_view::npos ? "other" : "driver";
}
