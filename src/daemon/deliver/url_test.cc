// SPDX-License-Identifier: Apache-2.0
#include "deliver/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace berth::deliver {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string host_of(const std::string& url) {
  const auto checked = check_url(url, false);
  return checked.ok() && checked->encrypted ? checked->host : checked.error().message;
}

TEST(HookUrl, NamesAHost) {
  EXPECT_EQ(host_of("https://hooks.example.org/services/T0/B1?x=%20#y"), "hooks.example.org");
  EXPECT_EQ(host_of("HTTPS://EXAMPLE.org:8443"), "EXAMPLE.org");
  EXPECT_EQ(host_of("https://[::1]:1/"), "[::1]");
  EXPECT_EQ(host_of("https://0x7f.1/"), "127.0.0.1");  // What will be connected to.
}

TEST(HookUrl, WhatIsNoneIsRefusedWithoutRepeatingIt) {
  struct Refused {
    const char* url;
    const char* why;
  };
  for (const auto& [url, why] : {
           Refused{"", "is none"},
           Refused{"secret", "is none"},
           Refused{"//h/secret", "is none"},
           Refused{"https:///secret", "is none"},
           Refused{"https://h:99999/secret", "is none"},
           Refused{"https://h/secret secret", "is none"},
           Refused{"https://h\n/secret", "is none"},
           Refused{"https://me:secret@h/", "secret_file"},
           Refused{"https://secret@h/", "secret_file"},
           Refused{"ftp://h/secret", "https://"},
           Refused{"file:///secret", "https://"},
           Refused{"gopher://h/secret", "https://"},
       }) {
    const auto checked = check_url(url, true);
    ASSERT_FALSE(checked.ok()) << url;
    EXPECT_EQ(checked.error().code, Errc::kInvalid);
    EXPECT_THAT(checked.error().message, HasSubstr(why)) << url;
    EXPECT_THAT(checked.error().message, Not(HasSubstr("/secret"))) << url;
    EXPECT_THAT(checked.error().message, Not(HasSubstr("secret@"))) << url;
  }
  EXPECT_FALSE(check_url("https://h/" + std::string(2'040, 'a'), false).ok());
}

TEST(HookUrl, WithoutEncryptionOnlyWherePrivateAddressesAreAllowed) {
  EXPECT_THAT(check_url("http://h/", false).error().message, HasSubstr("allow_private"));
  const auto checked = check_url("http://h/", true);
  ASSERT_TRUE(checked.ok());
  EXPECT_FALSE(checked->encrypted);
}

}  // namespace
}  // namespace berth::deliver
