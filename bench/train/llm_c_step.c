// SPDX-License-Identifier: Apache-2.0
// The same step in llm.c, whose train_gpt2.c is included where it lies: bench/train/llm_c compiles
// this with its folder. Prints the loss of the first forward pass, and the median of the steps.
// Usage: llm_c_step FOLDER
#include "train_gpt2.c"

enum { kRows = 4, kColumns = 64, kRounds = 7 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int compare(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

int main(int count, char** words) {
  static int tokens[2 * kRows * kColumns];
  static double seconds[kRounds];
  if (count != 2) return 64;
  char path[4096];
  snprintf(path, sizeof path, "%s/tokens", words[1]);
  FILE* file = fopen(path, "rb");
  if (file == NULL || fread(tokens, sizeof tokens, 1, file) != 1) return 1;
  fclose(file);
  GPT2 model;
  snprintf(path, sizeof path, "%s/model.bin", words[1]);
  gpt2_build_from_checkpoint(&model, path);
  for (int step = 0; step <= kRounds; ++step) {
    const double begin = now();
    gpt2_forward(&model, tokens, tokens + kRows * kColumns, kRows, kColumns);
    if (step == 0) printf("loss %.7f\n", model.mean_loss);
    gpt2_zero_grad(&model);
    gpt2_backward(&model);
    gpt2_update(&model, 1e-4f, 0.9f, 0.999f, 1e-8f, 0.0f, step + 1);
    if (step > 0) seconds[step - 1] = now() - begin;
  }
  qsort(seconds, kRounds, sizeof seconds[0], compare);
  printf("llm.c %.4f\n", seconds[kRounds / 2]);
  return 0;
}
