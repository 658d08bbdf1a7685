// SPDX-License-Identifier: Apache-2.0
// A caller of the CUDA driver: reads one call a line, answers each with a line "RESULT …". A line
// that begins with the name of a function calls that: "cuGraphLaunch exec 0", where a name is a
// word that the program keeps, and "&exec" is where it keeps it. The word on its command line says
// by which way it comes to the driver's functions, and so by which way a guard has to be in front
// of them. It knows nothing of Berth.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "child.h"
#include "elsewhere.h"
#include "layouts.h"
#include "races.h"
#include "route.h"

namespace {

class Caller {
 public:
  explicit Caller(const std::string& route) : name_of_route_(route), route_(route) {
    (void)call(route_.find("cuInit"), 0U);
    declare_contexts();
    declare_memory();
    declare_arrays();
    declare_virtual_memory();
    declare_pools();
    declare_graphs();
    declare_sharing();
    declare_threads();
  }

  void run() {
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      std::string verb;
      words >> verb;
      const auto found = verbs_.find(verb);
      std::cout << (found == verbs_.end() ? call_by_name(verb, words) : found->second(words))
                << '\n'
                << std::flush;
    }
  }

 private:
  using Words = std::istringstream;

  static std::string text(int result, const std::string& more = "") {
    return std::to_string(result) + (more.empty() ? "" : " " + more);
  }
  static std::string name_in(Words& words) {
    std::string name;
    words >> name;
    return name;
  }
  static Word number_in(Words& words) {
    Word number = 0;
    words >> number;
    return number;
  }

  Word value_of(const std::string& word) {
    const bool number = std::isdigit(static_cast<unsigned char>(word.front())) != 0;
    return number ? std::stoull(word) : pointers_[word];
  }

  // All words, as this machine passes them; a function looks at those that it has.
  std::string call_by_name(const std::string& symbol, Words& words) {
    if (!symbol.starts_with("cu")) return "no such call";
    Word values[8] = {};
    for (Word& value : values) {
      const std::string word = name_in(words);
      if (word.empty()) break;
      value =
          word.front() == '&' ? std::bit_cast<Word>(&pointers_[word.substr(1)]) : value_of(word);
    }
    return text(call(route_.find(symbol), values[0], values[1], values[2], values[3], values[4],
                     values[5], values[6], values[7]));
  }

  void declare_contexts() {
    // As a program does that clears it, or moves it while another thread reads.
    verbs_["lose_environment"] = [](Words&) {
      void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      environ = static_cast<char**>(page);
      return text(page == MAP_FAILED ? 1 : 0);
    };
    verbs_["reopen"] = [this](Words&) { return text(route_.reopen()); };
    verbs_["retain"] = [this](Words& words) {
      void* context = nullptr;
      const int device = static_cast<int>(number_in(words));
      const int result = call(route_.find("cuDevicePrimaryCtxRetain"), &context, device);
      if (result == 0) (void)call(route_.find("cuCtxSetCurrent"), context);
      return text(result);
    };
    verbs_["release"] = [this](Words& words) {
      return text(
          call(route_.find("cuDevicePrimaryCtxRelease_v2"), static_cast<int>(number_in(words))));
    };
    verbs_["reset"] = [this](Words& words) {
      return text(
          call(route_.find("cuDevicePrimaryCtxReset_v2"), static_cast<int>(number_in(words))));
    };
    verbs_["create"] = [this](Words& words) {
      void*& context = contexts_[name_in(words)];
      return text(call(route_.find("cuCtxCreate_v2"), &context, 0U, static_cast<int>(0)));
    };
    verbs_["destroy"] = [this](Words& words) {
      return text(call(route_.find("cuCtxDestroy_v2"), contexts_[name_in(words)]));
    };
    verbs_["current"] = [this](Words& words) {
      return text(call(route_.find("cuCtxSetCurrent"), contexts_[name_in(words)]));
    };
  }

  void declare_memory() {
    verbs_["alloc"] = [this](Words& words) {
      const std::string name = name_in(words);
      Word pointer = kUntouched;
      const Any alloc = route_.find("cuMemAlloc_v2");
      errno = kErrno;
      const int result = call(alloc, &pointer, static_cast<std::size_t>(number_in(words)));
      if (result == 0) pointers_[name] = pointer;
      if (name == "errno") return text(result, std::to_string(errno));
      return text(result, result == 0 || pointer == kUntouched ? "" : "touched");
    };
    verbs_["managed"] = [this](Words& words) {
      const std::string name = name_in(words);
      Word pointer = 0;
      const int result = call(route_.find("cuMemAllocManaged"), &pointer,
                              static_cast<std::size_t>(number_in(words)), 1U);
      if (result != 0) return text(result);
      pointers_[name] = pointer;
      *std::bit_cast<volatile char*>(pointer) = 'x';  // The host may.
      return text(result);
    };
    verbs_["pitch"] = [this](Words& words) {  // NAME WIDTH HEIGHT
      const std::string name = name_in(words);
      Word pointer = 0;
      std::size_t pitch = 0;
      const auto width = static_cast<std::size_t>(number_in(words));
      const int result = call(route_.find("cuMemAllocPitch_v2"), &pointer, &pitch, width,
                              static_cast<std::size_t>(number_in(words)), 4U);
      if (result == 0) pointers_[name] = pointer;
      return text(result);
    };
    verbs_["free"] = [this](Words& words) {
      return text(call(route_.find("cuMemFree_v2"), pointers_[name_in(words)]));
    };
    verbs_["free_null"] = [this](Words&) {
      return text(call(route_.find("cuMemFree_v2"), static_cast<Word>(0)));
    };
    verbs_["info"] = [this](Words&) {
      std::size_t free = 0;
      std::size_t total = 0;
      const int result = call(route_.find("cuMemGetInfo_v2"), &free, &total);
      return text(result, std::to_string(free) + " " + std::to_string(total));
    };
    verbs_["total"] = [this](Words& words) {
      std::size_t total = 0;
      const int result =
          call(route_.find("cuDeviceTotalMem_v2"), &total, static_cast<int>(number_in(words)));
      return text(result, std::to_string(total));
    };
    verbs_["counted"] = [this](Words&) {  // By the simulated driver.
      std::size_t bytes = 0;
      const int result = call(route_.find("berthSimulatedUsedBytes"), &bytes, 0);
      return text(result, std::to_string(bytes));
    };
    verbs_["has"] = [this](Words& words) {
      return std::string(route_.find(name_in(words)) == nullptr ? "no" : "yes");
    };
    verbs_["whose"] = [this](Words& words) {  // SYMBOL NAME SINCE
      const std::string symbol = name_in(words);
      const std::string name = name_in(words);
      return owner_of(route_.find_as(symbol, name, static_cast<int>(number_in(words))));
    };
  }

  void declare_arrays() {
    const auto size_in = [](Words& words) { return static_cast<std::size_t>(number_in(words)); };
    verbs_["array"] = [=, this](Words& words) {  // NAME WIDTH HEIGHT
      void*& array = arrays_[name_in(words)];
      const std::size_t width = size_in(words);
      const Flat what{.width = width, .height = size_in(words)};
      return text(call(route_.find("cuArrayCreate_v2"), &array, &what));
    };
    verbs_["array3"] = [=, this](Words& words) {  // NAME WIDTH HEIGHT DEPTH FLAGS
      void*& array = arrays_[name_in(words)];
      Deep what{.width = size_in(words), .height = 0, .depth = 0};
      what.height = size_in(words);
      what.depth = size_in(words);
      what.flags = static_cast<unsigned int>(number_in(words));
      return text(call(route_.find("cuArray3DCreate_v2"), &array, &what));
    };
    verbs_["mipmap"] = [=, this](Words& words) {  // NAME WIDTH HEIGHT LEVELS
      void*& array = arrays_[name_in(words)];
      Deep what{.width = size_in(words), .height = 0, .depth = 0};
      what.height = size_in(words);
      return text(call(route_.find("cuMipmappedArrayCreate"), &array, &what,
                       static_cast<unsigned int>(number_in(words))));
    };
    verbs_["unarray"] = [this](Words& words) {
      return text(call(route_.find("cuArrayDestroy"), arrays_[name_in(words)]));
    };
    verbs_["unmipmap"] = [this](Words& words) {
      return text(call(route_.find("cuMipmappedArrayDestroy"), arrays_[name_in(words)]));
    };
  }

  void declare_virtual_memory() {
    verbs_["m_create"] = [this](Words& words) {  // HANDLE BYTES [DEVICE [KIND OF PLACE]]
      const std::string name = name_in(words);
      Properties properties;
      Word handle = 0;
      const auto bytes = static_cast<std::size_t>(number_in(words));
      properties.location = static_cast<int>(number_in(words));
      if (const Word place = number_in(words); place != 0)
        properties.location_type = static_cast<int>(place);
      const int result = call(route_.find("cuMemCreate"), &handle, bytes, &properties, Word{0});
      if (result == 0) pointers_[name] = handle;
      return text(result);
    };
    verbs_["m_release"] = [this](Words& words) {
      return text(call(route_.find("cuMemRelease"), pointers_[name_in(words)]));
    };
    verbs_["m_retain"] = [this](Words& words) {  // HANDLE ADDRESS OFFSET
      Word& handle = pointers_[name_in(words)];
      const Word address = pointers_[name_in(words)];
      return text(call(route_.find("cuMemRetainAllocationHandle"), &handle,
                       std::bit_cast<void*>(address + number_in(words))));
    };
    verbs_["m_reserve"] = [this](Words& words) {  // ADDRESS BYTES
      Word& address = pointers_[name_in(words)];
      return text(call(route_.find("cuMemAddressReserve"), &address,
                       static_cast<std::size_t>(number_in(words)), std::size_t{0}, Word{0},
                       Word{0}));
    };
    verbs_["m_map"] = [this](Words& words) {  // ADDRESS OFFSET BYTES HANDLE
      const Word address = pointers_[name_in(words)] + number_in(words);
      const auto bytes = static_cast<std::size_t>(number_in(words));
      return text(call(route_.find("cuMemMap"), address, bytes, std::size_t{0},
                       pointers_[name_in(words)], Word{0}));
    };
    verbs_["m_unmap"] = [this](Words& words) {  // ADDRESS OFFSET BYTES
      const Word address = pointers_[name_in(words)] + number_in(words);
      return text(
          call(route_.find("cuMemUnmap"), address, static_cast<std::size_t>(number_in(words))));
    };
  }

  void declare_pools() {
    verbs_["async"] = [this](Words& words) {  // NAME BYTES
      const std::string name = name_in(words);
      Word pointer = 0;
      const int result =
          call(route_.find("cuMemAllocAsync"), &pointer, static_cast<std::size_t>(number_in(words)),
               static_cast<void*>(nullptr));
      if (result == 0) pointers_[name] = pointer;
      return text(result);
    };
    verbs_["free_async"] = [this](Words& words) {
      return text(call(route_.find("cuMemFreeAsync"), pointers_[name_in(words)],
                       static_cast<void*>(nullptr)));
    };
    verbs_["p_create"] = [this](Words& words) {  // NAME [DEVICE]
      Word& pool = pointers_[name_in(words)];
      Pool what;
      what.location = static_cast<int>(number_in(words));
      return text(call(route_.find("cuMemPoolCreate"), &pool, &what));
    };
    verbs_["threshold"] = [this](Words& words) {  // Of the default pool.
      void* pool = nullptr;
      (void)call(route_.find("cuDeviceGetDefaultMemPool"), &pool, 0);
      Word bytes = number_in(words);
      return text(call(route_.find("cuMemPoolSetAttribute"), pool, 4, &bytes));
    };
    verbs_["trim"] = [this](Words& words) {
      void* pool = nullptr;
      (void)call(route_.find("cuDeviceGetDefaultMemPool"), &pool, 0);
      return text(
          call(route_.find("cuMemPoolTrimTo"), pool, static_cast<std::size_t>(number_in(words))));
    };
    verbs_["synchronise"] = [this](Words&) {
      return text(call(route_.find("cuCtxSynchronize"), static_cast<void*>(nullptr)));
    };
  }

  void declare_graphs() {
    verbs_["value"] = [this](Words& words) { return std::to_string(pointers_[name_in(words)]); };
    verbs_["g_alloc"] = [this](Words& words) {  // GRAPH NAME BYTES
      const Word graph = pointers_[name_in(words)];
      Word& pointer = pointers_[name_in(words)];
      Word node = 0;
      AllocationNode what;
      what.bytes = static_cast<std::size_t>(number_in(words));
      const int result = call(route_.find("cuGraphAddMemAllocNode"), &node, graph,
                              static_cast<void*>(nullptr), std::size_t{0}, &what);
      pointer = what.pointer;
      return text(result);
    };
    verbs_["g_free"] = [this](Words& words) {  // GRAPH NAME
      Word node = 0;
      const Word graph = pointers_[name_in(words)];
      return text(call(route_.find("cuGraphAddMemFreeNode"), &node, graph,
                       static_cast<void*>(nullptr), std::size_t{0}, pointers_[name_in(words)]));
    };
    verbs_["g_params"] = [this](Words& words) {  // EXEC GRAPH FLAGS
      Word& exec = pointers_[name_in(words)];
      const Word graph = pointers_[name_in(words)];
      Instantiation what{.flags = number_in(words)};
      return text(call(route_.find("cuGraphInstantiateWithParams"), &exec, graph, &what));
    };
  }

  // What is passed on as it is: 64 bytes.
  struct Handle {
    unsigned int all[16];
  };

  void declare_sharing() {
    verbs_["ints"] = [this](Words& words) {  // NAME VALUE...: what it points to, four bytes each.
      const std::string name = name_in(words);
      std::vector<unsigned int>& kept = blocks_[name];
      kept.clear();
      for (std::string word; words >> word;)
        kept.push_back(static_cast<unsigned int>(value_of(word)));
      kept.resize(kept.size() + 32);
      pointers_[name] = std::bit_cast<Word>(kept.data());
      return text(0);
    };
    verbs_["m_share"] = [this](Words& words) {  // HANDLE BYTES
      Word& handle = pointers_[name_in(words)];
      Properties properties;
      properties.handle_types = 1;
      return text(call(route_.find("cuMemCreate"), &handle,
                       static_cast<std::size_t>(number_in(words)), &properties, Word{0}));
    };
    verbs_["ipc_open"] = [this](Words& words) {  // NAME HANDLE
      Word& pointer = pointers_[name_in(words)];
      Handle handle{};
      std::copy_n(blocks_[name_in(words)].begin(), 16, std::begin(handle.all));
      return text(call(route_.find("cuIpcOpenMemHandle_v2"), &pointer, handle, 1U));
    };
    verbs_["close"] = [this](Words& words) {
      const std::string name = name_in(words);
      const auto fd = static_cast<int>(value_of(name));
      pointers_[name] = 0;
      return text(fd > 2 ? ::close(fd) : -1);
    };
    verbs_["child"] = [this](Words& words) {  // [DESCRIPTOR]: that it is to have.
      const std::string name = name_in(words);
      if (!name.empty()) (void)::fcntl(static_cast<int>(value_of(name)), F_SETFD, 0);
      return text(child_.start(name_of_route_) ? 0 : -1);
    };
    verbs_["set"] = [](Words& words) {  // NAME VALUE: a variable of those who are started later.
      const std::string name = name_in(words);
      return text(::setenv(name.c_str(), name_in(words).c_str(), 1));
    };
    verbs_["kill_child"] = [this](Words&) { return text(child_.kill() ? 0 : -1); };
    verbs_["tell"] = [this](Words& words) {  // CALL: for the child; $NAME is a value of ours.
      std::string line;
      for (std::string word; words >> word; line += " ") {
        const std::string name = word.substr(1);
        if (word.front() != '$') {
          line += word;
        } else if (const auto block = blocks_.find(name); block != blocks_.end()) {
          for (const unsigned int value : block->second) line += std::to_string(value) + " ";
        } else {
          line += std::to_string(pointers_[name]);
        }
      }
      return child_.ask(line);
    };
  }

  void declare_threads() {
    // race THREADS ROUNDS BYTES: each thread allocates until it is refused, frees half, and so on.
    verbs_["race"] = [this](Words& words) {
      return start_race(words, "cuMemAlloc_v2", "cuMemFree_v2");
    };
    verbs_["race_graphs"] = [this](Words& words) {
      const Word count = number_in(words);
      const Word rounds = number_in(words);
      const Word bytes = number_in(words);
      return in_threads(count, [=, this](Word) { race_graphs(route_, rounds, bytes); });
    };
    verbs_["race_async"] = [this](Words& words) {
      return start_race(words, "cuMemAllocAsync", "cuMemFreeAsync");
    };
    // later NAME BYTES: another thread allocates, and is answered for by `joined`.
    verbs_["later"] = [this](Words& words) {
      if (later_.is_running()) return text(-1);
      later_name_ = name_in(words);
      later_.start(route_, static_cast<std::size_t>(number_in(words)));
      return text(0);
    };
    verbs_["joined"] = [this](Words&) {
      return later_.is_running() ? kept(later_name_, later_.join()) : text(-1);
    };
    // NAME BYTES: a function that the driver calls allocates.
    verbs_["called"] = [this](Words& words) {
      const std::string name = name_in(words);
      const auto bytes = static_cast<std::size_t>(number_in(words));
      return kept(name, allocate_when_called(route_, Called::kHostFunction, bytes));
    };
    verbs_["called_back"] = [this](Words& words) {
      const std::string name = name_in(words);
      const auto bytes = static_cast<std::size_t>(number_in(words));
      return kept(name, allocate_when_called(route_, Called::kCallback, bytes));
    };
    verbs_["fork"] = [](Words&) {  // What a child without exec sees.
      return std::to_string(::fork() == 0 ? ::getpid() : 0);
    };
    verbs_["become"] = [](Words&) -> std::string {  // The same program again; it reads "more".
      (void)!::freopen("more", "r", stdin);
      ::execl("/proc/self/exe", "cuda_caller", "dlsym", nullptr);
      return "not replaced";
    };
    verbs_["die"] = [](Words&) -> std::string { ::_exit(3); };
  }

  std::string kept(const std::string& name, const Allocation& allocation) {
    if (allocation.result == 0) pointers_[name] = allocation.pointer;
    return text(allocation.result);
  }

  // Each has the context that is current here, and a number.
  std::string in_threads(Word count, const std::function<void(Word)>& run) {
    void* context = nullptr;
    (void)call(route_.find("cuCtxGetCurrent"), &context);
    std::vector<std::thread> threads;
    for (Word i = 0; i < count; ++i) {
      threads.emplace_back([=, this] {
        (void)call(route_.find("cuCtxSetCurrent"), context);
        run(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return text(0);
  }

  std::string start_race(Words& words, const char* alloc, const char* free) {
    const Word count = number_in(words);
    const Word rounds = number_in(words);
    const Word bytes = number_in(words);
    return in_threads(count, [=, this](Word i) {
      race(route_.find(alloc), route_.find(free), rounds, bytes + i * 4096);
    });
  }

  static constexpr Word kUntouched = 0x5a5a5a5a;
  static constexpr int kErrno = 77;  // Nobody's.
  std::string name_of_route_;
  Route route_;
  Child child_;
  Later later_;
  std::string later_name_;
  std::map<std::string, std::function<std::string(Words&)>> verbs_;
  std::map<std::string, Word> pointers_;
  std::map<std::string, std::vector<unsigned int>> blocks_;
  std::map<std::string, void*> contexts_;
  std::map<std::string, void*> arrays_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 64;
  Caller(arguments[1]).run();
  return 0;
}
