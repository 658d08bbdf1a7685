// SPDX-License-Identifier: Apache-2.0
// Asio's own source: compiled here, once, because every other file includes its headers only
// (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
