// SPDX-License-Identifier: Apache-2.0
#include "setup/gpu_command.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::setup {
namespace {

// With "L" for the lease; "-" where nothing is changed.
std::string changed(std::string_view line) {
  return with_lease(line, default_gpu_programs(), "L --").value_or("-");
}

TEST(WithLease, AGpuProgramGetsOneWhereverItStands) {
  struct Row {
    const char* line;
    const char* changed;
  };
  constexpr Row kRows[] = {
      {"python train.py", "L -- python train.py"},
      {"python3.12 train.py --lr 1e-3", "L -- python3.12 train.py --lr 1e-3"},
      {"/opt/venv/bin/python3 -m torch.distributed.run x",
       "L -- /opt/venv/bin/python3 -m torch.distributed.run x"},
      {"cd x && python train.py > log 2>&1 &", "cd x && L -- python train.py > log 2>&1 &"},
      {"CUDA_VISIBLE_DEVICES=0 A=\"b c\" torchrun t.py",
       "CUDA_VISIBLE_DEVICES=0 A=\"b c\" L -- torchrun t.py"},
      {"nohup python a.py; python b.py", "nohup L -- python a.py; L -- python b.py"},
      {"env -i python a.py", "env -i L -- python a.py"},
      {"(cd y; accelerate launch t.py)", "(cd y; L -- accelerate launch t.py)"},
      {"for i in 1 2; do python t.py $i; done", "for i in 1 2; do L -- python t.py $i; done"},
      {"x=$(python -c 'print(1)')", "x=$(L -- python -c 'print(1)')"},
      {"if python a.py; then echo ok; fi", "if L -- python a.py; then echo ok; fi"},
      {"echo a | python b.py", "echo a | L -- python b.py"},
      {"true\npython a.py", "true\nL -- python a.py"},
  };
  for (const Row& row : kRows) EXPECT_EQ(changed(row.line), row.changed);
}

TEST(WithLease, WhatHasOneOrNeedsNoneIsLeft) {
  for (const char* line :
       {"", "ls -l", "berth run -m 8G -- python train.py", "berth submit -- torchrun t.py",
        "echo python train.py", "grep 'python x; python y' file", "git commit -m \"python\"",
        "python --version", "python3 -m pip install torch", "python -m venv .venv",
        "# python train.py", "cat a.py 2>&1", "vim python", "pythonic x", "A=1", "(", "'", "\\",
        "bash -c 'python train.py'"}) {
    EXPECT_EQ(changed(line), "-") << line;
  }
}

TEST(WithLease, OthersProgramsMayBeNamed) {
  constexpr std::string_view kMine[] = {"mytrainer"};
  EXPECT_EQ(with_lease("./mytrainer x", kMine, "L --"), "L -- ./mytrainer x");
  EXPECT_EQ(with_lease("python x", kMine, "L --"), std::nullopt);
}

}  // namespace
}  // namespace berth::setup
