// SPDX-License-Identifier: Apache-2.0
#include "deliver/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>

namespace berth::deliver {
namespace {

std::string kind_of(const std::string& text) {
  in_addr four{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return special_kind(four);
  in6_addr six{};
  EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), &six), 1) << text;
  return special_kind(six);
}

struct Case {
  const char* address;
  const char* kind;
};

// Both ends of each range, and its neighbours where they are public.
TEST(Address, IsPublicOrOfAKind) {
  for (const auto& [address, kind] : {
           Case{"0.0.0.0", "unspecified"},
           Case{"0.255.255.255", "unspecified"},
           Case{"1.0.0.0", ""},
           Case{"9.255.255.255", ""},
           Case{"10.0.0.0", "private"},
           Case{"10.255.255.255", "private"},
           Case{"11.0.0.0", ""},
           Case{"100.63.255.255", ""},
           Case{"100.64.0.0", "private"},
           Case{"100.127.255.255", "private"},
           Case{"100.128.0.0", ""},
           Case{"127.0.0.1", "loopback"},
           Case{"127.255.255.255", "loopback"},
           Case{"128.0.0.0", ""},
           Case{"169.253.255.255", ""},
           Case{"169.254.169.254", "link-local"},
           Case{"169.255.0.0", ""},
           Case{"172.15.255.255", ""},
           Case{"172.16.0.0", "private"},
           Case{"172.31.255.255", "private"},
           Case{"172.32.0.0", ""},
           Case{"192.0.0.8", "reserved"},
           Case{"192.0.1.0", ""},
           Case{"192.0.2.1", "documentation"},
           Case{"192.88.99.1", "reserved"},
           Case{"192.167.255.255", ""},
           Case{"192.168.0.0", "private"},
           Case{"192.168.255.255", "private"},
           Case{"192.169.0.0", ""},
           Case{"198.17.255.255", ""},
           Case{"198.18.0.0", "private"},
           Case{"198.19.255.255", "private"},
           Case{"198.20.0.0", ""},
           Case{"198.51.100.7", "documentation"},
           Case{"203.0.113.7", "documentation"},
           Case{"223.255.255.255", ""},
           Case{"224.0.0.1", "multicast"},
           Case{"239.255.255.255", "multicast"},
           Case{"240.0.0.0", "reserved"},
           Case{"255.255.255.255", "reserved"},
           Case{"8.8.8.8", ""},
       }) {
    EXPECT_EQ(kind_of(address), kind) << address;
  }
}

TEST(Address, OfTheSixthVersionIsPublicOrOfAKind) {
  for (const auto& [address, kind] : {
           Case{"::", "unspecified"},
           Case{"::1", "loopback"},
           Case{"::2", "reserved"},
           Case{"::127.0.0.1", "reserved"},
           Case{"::ffff:127.0.0.1", "IPv4-mapped"},
           Case{"::ffff:8.8.8.8", "IPv4-mapped"},
           Case{"::ffff:0:8.8.8.8", "reserved"},
           Case{"64:ff9b::8.8.8.8", ""},
           Case{"64:ff9b::127.0.0.1", "loopback"},
           Case{"64:ff9b::10.1.2.3", "private"},
           Case{"64:ff9b:1::8.8.8.8", "reserved"},
           Case{"100::1", "reserved"},
           Case{"1fff:ffff::1", "reserved"},
           Case{"2000::1", ""},
           Case{"2001::1", "reserved"},
           Case{"2001:1ff::1", "reserved"},
           Case{"2001:200::1", ""},
           Case{"2001:db8::1", "documentation"},
           Case{"2001:db9::1", ""},
           Case{"2002:7f00:1::1", "reserved"},
           Case{"2003::1", ""},
           Case{"2606:4700::1111", ""},
           Case{"3ffe::1", ""},
           Case{"3fff::1", "documentation"},
           Case{"3fff:1000::1", ""},
           Case{"4000::1", "reserved"},
           Case{"fbff::1", "reserved"},
           Case{"fc00::1", "private"},
           Case{"fdff::1", "private"},
           Case{"fe80::1", "link-local"},
           Case{"febf::1", "link-local"},
           Case{"fec0::1", "private"},
           Case{"ff02::1", "multicast"},
       }) {
    EXPECT_EQ(kind_of(address), kind) << address;
  }
}

}  // namespace
}  // namespace berth::deliver
