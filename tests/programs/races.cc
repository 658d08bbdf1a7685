// SPDX-License-Identifier: Apache-2.0
#include "races.h"

#include <vector>

void race(Any alloc, Any free, Word rounds, Word bytes) {
  std::vector<Word> held;
  for (Word round = 0; round < rounds; ++round) {
    for (Word pointer = 0; call(alloc, &pointer, static_cast<std::size_t>(bytes),
                                static_cast<void*>(nullptr)) == 0;) {
      held.push_back(pointer);
    }
    const std::size_t kept = round + 1 == rounds ? 0 : held.size() / 2;
    for (; held.size() > kept; held.pop_back()) {
      (void)call(free, held.back(), static_cast<void*>(nullptr));
    }
  }
}

void race_graphs(Route& route, Word rounds, Word bytes) {
  Word graph = 0;
  Word node = 0;
  Word exec = 0;
  Word pointer = 0;
  AllocationNode what;
  what.bytes = static_cast<std::size_t>(bytes);
  (void)call(route.find("cuGraphCreate"), &graph, 0U);
  (void)call(route.find("cuGraphAddMemAllocNode"), &node, graph, Word{0}, Word{0}, &what);
  (void)call(route.find("cuGraphAddMemFreeNode"), &node, graph, &node, Word{1}, what.pointer);
  (void)call(route.find("cuGraphInstantiateWithFlags"), &exec, graph, Word{0});
  for (Word round = 0; round < rounds; ++round) {
    (void)call(route.find("cuGraphLaunch"), exec, Word{0});
    if (round % 8 == 0 && call(route.find("cuMemAlloc_v2"), &pointer, 2 * bytes) == 0)
      (void)call(route.find("cuMemFree_v2"), pointer);
  }
  (void)call(route.find("cuGraphExecDestroy"), exec);
}
