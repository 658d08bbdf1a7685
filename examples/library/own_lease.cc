// SPDX-License-Identifier: Apache-2.0
// A program that has no `berth run` around it, and asks for its lease itself: 1 GiB, then 2, given
// back at the end. "twice": and once more.
#include <berth/berth.hpp>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>

namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

int fail(const char* what, const berth::Done& done) {
  std::fprintf(stderr, "own_lease: %s: %s\n", what, done.text().c_str());
  return done.status() == BERTH_CONFLICT ? 75 : 1;
}

void print_budget(const berth::Lease& lease) {
  const auto measured = lease.session().measure();
  const auto budget = measured ? berth::known(measured->lease_budget) : std::nullopt;
  if (!budget) return (void)std::puts("budget unknown");
  std::printf("budget %llu MiB\n", static_cast<unsigned long long>(*budget >> 20U));
}

int work_in_a_lease() {
  berth_request request{};
  request.vram_bytes = kGib;
  request.name = "own";
  auto lease = berth::Lease::acquire(request);
  if (!lease) return fail("acquire", lease.error());
  const auto facts = lease->session().facts();
  if (!facts) return fail("facts", facts.error());
  std::printf("lease %llu\n", static_cast<unsigned long long>(facts->lease));
  print_budget(*lease);
  if (const berth::Done grown = lease->resize(2 * kGib); !grown) return fail("resize", grown);
  print_budget(*lease);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool twice = argc > 1 && std::string_view(argv[1]) == "twice";
  const int status = work_in_a_lease();
  return status == 0 && twice ? work_in_a_lease() : status;
}
