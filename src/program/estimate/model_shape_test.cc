// SPDX-License-Identifier: Apache-2.0
#include "estimate/model_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::estimate {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGpt2Config =
    R"({"model_type":"gpt2","n_layer":12,"n_embd":768,"n_head":12,"n_positions":1024,
        "n_ctx":1024,"n_inner":null,"vocab_size":50257,"task_specific_params":{"a":[1,{}]}})";

std::uint64_t count(const std::string& config) {
  const Result<ModelShape> shape = parse_model_config(config);
  EXPECT_TRUE(shape.ok()) << (shape.ok() ? "" : shape.error().message);
  return shape.ok() ? parameters_of(*shape).total() : 0;
}

std::string trouble(const std::string& config) {
  const Result<ModelShape> shape = parse_model_config(config);
  return shape.ok() ? "accepted" : shape.error().message;
}

// The numbers of parameters that were published with these models.
TEST(ModelShape, PublishedModelsHaveTheirParameters) {
  EXPECT_EQ(count(kGpt2Config), 124'439'808);
  // Llama 2 7B
  EXPECT_EQ(count(R"({"model_type":"llama","hidden_size":4096,"intermediate_size":11008,
                      "num_hidden_layers":32,"num_attention_heads":32,"vocab_size":32000})"),
            6'738'415'616);
  // Llama 3 8B
  EXPECT_EQ(count(R"({"model_type":"llama","hidden_size":4096,"intermediate_size":14336,
                      "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,
                      "vocab_size":128256,"attention_bias":false,"tie_word_embeddings":false})"),
            8'030'261'248);
  // Qwen 2 0.5B
  EXPECT_EQ(count(R"({"model_type":"qwen2","hidden_size":896,"intermediate_size":4864,
                      "num_hidden_layers":24,"num_attention_heads":14,"num_key_value_heads":2,
                      "vocab_size":151936,"tie_word_embeddings":true})"),
            494'032'768);
}

TEST(ModelShape, TheWholeIsItsParts) {
  const Result<ModelShape> shape = parse_model_config(kGpt2Config);
  ASSERT_TRUE(shape.ok());
  const Parameters parameters = parameters_of(*shape);
  EXPECT_EQ(parameters.embeddings, 50'257ULL * 768 + 1'024ULL * 768);
  EXPECT_EQ(parameters.layers, 12ULL * 7'087'872);
  EXPECT_EQ(parameters.head, 1'536);
  EXPECT_EQ(shape->inner_width, 3'072);
  EXPECT_EQ(shape->head_width, 64);
}

TEST(ModelShape, AConfigWithoutATypeIsKnownByItsKeys) {
  EXPECT_EQ(count(R"({"n_layer":1,"n_embd":8,"n_head":2,"n_ctx":16,"vocab_size":10})"),
            10 * 8 + 16 * 8 + (4 * 64 + 4 * 8 + 2 * 8 * 32 + 32 + 8 + 32) + 16);
  EXPECT_EQ(parse_model_config(R"({"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,
                                   "intermediate_size":16,"vocab_size":10})")
                ->kind,
            ModelShape::Kind::kLlama);
}

TEST(ModelShape, WhatIsNotUnderstoodIsSaid) {
  EXPECT_THAT(trouble(""), HasSubstr("no JSON object"));
  EXPECT_THAT(trouble("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(trouble("{}"), HasSubstr("\"model_type\" is missing"));
  EXPECT_THAT(trouble(R"({"model_type":"t5","d_model":512})"), HasSubstr("'t5'"));
  EXPECT_THAT(trouble(R"({"model_type":"mixtral","num_local_experts":8})"),
              HasSubstr("mixture of experts"));
  EXPECT_THAT(trouble(R"({"model_type":"gpt2","n_layer":12})"), HasSubstr("\"n_embd\" is missing"));
  EXPECT_THAT(trouble(R"({"model_type":"gpt2","n_layer":-1})"),
              HasSubstr("\"n_layer\" is no whole number"));
  EXPECT_THAT(trouble(R"({"model_type":"gpt2","n_layer":1e3})"), HasSubstr("no whole number"));
  EXPECT_THAT(trouble(R"({"model_type":"gpt2","n_layer":99999999999})"), HasSubstr("more than"));
  EXPECT_THAT(trouble(R"({"n_layer":1,"n_embd":9,"n_head":2,"n_ctx":16,"vocab_size":10})"),
              HasSubstr("cannot be divided among 2 heads"));
  EXPECT_THAT(trouble(R"({"model_type":"llama","hidden_size":8,"num_hidden_layers":1,
                          "num_attention_heads":4,"num_key_value_heads":3,
                          "intermediate_size":16,"vocab_size":10})"),
              HasSubstr("cannot share 3"));
}

}  // namespace
}  // namespace berth::estimate
