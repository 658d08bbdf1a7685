# SPDX-License-Identifier: Apache-2.0
# A sweep of sixty short trainings: see sweep.bash.
load sweep

steps=10 columns=16 within=120

@test "a sweep of sixty outlives its terminal, its keeper and its daemon, and what failed is resumed" {
  sweep_outlives_all
}
